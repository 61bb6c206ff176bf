"""The order of cells: seeded randomised complete blocks, balanced pairs, or the seeds' grouped order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from entity_tui.experiments.arms import Arm
from entity_tui.experiments.plan import PlannedCell

WARMUP = "warmup"


def _block(number: int, arms: Sequence[Arm]) -> list[PlannedCell]:
    return [PlannedCell(number, place, arm.arm_id, arm.role) for place, arm in enumerate(arms, start=1)]


def warmup_cell(arm: Arm) -> PlannedCell:
    """The one cell of block 0: run first, stored, never averaged."""
    return PlannedCell(0, 1, arm.arm_id, WARMUP)


def randomised_blocks(arms: Sequence[Arm], blocks: int, seed: int) -> tuple[PlannedCell, ...]:
    """Blocks 1..`blocks`, each with every arm once, shuffled by one generator seeded with `seed`."""
    generator = random.Random(seed)
    cells: list[PlannedCell] = []
    for number in range(1, blocks + 1):
        shuffled = list(arms)
        generator.shuffle(shuffled)
        cells += _block(number, shuffled)
    return tuple(cells)


def balanced_pairs(arms: Sequence[Arm], blocks: int, seed: int) -> tuple[PlannedCell, ...]:
    """Two arms in blocks of which half run A first and half B first, in seeded order; an odd one is drawn."""
    first, second = arms
    generator = random.Random(seed)
    swapped = [index % 2 == 1 for index in range(blocks - blocks % 2)]
    if blocks % 2:
        swapped.append(generator.random() < 0.5)
    generator.shuffle(swapped)
    cells: list[PlannedCell] = []
    for number, swap in enumerate(swapped, start=1):
        cells += _block(number, (second, first) if swap else (first, second))
    return tuple(cells)


def grouped(arms: Sequence[Arm], runs: int) -> tuple[PlannedCell, ...]:
    """The seeds' order: every run of the first arm, then every run of the second; blocks are still run numbers."""
    return tuple(
        PlannedCell(run, place, arm.arm_id, arm.role)
        for place, arm in enumerate(arms, start=1)
        for run in range(1, runs + 1)
    )


def appended_block(arms: Sequence[Arm], number: int, seed: int) -> tuple[PlannedCell, ...]:
    """A fresh block for one that was abandoned; its order depends on the plan's seed and its own number only."""
    generator = random.Random(f"{seed}/{number}")
    shuffled = list(arms)
    generator.shuffle(shuffled)
    return tuple(_block(number, shuffled))
