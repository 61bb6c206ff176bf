"""Going on with a run that was cut: finished cells stay, the block that was open comes back as a fresh one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from entity_tui.digits import whole
from entity_tui.experiments.flatplan import RunnerCell, RunnerPlan
from entity_tui.records.journal import CellEvent, Event, EventKind


def remaining(plan: RunnerPlan, events: Sequence[Event], *, seed: int) -> RunnerPlan | None:
    """What is left of `plan` after the journal's `events`; None when nothing is.

    A run that was cut between its last cell and its last line gets a plan without cells: its runner only writes that
    line, so that every run ends the same way.

    The block that was open is abandoned as a unit, and its cells come back as one appended block with a new number, new
    cell numbers, the next attempt, and an order drawn from `seed` and that number. In a grouped order, where every
    block is open for most of the run, only the unfinished cells are run again.
    """
    done = finished_cells(events)
    started = {event.cell for event in events if event.kind is EventKind.CELL_START}
    opened = _activated(events)
    left = [cell for cell in plan.cells if cell.number not in done and not (cell.reserve and cell.block in opened)]
    open_block = _open_block(plan, done, started)
    number = max([cell.number for cell in plan.cells] + [event.cell or 0 for event in events])
    if open_block is None:
        cells = [
            _again(cell, index + 1 + number) if cell.number in started else cell for index, cell in enumerate(left)
        ]
    else:
        spare = [cell for cell in left if cell.reserve]
        main = [cell for cell in left if not cell.reserve and cell.block != open_block]
        whole = [cell for cell in plan.cells if cell.block == open_block]
        cells = [*main, *_fresh_block(_next_block(plan, events), whole, number, seed), *spare]
    if all(cell.reserve for cell in cells) and not _owed(plan, events):
        ended = bool(events) and events[-1].kind in (EventKind.DONE, EventKind.STOP)
        return None if ended else replace(plan, cells=())
    return replace(plan, cells=tuple(cells), owed_blocks=_owed(plan, events))


def _again(cell: RunnerCell, number: int) -> RunnerCell:
    return replace(cell, number=number, attempt=cell.attempt + 1)


def _next_block(plan: RunnerPlan, events: Sequence[Event]) -> int:
    return 1 + max([cell.block for cell in plan.cells] + [item.block for item in events if isinstance(item, CellEvent)])


def _fresh_block(block: int, whole: Sequence[RunnerCell], number: int, seed: int) -> list[RunnerCell]:
    order = sorted(whole, key=lambda cell: cell.number)
    random.Random(f"{seed}/{block}").shuffle(order)
    return [
        replace(_again(cell, number + index), block=block, position=index, reserve=False)
        for index, cell in enumerate(order, start=1)
    ]


def _activated(events: Sequence[Event]) -> set[int]:
    """Spare blocks that were put to use."""
    blocks = (whole(event.fields.get("block")) for event in events if event.kind is EventKind.RESERVE)
    return {block for block in blocks if block is not None}


def _open_block(plan: RunnerPlan, done: frozenset[int], started: set[int | None]) -> int | None:
    """The block that was begun and not ended, if blocks were run one after another; the warm-up is no block."""
    order = [cell.block for cell in plan.cells if cell.role != "warmup"]
    changes = sum(1 for before, after in pairwise(order) if before != after)
    if changes + 1 > len(set(order)):
        return None
    for block in dict.fromkeys(order):
        cells = [cell for cell in plan.cells if cell.block == block and cell.role != "warmup"]
        ended = sum(cell.number in done for cell in cells)
        if ended < len(cells) and any(cell.number in started for cell in cells):
            return block
    return None


def _owed(plan: RunnerPlan, events: Sequence[Event]) -> int:
    """Spare blocks that lost blocks have a claim to and have not had yet."""
    reserve = {cell.block for cell in plan.cells if cell.reserve}
    lost = {
        event.block
        for event in events
        if isinstance(event, CellEvent) and event.state in plan.replace_states and event.role != "warmup"
    }
    return max(0, plan.owed_blocks + len(lost) - len(_activated(events) & reserve))


def finished_cells(events: Sequence[Event]) -> frozenset[int]:
    """Numbers of the cells that have their one line in the journal."""
    return frozenset(event.cell for event in events if event.kind is EventKind.CELL and event.cell is not None)
