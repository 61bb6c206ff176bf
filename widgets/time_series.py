"""A live graph of at most four series over time, with gaps, axes, a legend, and a cursor that reads one moment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from entity_tui.widgets.graph import (
    ASCII_MARKS,
    DASH_GLYPHS,
    DASHES,
    Bins,
    Track,
    bin_track,
    braille_rows,
    dots,
    limits,
    mark_rows,
)
from entity_tui.widgets.ink import BLANK, SERIES, Ink, Line, Span, line, muted, pad, paper_of, width_of
from entity_tui.widgets.numbers import fixed
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import right

LABEL_CELLS = 5
"""Cells of a label on the vertical axis, its line not counted."""


@dataclass(frozen=True, eq=False, slots=True)
class GraphValue:
    """What a graph shows: the series, the newest `span_s` seconds up to `end_s`, and how its axis is written."""

    tracks: tuple[Track, ...] = ()
    span_s: float = 60.0
    end_s: float = 0.0
    period_s: float = 0.2
    """The sampling period, to tell a gap from a span that has more columns than samples."""
    digits: int = 0
    """Decimals of the labels on the vertical axis."""
    least: float = 1.0
    """The smallest vertical range worth drawing."""
    floor: float | None = None
    legend: Line = BLANK
    """Words of the first line beside the series."""
    left_label: str = ""
    right_label: str = "now"


def span_words(span_s: float) -> str:
    """`60 s`, `10 m`, `1 h`."""
    if span_s < 120:
        return f"{span_s:.0f} s"
    return f"{span_s / 60:.0f} m" if span_s < 3_600 else f"{span_s / 3_600:.0f} h"


def legend_spans(names: tuple[str, ...], *, ascii: bool) -> tuple[Span, ...]:
    """The dash of each series, in its ink, in the order of the series."""
    glyphs = ASCII_MARKS if ascii else DASH_GLYPHS
    return tuple((glyphs[i], SERIES[i]) for i in range(min(len(names), len(SERIES))))


class TimeSeries(Panel):
    """A graph of samples. It redraws when a new time bin begins or the newest bin changes, and only those rows."""

    margin_cells = 0

    def __init__(self, title: str = "", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.value = GraphValue()
        self.cursor_column: int | None = None
        """The column of the time cursor counted from the left, None without one."""
        self.plot_columns = 0

    def show(self, value: GraphValue, condition: Condition = LIVE, *, hint: str = "", subtitle: str = "") -> None:
        """Show samples up to `value.end_s`."""
        self.value = value
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    def cursor_time_s(self) -> float | None:
        """The moment under the cursor on the clock of the samples."""
        if self.cursor_column is None or not self.plot_columns:
            return None
        start = self.value.end_s - self.value.span_s
        return start + (self.cursor_column + 0.5) * self.value.span_s / self.plot_columns

    def move_time_cursor(self, by: int) -> None:
        """Move the time cursor by columns; the first move puts it at the newest moment."""
        last = max(0, self.plot_columns - 1)
        self.cursor_column = last if self.cursor_column is None else max(0, min(last, self.cursor_column + by))
        self.redraw()

    def value_at(self, track: Track, time_s: float) -> float:
        """The sample at or before a moment, NaN when it is older than the hold time."""
        index = int(np.searchsorted(track.times_s, time_s, side="right")) - 1
        if index < 0 or time_s - track.times_s[index] > 2 * max(self.value.period_s, self.value.span_s / 100):
            return math.nan
        return float(track.values[index])

    def _legend(self, ascii: bool) -> Line:
        spans: list[Span] = [(" ", Ink.TEXT)]
        width = self.size.width - 2
        glyphs = legend_spans(tuple(t.name for t in self.value.tracks), ascii=ascii)
        moment = self.cursor_time_s()
        for track, glyph in zip(self.value.tracks, glyphs, strict=False):
            newest = float(track.values[-1]) if len(track.values) else math.nan
            shown = newest if moment is None else self.value_at(track, moment)
            entry = line(glyph, f" {track.name} {fixed(shown, max(1, self.value.digits))}   ")
            if width_of((*spans, *entry)) - 3 <= width:
                spans += entry
        words = self.value.legend
        while words and width_of((*spans, *words)) > width:
            words = words[:-1]
        return (*spans, *words)

    def sheet(self, width: int, height: int) -> Sheet:
        """Legend, plot with its vertical axis, time axis."""
        value = self.value
        ascii = paper_of(self).ascii
        plot_width = max(1, width - LABEL_CELLS - 1)
        legend = height >= 7
        plot_height = max(1, height - 1 - (1 if legend else 0))
        self.plot_columns = plot_width
        across, down = (1, 1) if ascii else (2, 4)
        columns, rows = plot_width * across, plot_height * down
        step = value.span_s / columns
        last_bin = math.floor(value.end_s / step) + 1
        binned = [bin_track(t, (last_bin - columns) * step, step, columns, value.period_s) for t in value.tracks[:4]]
        low, high = limits(binned, least=value.least, floor=value.floor)
        grids = [
            dots(b, low, high, rows, (1,) if ascii else DASHES[i], last_bin - columns) for i, b in enumerate(binned)
        ]
        plot = (mark_rows if ascii else braille_rows)(grids, plot_width, plot_height)
        body = [self._axis(y, plot_height, low, high, plot_row) for y, plot_row in enumerate(plot)]
        if self.cursor_column is not None:
            body = [self._with_cursor(row, width) for row in body]
        head = (self._legend(ascii),) if legend else ()
        return Sheet(tuple(body), head, (self._time_axis(plot_width),))

    def _axis(self, y: int, height: int, low: float, high: float, row: Line) -> Line:
        labelled = y == 0 or (height >= 6 and y == height // 2) or (height < 6 and height > 1 and y == height - 1)
        if labelled:
            share = 0.0 if y == 0 else y / max(1, height - 1)
            text = right(fixed(high - (high - low) * share, self.value.digits), LABEL_CELLS) + "┤"
        else:
            text = " " * LABEL_CELLS + "│"
        return ((text, Ink.MUTED), *row)

    def _time_axis(self, plot_width: int) -> Line:
        left_text = self.value.left_label or f"-{span_words(self.value.span_s)}"
        rule = plot_width - len(left_text) - len(self.value.right_label)
        if rule < 1:
            return muted(" " * LABEL_CELLS + "└" + "─" * plot_width)
        return muted(" " * LABEL_CELLS + "└" + left_text + "─" * rule + self.value.right_label)

    def _with_cursor(self, row: Line, width: int) -> Line:
        """The row with the cursor's column drawn as a line."""
        place = LABEL_CELLS + 1 + (self.cursor_column or 0)
        spans: list[Span] = []
        column = 0
        for text, ink in pad(row, width):
            if column <= place < column + len(text):
                cut_at = place - column
                under = text[cut_at]
                spans += [(text[:cut_at], ink), ("│" if under == " " else under, Ink.ACCENT), (text[cut_at + 1 :], ink)]
            else:
                spans.append((text, ink))
            column += len(text)
        return line(*spans)


__all__ = ["Bins", "GraphValue", "TimeSeries", "Track", "legend_spans", "span_words"]
