"""Blocks that a dying runner left open and another one did not go on with: on record, and not used."""

from __future__ import annotations

from collections.abc import Sequence

from entity_tui.digits import whole
from entity_tui.experiments.plan import Plan
from entity_tui.records.journal_events import CellEvent, Event, EventKind


def open_blocks(plan: Plan, events: Sequence[Event]) -> frozenset[int]:
    """Blocks (not the warm-up's) that were begun and miss the line of an arm."""
    arms = {arm.arm_id for arm in plan.runnable}
    begun: dict[int, set[str]] = {}
    for event in events:
        block = whole(event.fields.get("block"))
        if event.kind is EventKind.CELL_START and block:
            begun.setdefault(block, set())
        elif isinstance(event, CellEvent) and event.block:
            begun.setdefault(event.block, set()).add(event.arm)
    return frozenset(block for block, ended in begun.items() if not arms <= ended)


def abandoned_blocks(plan: Plan, events: Sequence[Event]) -> frozenset[int]:
    """Blocks that were open when a runner ended and another one started: a pure function of the journal.

    In the seeds' grouped order there are none: its runs are no blocks, and single cells are run again.
    """
    if plan.order == "fixed":
        return frozenset()
    starts = [index for index, event in enumerate(events) if event.kind is EventKind.RUN_START]
    found: set[int] = set()
    for index in starts[1:]:
        found |= open_blocks(plan, events[:index])
    return frozenset(found)
