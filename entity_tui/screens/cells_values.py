"""The cells of one arm out of the tidy rows of a run: every attempt, with its start, order, clocks and state."""

from __future__ import annotations

from collections.abc import Iterable

from entity_tui.records.schema import Metric, Row
from entity_tui.screens.run_values import mask_words
from entity_tui.widgets.ink import Ink, Span, line, muted
from entity_tui.widgets.numbers import celsius, fixed, tok_s, watts
from entity_tui.widgets.table import Column, TableRow, TableValue
from entity_tui.widgets.text import plain

COLUMNS = (
    Column("block", "block", 5, "right", gap=0),
    Column("place", "place", 5, "right"),
    Column("role", "role", 8),
    Column("decode", "decode tok/s", 12, "right"),
    Column("prompt", "prompt", 6, "right"),
    Column("watts", "W", 5, "right", drop=2),
    Column("start", "start °C", 8, "right", drop=1),
    Column("most", "max °C", 6, "right", drop=3),
    Column("gate", "gate s", 6, "right", drop=4),
    Column("mask", "mask applied", 12, drop=5),
    Column("state", "state", 30, flexible=True, least=10),
)
Key = tuple[int, int, int]


def cells_of(rows: Iterable[Row], arm: str) -> dict[Key, list[Row]]:
    """The rows of an arm by (block, position, attempt), in the order they were measured."""
    cells: dict[Key, list[Row]] = {}
    for row in rows:
        if row.arm == arm:
            cells.setdefault((row.block or 0, row.position or 0, row.attempt or 0), []).append(row)
    return cells


def _value(rows: Iterable[Row], metric: str) -> float | None:
    return next((row.value for row in rows if row.metric == metric and row.value is not None), None)


def cell_row(key: Key, rows: list[Row]) -> TableRow:
    """One cell."""
    first = next((row for row in rows if row.metric == Metric.DECODE_TOK_S), rows[0])
    usable = first.usability == "usable"
    mark: Span = ("●", Ink.GOOD) if usable else ("▲", Ink.WARN) if first.usability == "tainted" else ("✖", Ink.BAD)
    words = plain(first.state) + ("" if usable else f", {plain(first.usability)}")
    cells = (
        str(key[0]),
        str(key[1]),
        plain(first.role or ""),
        tok_s(_value(rows, Metric.DECODE_TOK_S)),
        tok_s(_value(rows, Metric.PROMPT_TOK_S)),
        watts(_value(rows, Metric.DECODE_POWER_W)),
        celsius(first.temp_start_c),
        celsius(first.temp_max_c),
        fixed(first.gate_wait_s, 0),
        mask_words(first.mask_applied or ""),
        line(mark, f" {words}"),
    )
    detail = plain(first.state_detail or first.excluded_by or "")
    notes = (muted(f"      └ {detail}"),) if detail and not usable else ()
    return TableRow(f"{key[0]}.{key[1]}.{key[2]}", cells, notes)


def cells_value(rows: Iterable[Row], arm: str) -> TableValue:
    """All cells of an arm."""
    return TableValue(COLUMNS, tuple(cell_row(key, mine) for key, mine in cells_of(rows, arm).items()))
