"""Two arms of the same blocks, paired: log-ratios, their centre, their exact interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entity_tui.analysis.comparison import Comparison
from entity_tui.analysis.predicates import failed_by_the_arm
from entity_tui.analysis.signed_rank import exact_p, hodges_lehmann, interval, widest_interval
from entity_tui.analysis.summary import median
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Row

FAILED_LOG_RATIO = math.log(1e6)
"""The log-ratio of a block in which one arm failed and the other did not: the worst rank, whatever the others are."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The blocks of one comparison that hold both arms, in the order of the blocks."""

    comparison: Comparison
    blocks: tuple[int, ...]
    log_ratios: tuple[float, ...]
    baseline_failed: int = 0
    treatment_failed: int = 0
    """Blocks in which that arm alone ended without a number through its own doing; they count, as the worst rank."""
    incomplete: int = 0
    """Blocks that hold a cell of either arm but not a usable pair."""


@dataclass(frozen=True, slots=True)
class PairedEstimate:
    """What n paired log-ratios say. Ratios are treatment over baseline; ends are None where there is no interval.

    An end beyond every measurable ratio (a failed arm) is None too and printed as unbounded.
    """

    n: int
    ratio: float
    low: float | None
    high: float | None
    coverage: float | None
    p: float
    widest_low: float | None
    widest_high: float | None
    widest_coverage: float | None
    spread: float
    """Population SD of the log-ratios, what more blocks would average away."""

    @property
    def change(self) -> float:
        """The estimate as a fraction: 0.21 is 21 % more."""
        return self.ratio - 1.0

    @property
    def excludes_one(self) -> bool:
        """True when the widest exact interval lies on one side of no change."""
        if self.widest_coverage is None:
            return False
        return (self.widest_low is not None and self.widest_low > 1.0) or (
            self.widest_high is not None and self.widest_high < 1.0
        )


def pair(rows: Sequence[Row], comparison: Comparison) -> Pairs:
    """Pair the two arms of a comparison by block.

    A block's value for an arm is the median of its contributing rows (one, unless a plan repeats an arm in a block).
    Rates must be positive; rows without a block are left out.
    """
    values: dict[tuple[int, str], list[float]] = {}
    failed: set[tuple[int, str]] = set()
    seen: set[int] = set()
    wanted = {comparison.baseline, comparison.treatment}
    for row in rows:
        if row.arm not in wanted or row.block is None:
            continue
        if failed_by_the_arm(row) and not row.excluded_by:
            failed.add((row.block, row.arm))
            seen.add(row.block)
        elif row.metric == comparison.metric and row.role != "warmup":
            seen.add(row.block)
            if contributes(row) and row.value is not None and row.value > 0:
                values.setdefault((row.block, row.arm), []).append(row.value)
    blocks: list[int] = []
    ratios: list[float] = []
    lost = {comparison.baseline: 0, comparison.treatment: 0}
    for block in sorted(seen):
        first, second = (block, comparison.baseline), (block, comparison.treatment)
        one, two = values.get(first), values.get(second)
        if one and two:
            ratio = math.log(median(two)) - math.log(median(one))
        elif one and second in failed:
            ratio = -FAILED_LOG_RATIO
            lost[comparison.treatment] += 1
        elif two and first in failed:
            ratio = FAILED_LOG_RATIO
            lost[comparison.baseline] += 1
        else:
            continue
        blocks.append(block)
        ratios.append(ratio)
    return Pairs(
        comparison,
        tuple(blocks),
        tuple(ratios),
        lost[comparison.baseline],
        lost[comparison.treatment],
        len(seen) - len(blocks),
    )


def _bounded(log_ratio: float) -> float | None:
    return math.exp(log_ratio) if abs(log_ratio) < FAILED_LOG_RATIO / 4 else None


def estimate(log_ratios: Sequence[float], alpha: float = 0.05) -> PairedEstimate | None:
    """The estimate of paired log-ratios, None without any. Below six pairs it has no interval."""
    n = len(log_ratios)
    if n == 0:
        return None
    usual, widest = interval(log_ratios, alpha), widest_interval(log_ratios)
    return PairedEstimate(
        n=n,
        ratio=math.exp(hodges_lehmann(log_ratios)),
        low=_bounded(usual.low) if usual else None,
        high=_bounded(usual.high) if usual else None,
        coverage=usual.coverage if usual else None,
        p=exact_p(log_ratios),
        widest_low=_bounded(widest.low) if widest else None,
        widest_high=_bounded(widest.high) if widest else None,
        widest_coverage=widest.coverage if widest else None,
        spread=float(np.std(np.asarray(log_ratios, dtype=np.float64))),
    )
