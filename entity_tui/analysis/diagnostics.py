"""What the order of a session did to its numbers: drift over the run, position in a block, heat at the start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from entity_tui.analysis.signed_rank import Floats
from entity_tui.analysis.summary import median
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Metric, Row


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How a session drifted. Fractions: -0.08 is 8 % slower at the end than at the start.

    `drift` is the change from the first cell to the last by the median slope of arm-centred log values;
    `position` the same from the first to the last place of a block. None with fewer than four cells.
    """

    cells: int
    drift: float | None
    position: float | None
    mean_position: tuple[tuple[str, float], ...]
    """Mean place of each arm in its blocks, from 1: equal in a balanced order."""
    start_temp_c: tuple[tuple[str, float], ...]
    """Median temperature at the start of each arm's cells."""
    grouped: bool
    """True when every arm's cells stand together, so that drift and arm cannot be told apart."""


def diagnose(rows: Sequence[Row], metric: str = Metric.DECODE_TOK_S) -> Diagnostics:
    """The diagnostics of one session's rows for one metric, in order of execution (block, then position)."""
    used = [row for row in rows if row.metric == metric and contributes(row) and (row.value or 0) > 0]
    used.sort(key=lambda row: (row.t_start_boot_s or 0.0, row.block or 0, row.position or 0))
    arms = [row.arm or "" for row in used]
    logs = np.log([row.value or math.nan for row in used]) if used else np.empty(0)
    centred = logs.copy()
    for arm in set(arms):
        mine = np.array([name == arm for name in arms])
        centred[mine] -= np.median(logs[mine])
    places = np.array([float(row.position or 0) for row in used])
    temps: dict[str, list[float]] = {}
    where: dict[str, list[float]] = {}
    for row in used:
        if row.temp_start_c is not None:
            temps.setdefault(row.arm or "", []).append(row.temp_start_c)
        if row.position is not None:
            where.setdefault(row.arm or "", []).append(float(row.position))
    return Diagnostics(
        cells=len(used),
        drift=_change(np.arange(len(used), dtype=np.float64), centred),
        position=_change(places, centred),
        mean_position=tuple((arm, float(np.mean(found))) for arm, found in where.items()),
        start_temp_c=tuple((arm, median(found)) for arm, found in temps.items()),
        grouped=_grouped(arms),
    )


def _change(x: Floats, y: Floats) -> float | None:
    """The Theil-Sen slope of y on x times the range of x, as a fraction; None with too little to fit."""
    if x.size < 4 or float(np.ptp(x)) == 0.0:
        return None
    first, second = np.triu_indices(x.size, 1)
    run = x[second] - x[first]
    usable = run != 0
    slope = float(np.median((y[second] - y[first])[usable] / run[usable]))
    return math.expm1(slope * float(np.ptp(x)))


def _grouped(arms: Sequence[str]) -> bool:
    changes = sum(1 for one, two in pairwise(arms) if one != two)
    return len(arms) > len(set(arms)) > 1 and changes == len(set(arms)) - 1


def sentences(found: Diagnostics) -> tuple[str, ...]:
    """The diagnostics as they are printed under every verdict."""
    lines = []
    if found.drift is not None:
        lines.append(f"Drift over the run: {100 * found.drift:+.1f} % from the first cell to the last.")
    if found.position is not None:
        lines.append(f"Place in the block: {100 * found.position:+.1f} % from the first place to the last.")
    if found.grouped:
        lines.append("The arms ran one after the other, so drift and arm cannot be told apart.")
    if len(found.start_temp_c) > 1:
        warmest = max(found.start_temp_c, key=lambda item: item[1])
        coolest = min(found.start_temp_c, key=lambda item: item[1])
        lines.append(
            f"Start temperature by arm: {coolest[1]:.1f} °C ({coolest[0]}) to {warmest[1]:.1f} °C ({warmest[0]})."
        )
    return tuple(lines)
