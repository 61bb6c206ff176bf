"""The rows or samples of one panel, written to a file that the user can read first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from entity_tui.config import data_folder
from entity_tui.errors import UsageError
from entity_tui.records.export import write_csv
from entity_tui.widgets.ink import text_of
from entity_tui.widgets.panel import Panel
from entity_tui.widgets.table import Table, cell_line
from entity_tui.widgets.time_series import TimeSeries
from entity_tui.widgets.topology_map import TopologyMap


def panel_rows(panel: Panel) -> tuple[list[str], list[list[str]]]:
    """Column names and rows of a panel. UsageError when it has none."""
    if isinstance(panel, Table):
        names = [column.key for column in panel.value.columns]
        rows = [[text_of(cell_line(cell)).strip() for cell in row.cells] for row in panel.value.rows]
        return names, rows
    if isinstance(panel, TimeSeries):
        tracks = panel.value.tracks
        names = ["series", "time_s", "value"]
        return names, [
            [track.name, repr(float(t)), "" if v != v else repr(float(v))]
            for track in tracks
            for t, v in zip(track.times_s, track.values, strict=True)
        ]
    if isinstance(panel, TopologyMap):
        names = ["cluster", "core", "cpu", "online", "busy_pct", "khz", "max_khz", "celsius", "running"]
        rows = []
        for cluster in panel.value.clusters:
            for core in cluster.cores:
                values = (core.online, core.busy_pct, core.khz, core.max_khz, core.celsius, core.running)
                cells = ["" if value is None else str(value) for value in values]
                rows.append([cluster.label, cluster.name, str(core.cpu), *cells])
        return names, rows
    raise UsageError("this panel has no rows to export", fix="tab to a table or a graph, then e")


def export_panel(panel: Panel | None, name: str, format_name: str) -> Path:
    """Write a panel below the data folder; returns the path. UsageError when there is nothing to write."""
    if panel is None:
        raise UsageError("no panel is in focus", fix="tab moves to one, then e")
    names, rows = panel_rows(panel)
    return write_rows(f"{name}-{panel.title}", names, rows, format_name)


def write_rows(name: str, names: list[str], rows: list[list[str]], format_name: str) -> Path:
    """Write rows as `exports/NAME-TIME.csv` or `.json` below the data folder; returns the path."""
    if not rows:
        raise UsageError("there are no rows, nothing was written")
    folder = data_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    words = "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")
    path = folder / f"{words}-{stamp}.{format_name}"
    if format_name == "json":
        records = [dict(zip(names, row, strict=True)) for row in rows]
        path.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path
    path.write_text(write_csv(names, rows), encoding="utf-8", newline="")
    return path
