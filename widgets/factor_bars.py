"""The factors between the first arm and the others, on a logarithmic axis so that single changes add up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, muted
from entity_tui.widgets.numbers import NONE, fixed, ratio
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import cut, left

AXIS_FROM = 84
"""Cells from which there is room for the axis with its scale."""
WORDS_FROM = 108
"""Cells from which the verdict's word stands beside its glyph."""
NAME_CELLS, CHANGE_CELLS, NUMBER_CELLS = 24, 29, 35
TICKS = (1.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0)
VERDICT_GLYPHS: dict[str, Span] = {
    "faster": ("●", Ink.GOOD),
    "slower": ("●", Ink.GOOD),
    "different, too small to matter": ("○", Ink.TEXT),
    "equivalent": ("○", Ink.TEXT),
    "undecided": ("?", Ink.WARN),
    "void": ("✖", Ink.BAD),
}


@dataclass(frozen=True, slots=True)
class FactorValue:
    """One factor: its name, the two arms, what changed, the ratio, and its interval when there is one."""

    label: str
    change: str
    ratio: float | None
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    """One of the words of the method, or empty while there is none."""
    declared: bool = False
    note: str = ""


def axis_range(factors: tuple[FactorValue, ...]) -> tuple[float, float]:
    """The limits of the axis: at least x0.7 to x2, wide enough for every ratio and interval."""
    values = [v for f in factors for v in (f.ratio, f.low, f.high) if v is not None and v > 0]
    low, high = min([0.6, *(v * 0.95 for v in values)]), max([2.2, *(v * 1.05 for v in values)])
    return max(low, 0.05), min(high, 32.0)


def place(value: float, low: float, high: float, width: int) -> int:
    """The column of a ratio on a logarithmic axis of `width` cells."""
    share = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return max(0, min(width - 1, round(share * (width - 1))))


def factor_bar(factor: FactorValue, low: float, high: float, width: int) -> tuple[Span, ...]:
    """`     ███████┃        `: from 1 to the ratio, with the line of no effect, and dots over the interval."""
    one = place(1.0, low, high, width)
    cells = [" "] * width
    if factor.ratio is not None and factor.ratio > 0:
        end = place(factor.ratio, low, high, width)
        for column in range(min(one, end), max(one, end) + 1):
            cells[column] = "█"
        if factor.low is not None and factor.high is not None and factor.low > 0:
            for column in range(place(factor.low, low, high, width), place(factor.high, low, high, width) + 1):
                if cells[column] == " ":
                    cells[column] = "─"
    cells[one] = "┃"
    text = "".join(cells)
    return ((text[:one], Ink.SERIES_1), ("┃", Ink.STRONG), (text[one + 1 :], Ink.SERIES_1))


def scale_line(low: float, high: float, width: int) -> str:
    """The labels of the axis at their columns."""
    cells = [" "] * (width + 6)
    for tick in TICKS:
        text = f"×{tick:.1f}"
        start = max(0, place(tick, low, high, width) - 1) if low <= tick <= high else -1
        if start >= 0 and not "".join(cells[max(0, start - 1) : start + len(text) + 1]).strip():
            cells[start : start + len(text)] = text
    return "".join(cells[: width + 4])


def glyph(factor: FactorValue) -> Span:
    """The verdict of a factor as a glyph; nothing while the method has no word for it."""
    return VERDICT_GLYPHS.get(factor.verdict, (" ", Ink.TEXT))


def interval_words(factor: FactorValue) -> str:
    """`1.79–2.02`, or a dash when there is no interval."""
    if factor.low is None or factor.high is None:
        return NONE
    return f"{fixed(factor.low, 2)}–{fixed(factor.high, 2)}"


class FactorBars(Panel):
    """Factors of a run, each with its ratio, interval and verdict; undeclared ones are dimmed."""

    def __init__(self, title: str = "Factors", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.factors: tuple[FactorValue, ...] = ()
        self.summary: tuple[Line, ...] = ()

    def show(
        self,
        factors: tuple[FactorValue, ...],
        summary: tuple[Line, ...] = (),
        condition: Condition = LIVE,
        *,
        hint: str = "",
    ) -> None:
        """Show factors; `summary` stands at the foot."""
        self.factors = factors
        self.summary = summary
        self.set_condition(condition, hint=hint)

    def sheet(self, width: int, height: int) -> Sheet:
        """Axis, one row per factor, summary."""
        low, high = axis_range(self.factors)
        roomy = height >= len(self.factors) + len(self.summary) + 3
        if width < AXIS_FROM:
            rows = tuple(self._narrow(factor, width, low, high) for factor in self.factors)
            return Sheet(rows, foot=self.summary if height > len(rows) + len(self.summary) else ())
        numbers = NUMBER_CELLS if width >= WORDS_FROM else NUMBER_CELLS - 11
        bar_width = max(10, width - NAME_CELLS - CHANGE_CELLS - numbers)
        words = left("effect on decode, each step changes one thing", NAME_CELLS + CHANGE_CELLS + 1)
        head = (muted(left(words + scale_line(low, high, bar_width), width - numbers + 3) + "95 % interval"),)
        rows_list = [self._wide(factor, bar_width, low, high, words=width >= WORDS_FROM) for factor in self.factors]
        return Sheet(tuple(rows_list), (*head, BLANK) if roomy else head, self.summary)

    def _wide(self, factor: FactorValue, bar_width: int, low: float, high: float, *, words: bool) -> Line:
        ink = Ink.TEXT if factor.declared or factor.verdict else Ink.MUTED
        return line(
            (
                left(cut(factor.label, NAME_CELLS - 1), NAME_CELLS)
                + left(cut(factor.change, CHANGE_CELLS - 1), CHANGE_CELLS),
                ink,
            ),
            ("│", Ink.BORDER),
            *factor_bar(factor, low, high, bar_width),
            ("│ ", Ink.BORDER),
            (left(ratio(factor.ratio), 7) + left(interval_words(factor), 11), ink),
            glyph(factor),
            (f" {factor.verdict or factor.note}" if words else "", Ink.MUTED),
        )

    def _narrow(self, factor: FactorValue, width: int, low: float, high: float) -> Line:
        ink = Ink.TEXT if factor.declared or factor.verdict else Ink.MUTED
        words = left(cut(factor.label, 13), 14) + left(cut(factor.change.split("  ")[-1], 10), 11)
        numbers = left(ratio(factor.ratio), 7) + left(interval_words(factor), 10)
        free = width - len(words) - len(numbers) - 3
        bars = factor_bar(factor, low, high, free) if free >= 8 else ()
        return line((words + numbers, ink), glyph(factor), "  ", *bars)
