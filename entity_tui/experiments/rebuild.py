"""All rows of a run from its plan, its journal and its cells' files: live, collected and rebuilt rows are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from entity_tui.device.snapshot import Snapshot
from entity_tui.device.snapshot_json import loads
from entity_tui.errors import UsageError
from entity_tui.experiments.abandoned import abandoned_blocks
from entity_tui.experiments.collect import RunContext, cell_rows
from entity_tui.experiments.not_run import incapable_rows, unreached_rows
from entity_tui.experiments.plan import cell_key
from entity_tui.experiments.states import states
from entity_tui.records.journal_events import CellEvent, Event, EventKind
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.schema import Metric, Phase, Row, Usability

ABANDONED = "block abandoned"
FilesOf = Callable[[CellEvent], Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: `outcome` is `done` or a state; `detail` the runner's own words; empty while it runs."""

    outcome: str = ""
    detail: str = ""

    @property
    def done(self) -> bool:
        """True when every cell had its turn."""
        return self.outcome == "done"


def ending(events: Sequence[Event]) -> Ending:
    """How the last runner of the journal ended, from its own last line; empty when it has none."""
    last = next((event for event in reversed(events) if event.kind is not EventKind.BEAT), None)
    if last is None or last.kind not in (EventKind.DONE, EventKind.STOP, EventKind.REFUSED):
        return Ending()
    if last.kind is EventKind.DONE:
        return Ending("done")
    reason = last.fields.get("reason", "")
    name = reason if reason in states() else {"plan": "config_mismatch"}.get(reason, "cancelled")
    words = last.detail or {"now": "stopped at once", "after_cell": "stopped after a cell"}.get(reason, reason)
    return Ending(name, words)


def foreign_rows(context: RunContext, event: CellEvent, why: str) -> tuple[Row, ...]:
    """The one row of a cell that is not part of the plan: kept, and never used."""
    return (
        Row(
            session_id=context.session_id,
            plan_hash=context.plan_hash,
            simulated=context.simulated,
            experiment=context.plan.experiment,
            block=event.block,
            position=event.position,
            arm=event.arm,
            role=event.role,
            cell_key=event.key or None,
            attempt=event.attempt,
            phase=Phase.CELL,
            metric=Metric.OUTCOME,
            state="foreign_cell",
            state_detail=why,
            usability=Usability.VOID,
            raw_ref=event.directory or None,
        ),
    )


def rows_of_cell(context: RunContext, event: CellEvent, files: Mapping[str, bytes]) -> tuple[Row, ...]:
    """The rows of one cell, whether it belongs to the plan or not."""
    known = {arm.arm_id: arm for arm in context.plan.arms}
    if event.arm not in known:
        return foreign_rows(context, event, f"the plan has no arm {event.arm}")
    if event.key and event.key != cell_key(context.plan, known[event.arm]):
        return foreign_rows(context, event, f"its key {event.key} is not that of the plan's {event.arm}")
    return cell_rows(context, event, files)


def rows_of_run(context: RunContext, events: Sequence[Event], files_of: FilesOf, end: Ending) -> tuple[Row, ...]:
    """Every row: ended cells in their order, cells of abandoned blocks excluded, then what never ran and why."""
    abandoned = abandoned_blocks(context.plan, events)
    rows: list[Row] = []
    ended: set[tuple[int, int, str]] = set()
    for event in events:
        if not isinstance(event, CellEvent):
            continue
        found = rows_of_cell(context, event, files_of(event))
        if event.block in abandoned:
            found = tuple(replace(row, excluded_by=ABANDONED) for row in found)
        rows += found
        ended.add((event.block, event.position, event.arm))
    ended |= {(cell.block, cell.position, cell.arm) for cell in context.plan.cells if cell.block in abandoned}
    if end.outcome:
        reason = "cancelled" if end.done else end.outcome
        rows += unreached_rows(context, ended, reason, end.detail)
    return (*rows, *incapable_rows(context))


def stored_snapshot(run: RunDirectory) -> Snapshot:
    """The snapshot the run was planned from. UsageError where none was stored."""
    text = run.device_text()
    if not text:
        raise UsageError(
            f"the run {run.session_id} has no device.json", fix="only runs of this program can be followed"
        )
    return loads(text)
