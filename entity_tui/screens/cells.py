"""Every cell of one arm: where a median comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from textual.geometry import Region
from textual.widget import Widget

from entity_tui.errors import EntityError
from entity_tui.records.run_directory import RunDirectory
from entity_tui.screens.cells_values import COLUMNS, cells_value
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.layout import SizeClass
from entity_tui.widgets.ink import Line, line
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text import plain


class CellsScreen(FrameScreen):
    """The cells of an arm of a run, read from its plain files; a run in flight grows while it is shown."""

    title_words = "Cells"
    question = "Which cells is this arm's number made of?"
    footer = ("back", "list.down", "list.up", "export.csv", "copy", "help")
    footer_compact = footer
    reading = (
        "place  the position in its block: the order is random and seeded",
        "start  the reading that passed the gate; max: the highest inside the cell",
        "✖  void, left out of the median   ▲  tainted, kept and marked",
    )

    def __init__(self, directory: Path | None, arm: str, title: str) -> None:
        super().__init__()
        self.directory = directory
        self.arm = arm
        self.run_title = title
        self._stamp = -1.0
        self._value = TableValue(COLUMNS)
        self._problem = ""

    def make_panels(self) -> Iterable[Widget]:
        """One table."""
        return (Table("Cells", id="cells", cursor=True),)

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The whole body."""
        return {"cells": body}

    def heading(self) -> str:
        """Which arm of which run."""
        return f"{plain(self.run_title)}  ›  {plain(self.arm)}"

    def _read(self) -> None:
        """Read the rows again when the run's folder changed."""
        if self.directory is None:
            return
        rows_file = self.directory / "rows.csv"
        stamp = rows_file.stat().st_mtime if rows_file.exists() else 0.0
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._value = cells_value(RunDirectory(self.directory).rows(), self.arm)
            self._problem = ""
        except EntityError as error:
            self._problem = str(error)

    def fill(self) -> None:
        """The cells."""
        self._read()
        condition: Condition = LIVE
        if self._problem:
            condition = Condition.broken(plain(self._problem))
        elif not self._value.rows:
            condition = Condition.empty("No cell of this arm has ended yet.", "Cells appear here as they end.")
        self.query_one("#cells", Table).show(self._value, condition, subtitle=plain(self.arm))

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Block, rate and state of each cell."""
        self._read()
        return tuple(
            line(f" {row.key:8}", row.cells[3] if isinstance(row.cells[3], str) else "") for row in self._value.rows
        )
