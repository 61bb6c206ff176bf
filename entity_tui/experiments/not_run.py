"""Rows for what was planned and never ran: a missing cell says why it is missing, it is never just absent."""

from __future__ import annotations

from dataclasses import replace

from entity_tui.experiments.cell_power import CellPower
from entity_tui.experiments.collect import RunContext, base_row
from entity_tui.experiments.plan import cell_key
from entity_tui.experiments.states import state
from entity_tui.records.journal_events import CellEvent, EventKind
from entity_tui.records.schema import Phase, Row


def unreached_rows(context: RunContext, ended: set[tuple[int, int, str]], reason: str, detail: str) -> tuple[Row, ...]:
    """One row for every planned cell that no journal line ended, with the state that explains it.

    `ended` holds (block, position, arm) of the cells that have rows.
    """
    plan = context.plan
    usability = state(reason).usability
    rows: list[Row] = []
    for cell in plan.cells:
        if (cell.block, cell.position, cell.arm) in ended:
            continue
        arm = plan.arm(cell.arm)
        event = CellEvent(
            sequence=0,
            t_boot_s=0.0,
            kind=EventKind.CELL,
            key=cell_key(plan, arm),
            arm=cell.arm,
            block=cell.block,
            position=cell.position,
            role=cell.role,
            state=reason,
        )
        base = base_row(context, event, arm, CellPower())
        rows.append(
            replace(
                base,
                t_start_boot_s=None,
                t_end_boot_s=None,
                wall_start_utc=None,
                phase=Phase.CELL,
                attempt=None,
                state=reason,
                state_detail=detail or None,
                usability=usability,
            )
        )
    return tuple(rows)


def incapable_rows(context: RunContext) -> tuple[Row, ...]:
    """One row for every arm that cannot run here, so that the CSV says why it is not there."""
    usability = state("skipped_incapable").usability
    rows: list[Row] = []
    for arm in context.plan.arms:
        reason = arm.incapable or (f"the same as {arm.same_as} on this device" if arm.same_as else "")
        if not reason:
            continue
        event = CellEvent(sequence=0, t_boot_s=0.0, kind=EventKind.CELL, arm=arm.arm_id, role=arm.role)
        base = base_row(context, event, arm, CellPower())
        rows.append(
            replace(
                base,
                block=None,
                position=None,
                t_start_boot_s=None,
                t_end_boot_s=None,
                wall_start_utc=None,
                phase=Phase.CELL,
                attempt=None,
                state="skipped_incapable",
                state_detail=reason,
                usability=usability,
            )
        )
    return tuple(rows)
