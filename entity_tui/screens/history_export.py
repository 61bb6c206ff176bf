"""The tidy rows of several runs in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from entity_tui.config import data_folder
from entity_tui.errors import UsageError
from entity_tui.records.export import write_tidy_csv
from entity_tui.records.store import RunStore


def export_runs(store: RunStore, sessions: Sequence[str], format_name: str) -> Path:
    """Write `exports/history-TIME.csv` or `.json` below the data folder; returns the path."""
    if not sessions:
        raise UsageError("no run matches, nothing was written", fix="/ changes the filter")
    folder = data_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"history-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}.{format_name}"
    rows = store.rows(sessions)
    if format_name == "csv":
        return write_tidy_csv(rows, path)
    records = [{name: value for name, value in asdict(row).items() if value is not None} for row in rows]
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
