"""The rows of a run from its folder alone: plan, journal, snapshot and the cells' raw files."""

from __future__ import annotations

from entity_tui.device.facts import read_facts
from entity_tui.device.snapshot_json import loads
from entity_tui.experiments.context import run_context
from entity_tui.experiments.plan_json import read_plan
from entity_tui.experiments.rebuild import Ending, ending, rows_of_run
from entity_tui.experiments.run_files import kept_cell
from entity_tui.records.journal import parse_journal
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.schema import Row


def rows_of_record(run: RunDirectory) -> tuple[Row, ...] | None:
    """Every row again, exactly as the live run wrote them; None for a run that has no plan, journal or snapshot.

    Raises UsageError when the plan or the snapshot was written by another version, RecordError when a file cannot be
    read.
    """
    plan_text, device_text, journal = run.plan_text(), run.device_text(), run.journal()
    if not plan_text or not device_text or not journal:
        return None
    plan, info, snapshot = read_plan(plan_text), run.info(), loads(device_text)
    events = parse_journal(journal)
    context = run_context(plan, info, snapshot, read_facts(snapshot))
    end = _ending(run, info.state, ending(events))
    return rows_of_run(context, events, lambda event: kept_cell(run, event) or {}, end)


def _ending(run: RunDirectory, state: str, said: Ending) -> Ending:
    """How the run ended: by its journal, or as this computer saw it when the runner was gone before its last line."""
    if said.outcome or state in ("", "running"):
        return said
    left = (row for row in run.rows() if row.state == state and row.raw_ref is None and row.state_detail)
    return Ending(state, next((row.state_detail or "" for row in left), ""))
