"""What the instrument costs: the same arm with and without it, block by block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from entity_tui.analysis.paired import PairedEstimate, estimate
from entity_tui.analysis.summary import Summary, median, summarise


@dataclass(frozen=True, slots=True)
class ObserverCost:
    """The change an instrument makes, treatment over bare.

    `block_pct` summarises 100·(median with − median bare)/median bare by block, LITTLETai's figure; `paired` is the
    exact paired estimate; `within` says whether its whole interval lies inside ±`margin`, None without an interval.
    """

    block_pct: Summary
    paired: PairedEstimate
    margin: float
    within: bool | None


def observer_cost(
    bare: Mapping[int, Sequence[float]],
    observed: Mapping[int, Sequence[float]],
    *,
    margin: float = 0.01,
    alpha: float = 0.05,
) -> ObserverCost | None:
    """The cost over the blocks that hold both. Rates by block number; None when no block does."""
    blocks = [block for block in sorted(bare) if bare[block] and observed.get(block)]
    pairs = [(median(bare[block]), median(observed[block])) for block in blocks]
    deltas = summarise([100.0 * (with_it - without) / without for without, with_it in pairs])
    paired = estimate([math.log(with_it) - math.log(without) for without, with_it in pairs], alpha)
    if deltas is None or paired is None:
        return None
    within = None
    if paired.low is not None and paired.high is not None:
        within = paired.low >= 1.0 - margin and paired.high <= 1.0 + margin
    return ObserverCost(deltas, paired, margin, within)
