"""Runs as rows, one for each arm, and the filter and order that select them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from entity_tui.records.arms_table import ArmLine
from entity_tui.records.index import RunEntry
from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.numbers import NONE, tok_s, watts
from entity_tui.widgets.table import Column, TableRow
from entity_tui.widgets.text import plain

COLUMNS = (
    Column("mark", "", 3, gap=0),
    Column("when", "when", 11, gap=1),
    Column("kind", "kind", 9, drop=2),
    Column("device", "device", 14, flexible=True, least=9),
    Column("model", "model", 22, flexible=True, least=10, gap=1),
    Column("quant", "quant", 6, gap=1, drop=1),
    Column("arm", "arm", 12, flexible=True, least=10, gap=1),
    Column("cells", "n", 3, "right", drop=3, gap=1),
    Column("rate", "tok/s", 6, "right", gap=1),
    Column("watts", "W", 5, "right", drop=4, gap=1),
    Column("tok_w", "tok/W", 6, "right", gap=1),
    Column("flags", "flags", 24, flexible=True, least=10),
)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One arm of one run."""

    entry: RunEntry
    arm: ArmLine

    @property
    def key(self) -> str:
        """Stable name of the row: `session/arm`."""
        return f"{self.entry.session_id}/{self.arm.arm}"


def when_words(started_utc: str) -> str:
    """Local `MM-DD HH:MM`."""
    try:
        return datetime.fromisoformat(started_utc).astimezone().strftime("%m-%d %H:%M")
    except ValueError:
        return NONE


def history_rows(entries: tuple[RunEntry, ...]) -> tuple[HistoryRow, ...]:
    """Every arm of every run, in the order of the runs; a run without arms has one row without numbers."""
    rows: list[HistoryRow] = []
    for entry in entries:
        arms = entry.arms or (ArmLine(entry.arm or "", entry.cells),)
        rows += [HistoryRow(entry, arm) for arm in arms]
    return tuple(rows)


def flag_words(row: HistoryRow) -> str:
    """Everything a reader must know before using the number."""
    words = [plain(flag) for flag in row.arm.flags]
    if row.entry.simulated:
        words.insert(0, "simulated")
    if row.entry.state not in ("done", "ok"):
        words.append(plain(row.entry.state))
    words += [f"#{plain(tag)}" for tag in row.entry.tags]
    return " ".join(words)


def table_row(row: HistoryRow, mark: str) -> TableRow:
    """One row of the list; `mark` is `a`, `b` or empty."""
    entry, arm = row.entry, row.arm
    marked: Span = (f"[{mark}]", Ink.ACCENT) if mark else ("", Ink.TEXT)
    cells = (
        marked,
        when_words(entry.started_utc),
        plain(entry.kind),
        plain(entry.device),
        plain(entry.model),
        plain(entry.quant),
        plain(arm.arm),
        str(arm.cells),
        tok_s(arm.decode_tok_s),
        watts(arm.power_w),
        tok_s(arm.tok_per_w),
        (flag_words(row), Ink.PREDICTED if entry.simulated else Ink.MUTED),
    )
    return TableRow(row.key, cells)


def foot_line(filter_words: str, shown: int, matching: int, total: int, marked: int, order: str) -> Line:
    """`filter: device~CMF   9 of 214 runs, 2 marked`."""
    words = f"filter: {filter_words}   " if filter_words else ""
    more = f", the newest {shown} shown" if shown < matching else ""
    counts = f"{matching} of {total} runs{more}, {marked} marked, ordered by {order}"
    return line((words, Ink.TEXT), (counts, Ink.MUTED))
