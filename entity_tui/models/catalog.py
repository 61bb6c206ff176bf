"""Models worth having: the shipped list and the user's own entries, with quality prices and usability bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from entity_tui.errors import UsageError
from entity_tui.models.kv import KvShape
from entity_tui.profiles.checked_yaml import read_checked
from entity_tui.profiles.library import shipped_text
from entity_tui.profiles.model_shapes import CATALOG, CHIP_SPEEDS, QUALITY, USABILITY


@dataclass(frozen=True, slots=True)
class Network:
    """What a memory estimate needs to know of a network."""

    kv: KvShape | None
    embedding: int | None
    feed_forward: int | None
    vocabulary: int | None
    trained_context: int | None


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model file that can be downloaded; `sha256` and `network` are None where they are not known."""

    id: str
    name: str
    vendor: str
    params_b: float
    quant: str
    size_bytes: int
    file_name: str
    url: str
    role: str = "general"
    sha256: str | None = None
    network: Network | None = None
    own: bool = False
    """True for the user's entry."""


@dataclass(frozen=True, slots=True)
class QualityPrice:
    """The perplexity of one weight type in one series, against its F16 file."""

    quant: str
    perplexity: float
    error: float
    over_f16_pct: float
    note: str
    usual: bool
    series: str
    source: str
    caveat: str


@dataclass(frozen=True, slots=True)
class UsabilityBar:
    """A speed somebody called usable, in generated tokens per second."""

    name: str
    decode_tok_s: float
    words: str
    source: str


@dataclass(frozen=True, slots=True)
class ChipSpeed:
    """What one chip was measured to do: bytes a second while generating, parameters a second while prompting."""

    code: str
    title: str
    observations: int
    decode_gb_s: float
    prefill_b_tok_s: float
    threads: int
    fast_cores: int
    single_pass: bool
    spread_pct: float | None
    dotprod: bool
    i8mm: bool

    @property
    def understated(self) -> bool:
        """Measured on fewer threads than it has fast cores: the constants are a lower bound."""
        return self.threads < self.fast_cores


def parse_catalog(text: str, name: str, *, own: bool) -> tuple[CatalogEntry, ...]:
    """The entries of a catalog file. Raises ProfileError with the line of every mistake."""
    data = read_checked(text, name, CATALOG)
    host = str(data.get("host", "https://huggingface.co")).rstrip("/")
    networks = {key: _network(body) for key, body in data.get("shapes", {}).items()}
    entries = []
    for key, body in data["models"].items():
        url = body.get("url") or f"{host}/{body.get('repository', '')}/resolve/main/{body['file']}"
        shape = body.get("shape")
        if shape is not None and shape not in networks:
            raise UsageError(f"{name}: models.{key}: there is no shape called {shape!r}")
        if not body.get("url") and not body.get("repository"):
            raise UsageError(f"{name}: models.{key}: needs `url` or `repository`")
        entries.append(
            CatalogEntry(
                id=key,
                name=body["name"],
                vendor=body["vendor"],
                params_b=float(body["params_b"]),
                quant=body["quant"],
                size_bytes=body["size_bytes"],
                file_name=body["file"],
                url=url,
                role=body.get("role", "general"),
                sha256=body.get("sha256"),
                network=networks[shape] if shape else None,
                own=own,
            )
        )
    return tuple(entries)


def _network(body: Mapping[str, Any]) -> Network:
    elements = body["layers"] * 2 * body["kv_heads"] * body["head_size"]
    return Network(
        kv=KvShape(body["layers"], elements),
        embedding=body["embedding"],
        feed_forward=body["feed_forward"],
        vocabulary=body["vocabulary"],
        trained_context=body["trained_context"],
    )


@cache
def shipped_catalog() -> tuple[CatalogEntry, ...]:
    """The 19 entries that come with the program, in their order."""
    return parse_catalog(shipped_text("catalog.yaml"), "catalog.yaml", own=False)


def with_own(entries: Sequence[CatalogEntry], own: Sequence[CatalogEntry]) -> tuple[CatalogEntry, ...]:
    """Shipped entries, replaced where the user's has the same id, then the user's others."""
    replaced = {entry.id: entry for entry in own}
    merged = [replaced.pop(entry.id, entry) for entry in entries]
    return (*merged, *replaced.values())


def find_entry(entries: Sequence[CatalogEntry], name: str) -> CatalogEntry:
    """The entry with that id. Raises UsageError with the nearest ids."""
    import difflib

    for entry in entries:
        if entry.id == name.lower():
            return entry
    near = difflib.get_close_matches(name.lower(), [entry.id for entry in entries], n=3, cutoff=0.4)
    raise UsageError(
        f"No catalog entry is called {name!r}.",
        fix=f"Did you mean {', '.join(near)}?" if near else "`entity-tui models list --catalog` lists them.",
    )


@cache
def quality_prices() -> tuple[QualityPrice, ...]:
    """Perplexity by weight type, best first within each series."""
    prices: list[QualityPrice] = []
    for key, body in read_checked(shipped_text("quality.yaml"), "quality.yaml", QUALITY)["series"].items():
        f16 = next(row["perplexity"] for row in body["files"] if row["quant"] == "F16")
        prices += [
            QualityPrice(
                quant=row["quant"],
                perplexity=row["perplexity"],
                error=row["error"],
                over_f16_pct=(row["perplexity"] / f16 - 1) * 100,
                note=row.get("note", ""),
                usual=row.get("usual", False),
                series=key,
                source=body["source"],
                caveat=body["caveat"],
            )
            for row in sorted(body["files"], key=lambda row: row["perplexity"])
        ]
    return tuple(prices)


def quality_of(quant: str) -> QualityPrice | None:
    """The price of a weight type, for the kind of file one usually downloads; None when nobody measured it."""
    rows = [price for price in quality_prices() if price.quant == quant.upper()]
    return next((price for price in rows if price.usual), rows[0] if rows else None)


@cache
def usability_bars() -> tuple[UsabilityBar, ...]:
    """The bars, lowest first."""
    bars = read_checked(shipped_text("usability.yaml"), "usability.yaml", USABILITY)["bars"]
    rows = [UsabilityBar(name, body["decode_tok_s"], body["words"], body["source"]) for name, body in bars.items()]
    return tuple(sorted(rows, key=lambda bar: bar.decode_tok_s))


def usability_words(decode_tok_s: float | None) -> str:
    """What the highest bar a speed reaches calls it, with whose bar that is; empty for an unknown speed."""
    if decode_tok_s is None:
        return ""
    reached = [bar for bar in usability_bars() if decode_tok_s >= bar.decode_tok_s]
    if not reached:
        lowest = usability_bars()[0]
        return f"below every bar (the lowest is {lowest.decode_tok_s:g} tok/s)"
    bar = reached[-1]
    return f"{bar.words} by {bar.source.split(',')[0]}, from {bar.decode_tok_s:g} tok/s"


@cache
def chip_speeds() -> tuple[ChipSpeed, ...]:
    """Measured chips, in the file's order."""
    data = read_checked(shipped_text("chip_speeds.yaml"), "chip_speeds.yaml", CHIP_SPEEDS)
    return tuple(
        ChipSpeed(
            code=code,
            title=body["title"],
            observations=body["observations"],
            decode_gb_s=body["decode_gb_s"],
            prefill_b_tok_s=body["prefill_b_tok_s"],
            threads=body["threads"],
            fast_cores=body["fast_cores"],
            single_pass=body["single_pass"],
            spread_pct=body.get("spread_pct"),
            dotprod=body.get("dotprod", True),
            i8mm=body.get("i8mm", False),
        )
        for code, body in data["chips"].items()
    )


def find_chip(name: str) -> ChipSpeed | None:
    """A measured chip by code (mt6878), title or the end of it (dimensity-7300); None when it was not measured."""
    wanted = _words(name)
    if not wanted:
        return None
    for chip in chip_speeds():
        title = _words(chip.title)
        if wanted in (_words(chip.code), title) or title[-len(wanted) :] == wanted:
            return chip
    return None


def _words(text: str) -> list[str]:
    return [word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if word]
