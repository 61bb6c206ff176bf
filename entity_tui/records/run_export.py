"""Runs as text in the three formats we write: our tidy CSV, ENTITY Bench, llama-bench."""

from __future__ import annotations

import json
from datetime import datetime

from entity_tui.errors import UsageError
from entity_tui.records.entity_export import entity_bench_of
from entity_tui.records.export import tidy_csv
from entity_tui.records.llama_bench import FIELDS_FILE, write_llama_bench
from entity_tui.records.places import run_of
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.store import RunStore

MOST_RUNS = 100_000


def export_run(run: RunDirectory, format_name: str) -> str:
    """One run in a format: csv, entity-bench or llama-bench. UsageError for another name."""
    if format_name == "csv":
        return tidy_csv(run.rows())
    if format_name == "entity-bench":
        return entity_bench_of(run)
    if format_name == "llama-bench":
        fields = run.text(FIELDS_FILE)
        return write_llama_bench(run.rows(), json.loads(fields) if fields else None)
    raise UsageError(f"there is no format {format_name}", fix="csv, entity-bench or llama-bench")


def exported(store: RunStore, selection: str, format_name: str, now: datetime) -> str:
    """The run named by `selection`, or every run it filters. One run for the formats that know no other.

    UsageError when nothing is selected, or more than one run where the format holds one.
    """
    words = selection.split()
    if len(words) == 1 and not any(mark in selection for mark in "~=<>"):
        return export_run(run_of(selection, store), format_name)
    entries = store.select(selection, now=now, limit=MOST_RUNS)
    if not entries:
        raise UsageError("no run matches", detail=selection, fix="entity-tui history list")
    if format_name == "csv":
        return tidy_csv(store.rows(entry.session_id for entry in entries))
    if len(entries) > 1:
        raise UsageError(f"{format_name} holds one run, {len(entries)} match", fix="name one run, or use --format csv")
    return export_run(store.run(entries[0].session_id), format_name)
