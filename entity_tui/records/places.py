"""Where runs live on this computer."""

from __future__ import annotations

from pathlib import Path

from entity_tui.config import data_folder
from entity_tui.errors import UsageError
from entity_tui.records.run_directory import ROWS_FILE, RUN_FILE, RunDirectory
from entity_tui.records.store import RunStore


def open_store(folder: Path | None = None) -> RunStore:
    """The user's store of runs, or the one in another folder."""
    return RunStore(folder or data_folder())


def run_of(name: str, store: RunStore) -> RunDirectory:
    """A run by its id, the beginning of its id, or the path of its folder. UsageError when it is none of them."""
    path = Path(name)
    if path.is_dir() and ((path / RUN_FILE).exists() or (path / ROWS_FILE).exists()):
        return RunDirectory(path.resolve())
    if "/" in name:
        raise UsageError(f"{name} is not the folder of a run", fix="a run's folder holds run.json and rows.csv")
    return store.find(name)
