"""From estimates to words: the order in which the margins are applied, and what takes a verdict away again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.analysis.comparison import Comparison, Rules
from entity_tui.analysis.paired import PairedEstimate
from entity_tui.analysis.power import blocks_to_settle
from entity_tui.analysis.signed_rank import holm
from entity_tui.records.schema import UNITS, Better


class Verdict(StrEnum):
    """The only words a comparison may end in. `higher` and `lower` are for watts and joules, which have no speed."""

    FASTER = "faster"
    SLOWER = "slower"
    HIGHER = "higher"
    LOWER = "lower"
    DIFFERENT = "different, too small to matter"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    VOID = "void"
    """Both arms ran the same thing, so there is nothing to compare."""
    NONE = "no verdict"
    """Too few blocks for any verdict, or a plan that promises none: ratios only."""


DIRECTIONAL = frozenset({Verdict.FASTER, Verdict.SLOWER, Verdict.HIGHER, Verdict.LOWER})
"""Verdicts that claim a difference worth having."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A comparison with its verdict. `p_adjusted` is Holm's, over the declared comparisons of the session."""

    comparison: Comparison
    estimate: PairedEstimate | None
    p_adjusted: float | None
    verdict: Verdict
    reason: str = ""
    blocks_needed: int | None = None
    """Total blocks that would settle an undecided comparison; None when not asked or beyond reach."""
    declared: bool = True
    fewer_than_planned: bool = False
    """True when the plan asked for more blocks than the estimate rests on: shown with the mark †."""


def judge(
    found: Sequence[tuple[Comparison, PairedEstimate | None]],
    rules: Rules,
    *,
    against: Mapping[Comparison, str] | None = None,
    void: Mapping[Comparison, str] | None = None,
) -> tuple[Judgement, ...]:
    """The judgements of the declared comparisons of one session, in order.

    `against` holds, by comparison, why its verdict is taken away whatever its interval says; `void` why there is
    nothing to compare. A comparison without an estimate takes part in Holm's count, since the plan declared it.
    """
    adjusted = holm([item.p if item is not None else 1.0 for _, item in found])
    needed = rules.needed_blocks(len(found))
    judgements = []
    for (comparison, item), p_adjusted in zip(found, adjusted, strict=True):
        fewer = item is not None and rules.planned_blocks is not None and item.n < rules.planned_blocks
        if void and comparison in void:
            judgements.append(Judgement(comparison, item, None, Verdict.VOID, void[comparison]))
            continue
        if item is None:
            judgements.append(Judgement(comparison, None, None, Verdict.NONE, "no block holds both arms"))
            continue
        if not rules.verdicts or item.coverage is None:
            reason = "fewer than 6 blocks: ratios only" if rules.verdicts else "a descriptive plan: ratios only"
            judgements.append(Judgement(comparison, item, None, Verdict.NONE, reason, fewer_than_planned=fewer))
            continue
        verdict, reason = _word(comparison, item, p_adjusted, rules)
        taken = (against or {}).get(comparison, "")
        if not taken and item.n < needed:
            taken = f"{item.n} usable blocks, the rule for {len(found)} comparisons asks for {needed}"
        if taken:
            verdict, reason = Verdict.UNDECIDED, taken
        more = blocks_to_settle(item, rules, len(found)) if verdict is Verdict.UNDECIDED else None
        judgements.append(Judgement(comparison, item, p_adjusted, verdict, reason, more, fewer_than_planned=fewer))
    return tuple(judgements)


def explore(found: Sequence[tuple[Comparison, PairedEstimate | None]]) -> tuple[Judgement, ...]:
    """Comparisons the plan did not declare: estimates and intervals, no adjusted p and no verdict."""
    return tuple(
        Judgement(comparison, item, None, Verdict.NONE, "exploratory: not declared before the run", declared=False)
        for comparison, item in found
    )


def _word(comparison: Comparison, found: PairedEstimate, p_adjusted: float, rules: Rules) -> tuple[Verdict, str]:
    significant = p_adjusted <= rules.alpha
    if significant and abs(math.log(found.ratio)) >= math.log1p(rules.worth_margin):
        if not 1e-3 < found.ratio < 1e3:
            return Verdict.UNDECIDED, "one arm failed in most blocks, so there is no ratio"
        return direction(comparison.metric, found.ratio > 1.0), ""
    if significant:
        return Verdict.DIFFERENT, ""
    edge = math.log1p(rules.equivalent_margin)
    low, high = found.low, found.high
    if low is not None and high is not None and -edge <= math.log(low) and math.log(high) <= edge:
        return Verdict.EQUIVALENT, ""
    margin = f"±{100 * rules.equivalent_margin:g} %"
    if low is not None and high is not None and low <= 1.0 <= high:
        return Verdict.UNDECIDED, f"the interval holds no change and reaches beyond {margin}"
    return Verdict.UNDECIDED, f"not significant after Holm's adjustment, and the interval reaches beyond {margin}"


def direction(metric: str, larger: bool) -> Verdict:
    """The word for a larger or smaller value of a metric: faster and slower for rates and times, else higher, lower."""
    unit, better = UNITS.get(metric, ("", Better.NEITHER))
    if unit == "tok/s":
        return Verdict.FASTER if larger else Verdict.SLOWER
    if unit == "ms" and better is Better.LOWER:
        return Verdict.SLOWER if larger else Verdict.FASTER
    return Verdict.HIGHER if larger else Verdict.LOWER
