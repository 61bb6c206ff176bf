"""Rows in columns that drop, in their declared order, before a number is ever cut; with an optional cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, repaint, width_of
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import cells, cut, left, right

Cell: TypeAlias = str | Span | Line
"""The content of one column in one row: text, one span, or several spans."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `drop` 0 never drops; otherwise the highest number drops first.

    A `flexible` column holds names: it takes what is free, up to `width`, and its text is cut with `…` down to
    `least` cells. Every other column keeps its whole `width`.
    """

    key: str
    title: str
    width: int
    align: Literal["left", "right"] = "left"
    drop: int = 0
    flexible: bool = False
    least: int = 6
    gap: int = 2


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: a stable key (the cursor stays on it), the cells by column key, and lines that follow it whole."""

    key: str
    cells: tuple[Cell, ...]
    notes: tuple[Line, ...] = ()
    dimmed: bool = False


@dataclass(frozen=True, slots=True)
class TableValue:
    """Everything a table shows."""

    columns: tuple[Column, ...] = ()
    rows: tuple[TableRow, ...] = ()
    foot: tuple[Line, ...] = ()
    air: bool = True
    """A blank row under the header where there is room."""
    show_header: bool = True
    before: tuple[Line, ...] = field(default=())
    """Rows above the header."""


def fit_columns(columns: Sequence[Column], width: int) -> tuple[tuple[Column, int], ...]:
    """The columns that fit into `width` cells with the width each gets.

    Names shrink to their least first, then columns drop from the highest `drop` number down.
    """
    kept = list(columns)
    while True:
        gaps = sum(column.gap for column in kept[1:])
        least = gaps + sum(column.least if column.flexible else column.width for column in kept)
        droppable = [column for column in kept if column.drop]
        if least <= width or not droppable:
            break
        kept.remove(max(droppable, key=lambda column: column.drop))
    free = max(0, width - least)
    sizes = [column.least if column.flexible else column.width for column in kept]
    growing = [n for n, column in enumerate(kept) if column.flexible and column.width > column.least]
    while free and growing:
        for number in list(growing):
            if not free:
                break
            sizes[number] += 1
            free -= 1
            if sizes[number] >= kept[number].width:
                growing.remove(number)
    return tuple(zip(kept, sizes, strict=True))


def cell_line(cell: Cell) -> Line:
    """A cell as spans."""
    if isinstance(cell, str):
        return line(cell)
    if len(cell) == 2 and isinstance(cell[0], str) and isinstance(cell[1], int):
        return ((cell[0], Ink(cell[1])),)
    return tuple(span for span in cell if isinstance(span, tuple))


def _placed(cell: Cell, column: Column, width: int) -> Line:
    spans = cell_line(cell)
    size = width_of(spans)
    if size > width and column.flexible and spans:
        spans = ((cut("".join(text for text, _ in spans), width), spans[0][1]),)
        size = width_of(spans)
    filler = (" " * max(0, width - size), Ink.TEXT)
    return (filler, *spans) if column.align == "right" else (*spans, filler)


def row_line(row: TableRow, fitted: Sequence[tuple[Column, int]], order: dict[str, int]) -> Line:
    """One row of a table as spans."""
    spans: list[Span] = []
    for number, (column, width) in enumerate(fitted):
        if number:
            spans.append((" " * column.gap, Ink.TEXT))
        spans.extend(_placed(row.cells[order[column.key]], column, width))
    return tuple(span for span in spans if span[0])


def header_line(fitted: Sequence[tuple[Column, int]]) -> Line:
    """The titles over their columns; a name's title is cut like the name."""
    parts: list[str] = []
    for number, (column, width) in enumerate(fitted):
        title = cut(column.title, width) if cells(column.title) > width else column.title
        parts.append(" " * (column.gap if number else 0))
        parts.append(right(title, width) if column.align == "right" else left(title, width))
    return ((("".join(parts)), Ink.MUTED),)


class Table(Panel):
    """A table with a fixed header and foot. With `cursor=True` one row is under the cursor, marked and coloured."""

    def __init__(self, title: str = "", *, id: str | None = None, cursor: bool = False) -> None:
        super().__init__(title, id=id)
        self.has_cursor = cursor
        self.value = TableValue()
        self.cursor_key = ""

    def show(self, value: TableValue, condition: Condition = LIVE, *, hint: str = "", subtitle: str = "") -> None:
        """Show rows; the cursor stays on its key, or on its place when the key is gone."""
        keys = [row.key for row in value.rows]
        if keys and self.cursor_key not in keys:
            old = [row.key for row in self.value.rows]
            place = old.index(self.cursor_key) if self.cursor_key in old else 0
            self.cursor_key = keys[min(place, len(keys) - 1)]
        self.value = value
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    @property
    def cursor_index(self) -> int | None:
        """The place of the row under the cursor, None in an empty table."""
        for index, row in enumerate(self.value.rows):
            if row.key == self.cursor_key:
                return index
        return None

    def row_key(self, line_number: int) -> str | None:
        """The key of the row that a line of the sheet belongs to, notes included."""
        place = 0
        for row in self.value.rows:
            place += 1 + len(row.notes)
            if line_number < place:
                return row.key
        return None

    def move_cursor(self, by: int) -> None:
        """Move the cursor, not past either end; without a cursor, scroll."""
        if not self.has_cursor or not self.value.rows:
            self.scroll_rows(by)
            return
        index = (self.cursor_index or 0) + by
        self.cursor_key = self.value.rows[max(0, min(index, len(self.value.rows) - 1))].key
        self.redraw()

    def sheet(self, width: int, height: int) -> Sheet:
        """Header, rows with their notes, foot."""
        value = self.value
        mark = 2 if self.has_cursor else 0
        fitted = fit_columns(value.columns, width - mark)
        order = {column.key: index for index, column in enumerate(value.columns)}
        rows: list[Line] = []
        cursor: int | None = None
        for row in value.rows:
            spans = row_line(row, fitted, order)
            if row.dimmed:
                spans = repaint(spans, Ink.MUTED)
            if self.has_cursor:
                here = row.key == self.cursor_key
                spans = (("▸ " if here else "  ", Ink.ACCENT), *spans)
                if here:
                    cursor = len(rows)
            rows.append(spans)
            rows.extend(value_note for value_note in row.notes)
        head: list[Line] = list(value.before)
        if value.show_header and value.columns:
            head.append(((" " * mark, Ink.TEXT), *header_line(fitted)) if mark else header_line(fitted))
        roomy = len(head) + len(rows) + len(value.foot) + 1 < height
        if value.air and roomy and head:
            head.append(BLANK)
        return Sheet(tuple(rows), tuple(head), value.foot, cursor)

    def plain_text(self) -> str:
        """All rows as tab-separated text, header first, with every column and none cut."""
        lines = ["\t".join(column.title for column in self.value.columns)]
        lines += [
            "\t".join("".join(text for text, _ in cell_line(cell)).strip() for cell in row.cells)
            for row in self.value.rows
        ]
        return "\n".join(lines)
