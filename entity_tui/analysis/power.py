"""How many blocks a question costs: what would settle a comparison that came out undecided."""

from __future__ import annotations

import math
from statistics import NormalDist

from entity_tui.analysis.comparison import Rules
from entity_tui.analysis.paired import PairedEstimate

MOST_BLOCKS = 400
"""Beyond this the answer is that no plan of this kind settles it."""

SIGNED_RANK_EFFICIENCY = 3.0 / math.pi
"""Asymptotic efficiency of the signed-rank test against the t-test for normal data."""


def blocks_for_difference(effect_log: float, spread: float, alpha: float, power: float = 0.8) -> float:
    """Blocks with which a true log-ratio `effect_log` is found with probability `power`; inf for no effect."""
    if effect_log == 0.0:
        return math.inf
    return _blocks(spread / abs(effect_log), alpha, power)


def blocks_for_equivalence(effect_log: float, spread: float, margin: float, alpha: float, power: float = 0.8) -> float:
    """Blocks with which the interval falls inside ±margin with probability `power`; inf for an effect outside it."""
    room = math.log1p(margin) - abs(effect_log)
    if room <= 0.0:
        return math.inf
    return _blocks(spread / room, alpha, (1.0 + power) / 2.0)


def _blocks(spread_over_effect: float, alpha: float, power: float) -> float:
    """The normal approximation with Guenther's z²/2 for the spread's own uncertainty (Guenther 1981)."""
    normal = NormalDist()
    edge = normal.inv_cdf(1.0 - alpha / 2.0)
    reach = (edge + normal.inv_cdf(power)) * spread_over_effect
    return reach**2 / SIGNED_RANK_EFFICIENCY + edge**2 / 2.0


def blocks_to_settle(found: PairedEstimate, rules: Rules, declared: int) -> int | None:
    """Total blocks with which the same estimate and spread would be decided with 80 % probability.

    Never fewer than the rule for `declared` comparisons asks for, nor than were used; None beyond MOST_BLOCKS.
    """
    effect = math.log(found.ratio)
    level = rules.alpha / max(declared, 1)
    wanted = min(
        blocks_for_difference(effect, found.spread, level),
        blocks_for_equivalence(effect, found.spread, rules.equivalent_margin, rules.alpha),
    )
    if not math.isfinite(wanted) or wanted > MOST_BLOCKS:
        return None
    return max(math.ceil(wanted), rules.needed_blocks(declared), found.n + 1)
