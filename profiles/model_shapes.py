"""The shape of the profile files about models: catalog, quality, usability bars, measured chips."""

from __future__ import annotations

import re

from entity_tui.profiles.checked_yaml import ListOf, MapOf, Record, Scalar, Shape

_TEXT = Scalar(str)
_POSITIVE = Scalar(float, minimum=0.0)


def _plain_name(value: str) -> str:
    """A file of a catalog entry is one path component; anything else could be written elsewhere."""
    fine = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,200}\.gguf", value)
    return "" if fine else "expected a plain file name that ends in .gguf"


def _id(value: str) -> str:
    return "" if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,80}", value) else "expected lower-case letters, digits, . _ -"


def _digest(value: str) -> str:
    return "" if re.fullmatch(r"[0-9a-f]{64}", value) else "expected 64 lower-case hexadecimal digits"


def _address(value: str) -> str:
    return "" if re.fullmatch(r"https?://[^\s]+", value) else "expected an address that starts with https://"


NETWORK: Shape = Record(
    required={
        **{key: Scalar(int, minimum=1) for key in ("layers", "kv_heads", "head_size", "embedding", "feed_forward")},
        **{key: Scalar(int, minimum=1) for key in ("vocabulary", "trained_context")},
        "tied": Scalar(bool),
    }
)

CATALOG: Shape = Record(
    required={
        "models": MapOf(
            Record(
                required={
                    "name": _TEXT,
                    "vendor": _TEXT,
                    "params_b": Scalar(float, minimum=0.001, maximum=2000),
                    "quant": _TEXT,
                    "size_bytes": Scalar(int, minimum=1),
                    "file": Scalar(str, check=_plain_name),
                },
                optional={
                    "role": Scalar(str, choices=("general", "coding", "reasoning")),
                    "shape": _TEXT,
                    "repository": _TEXT,
                    "url": Scalar(str, check=_address),
                    "sha256": Scalar(str, check=_digest),
                },
            ),
            key_check=_id,
        )
    },
    optional={"host": Scalar(str, check=_address), "shapes": MapOf(NETWORK)},
)

QUALITY: Shape = Record(
    required={
        "series": MapOf(
            Record(
                required={
                    "model": _TEXT,
                    "text": _TEXT,
                    "chunks": Scalar(int, minimum=1),
                    "context_tokens": Scalar(int, minimum=1),
                    "source": _TEXT,
                    "caveat": _TEXT,
                    "files": ListOf(
                        Record(
                            required={"quant": _TEXT, "perplexity": _POSITIVE, "error": _POSITIVE},
                            optional={"note": _TEXT, "size_bytes": Scalar(int, minimum=1), "usual": Scalar(bool)},
                        ),
                        minimum=2,
                    ),
                }
            )
        )
    }
)

USABILITY: Shape = Record(
    required={"bars": MapOf(Record(required={"decode_tok_s": _POSITIVE, "words": _TEXT, "source": _TEXT}))}
)

CHIP_SPEEDS: Shape = Record(
    required={
        "source": _TEXT,
        "rule": _TEXT,
        "chips": MapOf(
            Record(
                required={
                    "title": _TEXT,
                    "observations": Scalar(int, minimum=1),
                    "decode_gb_s": _POSITIVE,
                    "prefill_b_tok_s": _POSITIVE,
                    "threads": Scalar(int, minimum=1),
                    "fast_cores": Scalar(int, minimum=1),
                    "single_pass": Scalar(bool),
                },
                optional={
                    "spread_pct": _POSITIVE,
                    "dotprod": Scalar(bool),
                    "i8mm": Scalar(bool),
                    "codes": ListOf(_TEXT),
                },
            )
        ),
    }
)
