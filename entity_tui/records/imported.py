"""What an importer hands to the store: a run of somebody else's, as rows and files of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.records.reanalysis import reanalyse
from entity_tui.records.run_directory import RunDirectory, RunInfo
from entity_tui.records.schema import Row
from entity_tui.records.store import RunStore

CARRIED = "carried_aggregate"
"""`excluded_by` of a median or SD that the source printed itself: shown, never counted again."""


@dataclass(frozen=True, slots=True)
class Imported:
    """One run read from a foreign file. `files` are further plain files of the run by name."""

    info: RunInfo
    rows: tuple[Row, ...]
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    """What was not taken over, or only in part; shown after the import and kept in the run's note."""


def session_id_of(kind: str, content: str) -> str:
    """An id that depends on the content only, so that importing a file twice finds the run it made before."""
    return f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def store_imported(store: RunStore, found: Imported) -> RunDirectory:
    """Write an imported run into the store and rebuild its tables. A run that is there already is written again."""
    run = store.run(found.info.session_id)
    for name, text in found.files.items():
        run.write_file(name, text)
    run = store.save(found.info, found.rows)
    if found.rows:
        reanalyse(run)
    return run
