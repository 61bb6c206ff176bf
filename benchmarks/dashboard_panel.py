"""The Dashboard made of Textual's own widgets: what ours is measured against."""

from __future__ import annotations

import math
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable, Sparkline, Static

from entity_tui.screens.dashboard_values import variant_lines
from entity_tui.screens.device_values import topology_value
from entity_tui.session import Session
from entity_tui.widgets.variant_table import status_spans

SERIES = ("temp_c.cpu", "temp_c.skin", "power_w")
SPAN_TICKS = 300


class LibraryPanel(App[None]):
    """The same cores, variants, temperatures, power and log, five times a second."""

    CSS = """
    DataTable { height: 14; width: 1fr; border: round gray; }
    Sparkline { height: 12; width: 1fr; border: round gray; }
    #log { height: 9; border: round gray; }
    """
    COLUMNS: ClassVar[tuple[str, ...]] = ("cpu", "load", "MHz", "°C")

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        """Two tables over three graphs over a log."""
        yield Static(id="strip")
        with Horizontal():
            yield DataTable(id="cores")
            yield DataTable(id="variants")
        with Horizontal():
            for name in SERIES:
                yield Sparkline([], id=name.replace(".", "-"))
        yield Static(id="log")

    def on_mount(self) -> None:
        """Fill what does not move, start the clock."""
        cores = self.query_one("#cores", DataTable)
        for column in self.COLUMNS:
            cores.add_column(column, key=column, width=12)
        for cluster in topology_value(self.session).clusters:
            for core in cluster.cores:
                cores.add_row(*("" for _ in self.COLUMNS), key=str(core.cpu))
        variants = self.query_one("#variants", DataTable)
        variants.add_columns("variant", "needs", "status")
        for line in variant_lines(self.session):
            variants.add_row(line.name, " ".join(line.needs), "".join(text for text, _ in status_spans(line)))
        self.query_one("#log", Static).update("\n".join(entry.text for entry in self.session.log.tail(7)))
        self.set_interval(0.2, self.paint)

    def paint(self) -> None:
        """Every number that is live."""
        table = self.query_one("#cores", DataTable)
        for cluster in topology_value(self.session).clusters:
            for core in cluster.cores:
                key = str(core.cpu)
                busy = core.busy_pct or 0.0
                table.update_cell(key, "cpu", key)
                table.update_cell(key, "load", f"{'█' * round(busy / 12.5)} {busy:.0f}%")
                table.update_cell(key, "MHz", f"{(core.khz or 0) / 1_000:.0f}")
                table.update_cell(key, "°C", f"{core.celsius or 0.0:.1f}")
        for name in SERIES:
            ring = self.session.telemetry.series(name)
            if ring is not None:
                values = [value for value in ring.window(SPAN_TICKS).tolist() if not math.isnan(value)]
                self.query_one(f"#{name.replace('.', '-')}", Sparkline).data = values
        view = self.session.view
        power = self.session.telemetry.series("power_w")
        words = f"{view.name}  {view.kind}  {power.newest if power else 0.0:.2f} W  {view.link_ms:.0f} ms"
        self.query_one("#strip", Static).update(words)
