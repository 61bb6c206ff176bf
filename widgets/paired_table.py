"""Arms against their baseline: paired changes with their interval, and the verdict in the words of the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.numbers import NONE, change, fixed, tok_s
from entity_tui.widgets.table import Column, TableRow, TableValue
from entity_tui.widgets.text import right

COLUMNS = (
    Column("placement", "placement", 15, flexible=True, least=11, gap=0),
    Column("pairs", "n", 3, "right", gap=1),
    Column("rate", "tok/s", 5, "right"),
    Column("iqr", "IQR", 11, gap=1, drop=1),
    Column("delta", "change", 8, "right", gap=1),
    Column("interval", "95 % interval", 13, gap=1),
    Column("prompt", "prompt", 6, "right", drop=2),
    Column("tok_w", "tok/W", 6, "right", drop=3),
    Column("moves", "moves/s", 7, "right", drop=4),
    Column("verdict", "verdict", 32, flexible=True, least=12),
)
VERDICT_MARKS: dict[str, Span] = {
    "faster": ("●", Ink.GOOD),
    "slower": ("●", Ink.GOOD),
    "equivalent": ("○", Ink.TEXT),
    "different, too small to matter": ("○", Ink.TEXT),
    "undecided": ("?", Ink.WARN),
}


@dataclass(frozen=True, slots=True)
class PairValue:
    """One arm. Changes are fractions; None is missing."""

    key: str
    name: str
    pairs: int
    median: float | None
    q1: float | None
    q3: float | None
    change: float | None
    low: float | None
    high: float | None
    prompt: float | None
    tok_per_w: float | None
    moves_per_s: float | None
    verdict: str
    baseline: bool = False


def verdict_spans(verdict: str) -> Line:
    """The mark of a verdict and its words; a verdict of other words keeps them with a question mark."""
    if not verdict:
        return ()
    mark = next((m for word, m in VERDICT_MARKS.items() if verdict.startswith(word)), ("?", Ink.WARN))
    return line(mark, f" {verdict}")


def pair_row(pair: PairValue) -> TableRow:
    """One arm as cells."""
    iqr = ""
    if pair.q1 is not None and pair.q3 is not None:
        iqr = f"{right(tok_s(pair.q1), 4)}–{tok_s(pair.q3)}"
    delta: Span = (change(pair.change), Ink.TEXT) if pair.change is not None else (NONE, Ink.MUTED)
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"{change(pair.low, unit=False)} … {change(pair.high, unit=False)}"
    if pair.baseline:
        delta, interval = ("baseline", Ink.MUTED), ""
    cells = (
        pair.name,
        str(pair.pairs),
        tok_s(pair.median),
        iqr,
        delta,
        interval,
        tok_s(pair.prompt),
        tok_s(pair.tok_per_w),
        fixed(pair.moves_per_s, 0),
        verdict_spans(pair.verdict),
    )
    return TableRow(pair.key, cells)


def paired_value(pairs: Sequence[PairValue], foot: tuple[Line, ...] = ()) -> TableValue:
    """The whole table."""
    return TableValue(COLUMNS, tuple(pair_row(pair) for pair in pairs), foot)
