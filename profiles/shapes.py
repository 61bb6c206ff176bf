"""The shape each profile file must have."""

from __future__ import annotations

import re

from entity_tui.profiles.checked_yaml import ListOf, MapOf, Record, Scalar, Shape

TEXT = Scalar(str)
WORDS = ListOf(TEXT)
COUNT = Scalar(int, minimum=0)


def _hex_key(key: str) -> str:
    return "" if re.fullmatch(r"0x[0-9a-f]{1,4}", key) else "expected a lower-case hexadecimal number such as 0xd05"


def _placeholders(line: str) -> str:
    known = {"threads", "threads_batch", "generic_threads"}
    unknown = set(re.findall(r"\{(.*?)\}", line)) - known
    return f"unknown placeholder {', '.join(sorted(unknown))}" if unknown else ""


MIDR: Shape = Record(
    required={
        "implementers": MapOf(
            Record(
                required={
                    "maker": TEXT,
                    "cores": MapOf(
                        Record(
                            required={"name": TEXT, "tier": Scalar(str, choices=("little", "big", "prime"))},
                            optional={
                                "level": TEXT,
                                "based_on": TEXT,
                                "variants": MapOf(TEXT, key_check=_hex_key),
                            },
                        ),
                        key_check=_hex_key,
                    ),
                }
            ),
            key_check=_hex_key,
        )
    }
)

ARM_FEATURES = ("dotprod", "fp16", "sve", "i8mm", "sve2", "sme")
X86_FEATURES = (
    "sse42",
    "avx",
    "f16c",
    "fma",
    "bmi2",
    "avx2",
    "avx_vnni",
    "avx512",
    "avx512_vbmi",
    "avx512_vnni",
    "avx512_bf16",
    "amx_int8",
)
FEATURE = Scalar(str, choices=(*ARM_FEATURES, *X86_FEATURES))

VARIANT_LIST = Record(
    required={
        "title": TEXT,
        "architecture": Scalar(str, choices=("arm64", "x86_64")),
        "variants": ListOf(
            Record(required={"name": TEXT, "needs": ListOf(FEATURE)}, optional={"march": TEXT}),
            minimum=1,
        ),
    }
)

KERNEL_FORMAT = Record(
    required={"provider": TEXT, "block_elements": COUNT, "block_bytes": COUNT, "bodies": MapOf(TEXT)},
    optional={"activations": TEXT},
)

RUNTIMES: Shape = Record(
    required={
        "feature_bits": MapOf(COUNT),
        "x86_feature_bits": MapOf(COUNT),
        "lists": MapOf(VARIANT_LIST),
        "skainet": Record(
            required={
                "gate": Record(required={"all_of": WORDS, "any_of": WORDS}),
                "tiers": ListOf(Record(required={"name": TEXT, "library": TEXT, "march": TEXT})),
                "providers": ListOf(Record(required={"name": TEXT, "priority": COUNT, "where": TEXT})),
                "formats": MapOf(KERNEL_FORMAT),
                "smoke": Record(
                    required={
                        "input": ListOf(Scalar(float)),
                        "expected": ListOf(Scalar(float)),
                    }
                ),
            }
        ),
    }
)

CHIPS: Shape = Record(
    required={
        "chips": MapOf(
            Record(
                required={"title": TEXT, "vendor": TEXT},
                optional={
                    "codes": WORDS,
                    "clusters": ListOf(Record(required={"count": Scalar(int, minimum=1), "core": TEXT})),
                    "note": TEXT,
                },
            )
        )
    }
)

PRESETS: Shape = Record(
    required={
        "presets": MapOf(
            Record(required={"title": TEXT, "mask": Scalar(str, choices=("free", "minus_reserve", "slowest_class"))})
        )
    },
    optional={
        "constants": MapOf(Record(required={"value": TEXT, "evidence": TEXT, "failed": TEXT})),
        "formats": MapOf(
            Record(
                required={
                    "title": TEXT,
                    "inferred": Scalar(bool),
                    "lines": ListOf(Scalar(str, check=_placeholders), minimum=1),
                    "has_command": Scalar(bool),
                }
            )
        ),
        "inferred_note": TEXT,
    },
)

DEVICETREE: Shape = Record(
    required={
        "fallback_mhz": MapOf(MapOf(Scalar(int, minimum=1))),
        "core_names": MapOf(TEXT),
    }
)

STATE = Record(required={"state": Scalar(str, choices=("present", "degraded", "absent")), "words": TEXT})

PORTABILITY: Shape = Record(
    required={
        "note_ios": TEXT,
        "mechanisms": MapOf(
            Record(
                required={
                    "title": TEXT,
                    "android": STATE,
                    "termux": STATE,
                    "linux": STATE,
                    "macos": STATE,
                    "ios": STATE,
                }
            )
        ),
        "ios_figures": MapOf(MapOf(Scalar(float))),
        "ios_caveat": TEXT,
    }
)

WINDOW = Record(required={"low": Scalar(float), "high": Scalar(float)})
SHARE = Scalar(float, minimum=0.0, maximum=1.0)

THRESHOLDS: Shape = Record(
    optional={
        "thermal_window_c": MapOf(WINDOW),
        "power": Record(
            optional={
                "plausible_low_w": Scalar(float, minimum=0.0),
                "plausible_high_w": Scalar(float, minimum=0.0),
                "counter_ratio_low": Scalar(float, minimum=0.0),
                "counter_ratio_high": Scalar(float, minimum=0.0),
                "counter_steps": Scalar(int, minimum=1),
            }
        ),
        "throttle": Record(
            optional={"capped_below": SHARE, "dropped_below": SHARE, "readings": Scalar(int, minimum=1)}
        ),
    }
)

SHAPES: dict[str, Shape] = {
    "midr.yaml": MIDR,
    "runtimes.yaml": RUNTIMES,
    "chips.yaml": CHIPS,
    "presets.yaml": PRESETS,
    "devicetree.yaml": DEVICETREE,
    "portability.yaml": PORTABILITY,
    "thresholds.yaml": THRESHOLDS,
}
