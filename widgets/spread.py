"""Quartiles, medians and ranges of a few samples on one axis: is one of them steadier, not only faster?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from entity_tui.widgets.graph import nice_range
from entity_tui.widgets.ink import BLANK, Ink, Line, line, muted
from entity_tui.widgets.numbers import tok_s
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import cut, left

NAME_CELLS = 13


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """One sample: its name, its values' lowest, quartiles, median and highest."""

    name: str
    low: float
    q1: float
    median: float
    q3: float
    high: float


def spread_line(row: SpreadRow, low: float, high: float, width: int) -> Line:
    """`┄┄┄┄███│███┄┄` on `width` cells from `low` to `high`."""

    def place(value: float) -> int:
        return max(0, min(width - 1, round((value - low) / (high - low) * (width - 1))))

    cells = [" "] * width
    for column in range(place(row.low), place(row.high) + 1):
        cells[column] = "┄"
    for column in range(place(row.q1), place(row.q3) + 1):
        cells[column] = "█"
    middle = place(row.median)
    text = "".join(cells)
    return line((text[:middle], Ink.SERIES_1), ("│", Ink.STRONG), (text[middle + 1 :], Ink.SERIES_1))


class Spread(Panel):
    """Box rows over one axis in tok/s."""

    def __init__(self, title: str = "Spread", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.rows: tuple[SpreadRow, ...] = ()

    def show(self, rows: tuple[SpreadRow, ...], condition: Condition = LIVE, *, hint: str = "") -> None:
        """Show these samples on one axis."""
        self.rows = rows
        self.set_condition(condition, hint=hint)

    def sheet(self, width: int, height: int) -> Sheet:
        """Axis, one row per sample, the key to the glyphs."""
        low, high = nice_range(min(r.low for r in self.rows), max(r.high for r in self.rows), least=0.5)
        axis_width = max(10, width - NAME_CELLS)
        rows = tuple(
            line(left(cut(row.name, NAME_CELLS - 1), NAME_CELLS), *spread_line(row, low, high, axis_width))
            for row in self.rows
        )
        foot = (muted("box = quartiles, │ = median, ┄ = range"),) if height > len(rows) + 2 else ()
        head = (muted(left("tok/s", NAME_CELLS) + axis_words(low, high, axis_width)),)
        return Sheet(rows, (*head, BLANK) if height > len(rows) + 4 else head, foot)


def axis_words(low: float, high: float, width: int) -> str:
    """Round numbers at their columns."""
    count = max(2, min(5, width // 10))
    cells = [" "] * width
    for number in range(count):
        value = low + (high - low) * number / (count - 1)
        text = tok_s(value) if math.isfinite(value) else ""
        column = min(width - len(text), round((width - 1) * number / (count - 1)))
        cells[column : column + len(text)] = text
    return "".join(cells)[:width]
