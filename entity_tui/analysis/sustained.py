"""What lasts: retention of a rate over minutes, and whether backing off pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entity_tui.analysis.summary import median

WINDOW_S = 30.0
STEADY_SHARE = 0.25
"""The last quarter of the run's windows is its steady level."""

FALLEN = 0.90


@dataclass(frozen=True, slots=True)
class Retention:
    """How a decode rate held over passes run back to back. Rates in tok/s, times in seconds from the first start.

    `burst` is the first 30 s window, `steady` the median of the last quarter of the windows, `retained` their ratio.
    `trend` is the seeds' figure, last pass over first minus one. `to_90_s` is the start of the first window from which
    the rate stayed below 90 % of burst; None when it held.
    """

    passes: int
    windows: tuple[float, ...]
    burst: float
    steady: float
    retained: float
    trend: float
    to_90_s: float | None


def retention(
    starts_s: Sequence[float], ends_s: Sequence[float], tokens: Sequence[int], window_s: float = WINDOW_S
) -> Retention | None:
    """The retention of passes that made `tokens` between `starts_s` and `ends_s`; None without a usable pass.

    A window's rate is the tokens over the seconds spent decoding of the passes that end in it, never a mean of rates.
    A window in which no pass ends takes part in none of the figures. Shapes (n,), (n,), (n,).
    """
    passes = sorted(
        (start, end, count)
        for start, end, count in zip(starts_s, ends_s, tokens, strict=True)
        if end > start and count > 0
    )
    if not passes:
        return None
    origin = passes[0][0]
    made: dict[int, tuple[int, float]] = {}
    for start, end, count in passes:
        index = int((end - origin) // window_s)
        tokens_so_far, seconds = made.get(index, (0, 0.0))
        made[index] = (tokens_so_far + count, seconds + end - start)
    order = sorted(made)
    rates = [made[index][0] / made[index][1] for index in order]
    last = max(1, round(STEADY_SHARE * len(rates)))
    burst, steady = rates[0], median(rates[-last:])
    above = [place for place, rate in enumerate(rates) if rate >= FALLEN * burst]
    fallen = above[-1] + 1
    pass_rates = [count / (end - start) for start, end, count in passes]
    return Retention(
        passes=len(passes),
        windows=tuple(rates),
        burst=burst,
        steady=steady,
        retained=steady / burst,
        trend=pass_rates[-1] / pass_rates[0] - 1.0,
        to_90_s=order[fallen] * window_s if fallen < len(rates) else None,
    )


def crossover_s(
    t_on: Sequence[float], tokens_on: Sequence[float], t_off: Sequence[float], tokens_off: Sequence[float]
) -> float | None:
    """When the guarded run had made as many tokens as the unguarded one, and stayed ahead; None when it never did.

    Cumulative tokens over seconds from the start of each run, both ascending. Shapes (n,) and (m,).
    """
    if len(t_on) < 2 or len(t_off) < 2:
        return None
    end = min(t_on[-1], t_off[-1])
    grid = np.unique(np.concatenate((np.asarray(t_on), np.asarray(t_off))))
    grid = grid[(grid > 0) & (grid <= end)]
    if grid.size == 0:
        return None
    ahead = np.interp(grid, t_on, tokens_on) - np.interp(grid, t_off, tokens_off)
    behind = np.flatnonzero(ahead < 0)
    if behind.size == 0:
        return float(grid[0])
    last = int(behind[-1])
    if last + 1 >= grid.size:
        return None
    share = -ahead[last] / (ahead[last + 1] - ahead[last])
    return float(grid[last] + share * (grid[last + 1] - grid[last]))
