"""The sessions that repeat one plan, analysed one by one and laid beside each other."""

from __future__ import annotations

from entity_tui.analysis.sessions import Replication, replicate
from entity_tui.records.reanalysis import read_analysis
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.store import RunStore


def sessions_of(store: RunStore, run: RunDirectory) -> tuple[RunDirectory, ...]:
    """The runs of the same repetition, oldest first; only the run itself where it repeats nothing."""
    repeats = run.info().repeats
    if not repeats:
        return (run,)
    return tuple(store.run(entry.session_id) for entry in store.repeating(repeats))


def replication_of(store: RunStore, run: RunDirectory) -> tuple[Replication, ...]:
    """Each declared comparison over the sessions of a repetition; empty with fewer than two sessions that have rows.

    Sessions are analysed separately and never pooled. Raises UsageError or RecordError when one cannot be read.
    """
    sessions = [session for session in sessions_of(store, run) if session.rows()]
    if len(sessions) < 2:
        return ()
    return replicate([read_analysis(session).analysis for session in sessions])
