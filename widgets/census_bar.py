"""Shares of a whole as bars: what a model file is made of, and what memory it takes."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.numbers import NONE
from entity_tui.widgets.text import left, right


@dataclass(frozen=True, slots=True)
class Portion:
    """One part: its name, its words at the right of the name, its share 0..1 of the widest bar."""

    name: str
    words: str
    share: float
    full: str = "█"
    tail: Line = ()


def coverage_spans(share: float | None, width: int) -> tuple[Span, ...]:
    """`███████░░░  72 %`, a dash when it is not known."""
    if share is None:
        return ((NONE.rjust(width + 6), Ink.MUTED),)
    filled = max(0, min(width, round(share * width)))
    bar: tuple[Span, ...] = (("█" * filled, Ink.SERIES_1), ("░" * (width - filled), Ink.TRACK)) if width else ()
    return (*bar, (f"{right(f'{share * 100:.0f}', 4)} %", Ink.TEXT))


def portion_line(portion: Portion, name_cells: int, words_cells: int, bar_cells: int) -> Line:
    """`weights  773 MB  ████████`."""
    filled = max(1 if portion.share > 0 else 0, min(bar_cells, round(portion.share * bar_cells)))
    ink = Ink.SERIES_1 if portion.full == "█" else Ink.TRACK
    return line(
        left(portion.name, name_cells),
        right(portion.words, words_cells) + "  ",
        (portion.full * filled, ink),
        "  " if portion.tail else "",
        *portion.tail,
    )
