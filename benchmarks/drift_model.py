"""Sessions of a phone that warms up, wanders and stalls: what the method has to survive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from entity_tui.records.schema import Metric, Role, Row

RAMP = 0.08
"""Loss of speed from the first cell to the last."""

WANDER = 0.02
WANDER_MEMORY = 0.9
"""A slow wander: a stationary first-order process over cells with this standard deviation and correlation."""

STALL_RATE = 0.03
STALL_DEPTH = (0.10, 0.40)
"""Three cells in a hundred lose between a tenth and two fifths of their speed."""

NOISE = 0.012
BASE_TOK_S = 10.0

FULL_ARMS = ("naive", "threads_only", "optimized", "efficiency", "naive_aa")
MASKS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "naive": (8, "ff"),
        "threads_only": (4, "ff"),
        "optimized": (4, "f0"),
        "efficiency": (4, "f"),
        "naive_aa": (8, "ff"),
    }
)
"""Threads and mask of each arm, so that no comparison is void."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The true speed of each arm as a multiple of naive."""

    name: str
    of: Mapping[str, float]

    def ratio(self, baseline: str, treatment: str) -> float:
        """The true ratio of two arms."""
        return self.of.get(treatment, 1.0) / self.of.get(baseline, 1.0)


def rates(order: Sequence[str], effects: Effects, generator: np.random.Generator) -> list[float]:
    """The decode rate of every cell in the order given, tok/s."""
    count = len(order)
    place = np.arange(count) / max(1, count - 1)
    wander = np.empty(count)
    wander[0] = generator.normal(0.0, WANDER)
    steps = generator.normal(0.0, WANDER * np.sqrt(1.0 - WANDER_MEMORY**2), count)
    for index in range(1, count):
        wander[index] = WANDER_MEMORY * wander[index - 1] + steps[index]
    stalled = generator.random(count) < STALL_RATE
    depth = np.where(stalled, generator.uniform(*STALL_DEPTH, count), 0.0)
    logs = np.log1p(-RAMP * place) + wander + generator.normal(0.0, NOISE, count) + np.log1p(-depth)
    true = np.array([effects.of.get(arm, 1.0) for arm in order])
    return [float(value) for value in BASE_TOK_S * true * np.exp(logs)]


def block_order(arms: Sequence[str], blocks: int, generator: np.random.Generator) -> list[tuple[int, int, str]]:
    """Randomised complete blocks: (block, position, arm) in order of execution."""
    return [
        (block, position, str(arm))
        for block in range(1, blocks + 1)
        for position, arm in enumerate(generator.permutation(np.asarray(arms)), start=1)
    ]


def grouped_order(arms: Sequence[str], runs: int) -> list[tuple[int, int, str]]:
    """The seeds' order: every run of one arm, then every run of the next."""
    return [(run, position, arm) for position, arm in enumerate(arms, start=1) for run in range(1, runs + 1)]


def session_rows(order: Sequence[tuple[int, int, str]], values: Sequence[float], session_id: str) -> tuple[Row, ...]:
    """The tidy rows of one simulated session, as a run would have written them."""
    return tuple(
        Row(
            session_id=session_id,
            simulated=True,
            metric=Metric.DECODE_TOK_S,
            unit="tok/s",
            better="higher",
            phase="decode",
            value=value,
            arm=arm,
            role=Role.AA if arm == "naive_aa" else Role.MEASURE,
            block=block,
            position=position,
            attempt=1,
            cell_key=arm,
            threads_requested=MASKS[arm][0],
            mask_requested=MASKS[arm][1],
            mask_applied=MASKS[arm][1],
            mask_ok=True,
            t_start_boot_s=float(60 * index),
        )
        for index, ((block, position, arm), value) in enumerate(zip(order, values, strict=True))
    )
