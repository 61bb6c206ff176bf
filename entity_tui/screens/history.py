"""History: what did I measure, and does this differ from that?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.errors import EntityError
from entity_tui.records.query import ORDERS
from entity_tui.screens.dialogs import PromptScreen
from entity_tui.screens.history_compare import Marked, cell_tracks, compare_value
from entity_tui.screens.history_edit import StoredRunsScreen
from entity_tui.screens.history_values import COLUMNS, HistoryRow, foot_line, history_rows, table_row
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_rows
from entity_tui.widgets.ink import Line, line, muted
from entity_tui.widgets.numbers import tok_s
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text import plain
from entity_tui.widgets.time_series import GraphValue, TimeSeries, Track

LIMIT = 200
READ_EVERY_TICKS = 10


class HistoryScreen(StoredRunsScreen):
    """Every run of every device, newest first; two marked rows compared."""

    tab = "history"
    title_words = "History"
    question = "What did I measure, and does this differ from that?"
    keys = (
        "history.mark",
        "history.compare",
        "history.open",
        "filter",
        "order",
        "history.tag",
        "history.delete",
    )
    footer = (
        "history.open",
        "history.mark",
        "history.compare",
        "export.csv",
        "export.json",
        "copy",
        "history.tag",
        "history.delete",
        "help",
    )
    footer_compact = ("history.mark", "history.compare", "export.csv", "copy", "history.delete", "help")
    reading = (
        "[a] [b]  the two marked rows; the ratio is a / b, a above b in the list or not",
        "interval  only for two arms of one run with six blocks or more; else values only",
        "simulated  measured on a demo phone, never compared with a real one",
        "chg  charging: no power   fail  a cell gave no number   taint  kept and marked   1×  a single pass",
        "filter  field~text  field=value  since=30d, joined by spaces",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.filter_words = ""
        self.order_name = "when"
        self.rows: tuple[HistoryRow, ...] = ()
        self.matching = 0
        self.total = 0
        self._ticks = READ_EVERY_TICKS
        self._problem = ""
        self._stamp: tuple[object, ...] = ()
        """What the rows were read for: a store that did not change is not asked again."""
        self._forced = 0
        self._compared: tuple[str, ...] = ()
        self._marked: tuple[Marked, Marked] | None = None
        self._comparison: tuple[TableValue, str] = (TableValue(), "")
        self._tracks: tuple[Track, ...] = ()

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """List, comparison, every cell."""
        return (
            Table("History", id="history", cursor=True),
            Table("Compare", id="compare"),
            TimeSeries("Every cell, decode tok/s", id="cells"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The list over the comparison over the cells."""
        if size is SizeClass.COMPACT:
            history, compare = split_rows(body, 0, 10)
            return {"history": history, "compare": compare}
        rows = (0, 12, 12) if size is SizeClass.FULL else (0, 10, 7)
        history, compare, cells = split_rows(body, *rows)
        return {"history": history, "compare": compare, "cells": cells}

    # -- reading the store -------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the runs that match; a half-typed or wrong filter keeps the last rows and says why."""
        try:
            store = self.store()
            folder = store.runs_directory.stat().st_mtime_ns
            run = self.session.run
            stamp = (folder, run.sequence if run else 0, self.filter_words, self.order_name, self._forced)
            if stamp == self._stamp:
                return
            self._stamp = stamp
            store.refresh()
            now = datetime.now(UTC)
            entries = store.select(self.filter_words, now=now, order=self.order_name, limit=LIMIT)
            self.matching = store.count(self.filter_words, now=now)
            self.total = store.count(now=now)
            self.rows = history_rows(entries)
            self._problem = ""
        except (EntityError, OSError) as error:
            self._problem = str(error)

    def _read_marks(self) -> None:
        """The rows of the two marked runs, read when the marks changed."""
        if tuple(self.marks) == self._compared:
            return
        self._compared = tuple(self.marks)
        self._marked = None
        if len(self.marks) < 2:
            return
        try:
            pair = []
            for key in self.marks:
                session_id, _, arm = key.partition("/")
                pair.append(Marked(session_id, arm, self.store().find(session_id).rows()))
            self._marked = (pair[0], pair[1])
            self._comparison, self._tracks = compare_value(*self._marked), cell_tracks(*self._marked)
        except (EntityError, OSError) as error:
            self._problem = str(error)

    # -- values ----------------------------------------------------------------------------------------------------

    def on_screen_resume(self) -> None:
        """Read anew when the screen is shown."""
        self._ticks = READ_EVERY_TICKS
        super().on_screen_resume()

    def fill(self) -> None:
        """The list every two seconds, the comparison when the marks change."""
        self._ticks += 1
        if self._ticks >= READ_EVERY_TICKS:
            self._ticks = 0
            self.read()
        self._read_marks()
        self._fill_list()
        if self.in_view("compare"):
            self._fill_compare()
        if self.in_view("cells"):
            self._fill_cells()

    def _fill_list(self) -> None:
        table = self.query_one("#history", Table)
        foot = (foot_line(self.filter_words, LIMIT, self.matching, self.total, len(self.marks), self.order_name),)
        condition: Condition = LIVE
        if self._problem:
            condition = Condition.broken(plain(self._problem), "/ changes the filter")
        elif not self.rows and self.filter_words:
            condition = Condition.empty(f"No run matches {self.filter_words}.", "/ changes the filter")
        elif not self.rows:
            condition = Condition.empty("No runs yet.", "b runs the default plan.")
        marks = {key: "ab"[number] for number, key in enumerate(self.marks)}
        rows = tuple(table_row(row, marks.get(row.key, "")) for row in self.rows)
        table.show(TableValue(COLUMNS, rows, foot), condition, hint="space mark a/b  / filter  o order")

    def _fill_compare(self) -> None:
        table = self.query_one("#compare", Table)
        if self._marked is None:
            table.show(TableValue(), Condition.empty("Nothing to compare.", "space marks a row as a, another as b."))
            return
        value, hint = self._comparison
        names = f"a {plain(self._marked[0].arm)} / b {plain(self._marked[1].arm)}"
        table.show(value, hint=hint, subtitle=names)

    def _fill_cells(self) -> None:
        graph = self.query_one("#cells", TimeSeries)
        if self._marked is None:
            graph.show(GraphValue(), Condition.empty("The cells of the marked rows appear here."))
            return
        most = max((len(track.values) for track in self._tracks), default=0)
        if not most:
            graph.show(GraphValue(), Condition.empty("The marked rows have no usable decode rate."))
            return
        value = GraphValue(
            self._tracks,
            float(most),
            most - 0.01,
            1.0,
            floor=0.0,
            least=1.0,
            left_label="cell 1",
            right_label=f"cell {most}",
        )
        graph.show(value, hint="raw cells kept")

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Device, arm and rate, newest first."""
        if not self.rows:
            self.read()
        if not self.rows:
            return (line(" No runs yet."), muted(" b runs the default plan"))

        def mark(row: HistoryRow) -> str:
            return " sim" if row.entry.simulated else ""

        return tuple(
            line(f" {plain(r.entry.model)[:14]:14} {plain(r.arm.arm)[:12]:12} {tok_s(r.arm.decode_tok_s):>5}{mark(r)}")
            for r in self.rows[: self.size.height - 2]
        )

    # -- actions ---------------------------------------------------------------------------------------------------

    def chosen(self) -> HistoryRow | None:
        """The row under the cursor."""
        key = self.query_one("#history", Table).cursor_key
        return next((row for row in self.rows if row.key == key), None)

    def action_act(self) -> None:
        """Mark a, then b; a marked row is unmarked, a third mark replaces b."""
        row = self.chosen()
        if row is None:
            return
        if row.key in self.marks:
            self.marks.remove(row.key)
        else:
            self.marks = [*self.marks[:1], row.key]
        self.tick()

    def action_compare(self) -> None:
        """Go to the comparison."""
        if len(self.marks) < 2:
            self.entity.say("space marks two rows first")
            return
        self.set_focus(self.query_one("#compare", Table))

    def action_order(self) -> None:
        """The next order."""
        names = list(ORDERS)
        self.order_name = names[(names.index(self.order_name) + 1) % len(names)]
        self.reread()

    def action_filter(self) -> None:
        """Ask for a filter."""

        def typed(words: str | None) -> None:
            if words is not None:
                self.filter_words = words.strip()
                self.reread()

        self.app.push_screen(PromptScreen("filter: field~text  field=value  since=30d", self.filter_words), typed)

    def reread(self) -> None:
        """Read the store again and draw."""
        self._ticks = READ_EVERY_TICKS
        self._forced += 1
        self.tick()

    def action_open(self) -> None:
        """Every cell of the row under the cursor."""
        from entity_tui.screens.cells import CellsScreen

        row = self.chosen()
        if row is not None:
            directory = self.store().run(row.entry.session_id).path
            self.app.push_screen(CellsScreen(directory, row.arm.arm, row.entry.session_id))

    def export_rows(self, format_name: str) -> str:
        """The tidy rows of every run that matches, as CSV or JSON."""
        from entity_tui.screens.history_export import export_runs

        sessions = list(dict.fromkeys(row.entry.session_id for row in self.rows))
        return str(export_runs(self.store(), sessions, format_name))
