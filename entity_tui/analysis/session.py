"""One session analysed: every declared comparison judged with its A/A check, factors, outcomes and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.analysis.diagnostics import Diagnostics, diagnose
from entity_tui.analysis.factors import Factors, factors
from entity_tui.analysis.paired import PairedEstimate, Pairs, estimate, pair
from entity_tui.analysis.placement_check import check_placement
from entity_tui.analysis.predicates import Excluded, exclude, exclusions, outcomes
from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import contributes
from entity_tui.analysis.verdict import Judgement, explore, judge
from entity_tui.errors import UsageError
from entity_tui.records.schema import Metric, Role, Row

AA_BASELINE, AA_COPY = "naive", "naive_aa"

EXPLORED_METRICS = (Metric.PROMPT_TOK_S, Metric.TTFT_DERIVED_MS, Metric.DECODE_POWER_W, Metric.TOKEN_ENERGY_J)
"""Metrics every pair of declared arms is also shown on, dimmed."""


@dataclass(frozen=True, slots=True)
class AACheck:
    """The same arm against itself: what this session calls a difference when there is none."""

    estimate: PairedEstimate | None
    differs: bool

    @property
    def against(self) -> str:
        """Why every verdict of the session is taken away; empty when the check holds."""
        if not self.differs or self.estimate is None:
            return ""
        return f"the A/A check differs: the same arm twice reads ×{self.estimate.ratio:.3f} in all blocks"


@dataclass(frozen=True, slots=True)
class SessionAnalysis:
    """Everything a reader of one session gets, a pure function of its rows and its plan."""

    rules: Rules
    judgements: tuple[Judgement, ...]
    explored: tuple[Judgement, ...]
    pairs: tuple[Pairs, ...]
    aa: AACheck | None
    """The A/A check on the metric of the first declared comparison; each comparison is held to that of its own."""
    factors: Factors
    diagnostics: Diagnostics
    summaries: tuple[tuple[str, str, Summary], ...]
    """(arm, metric, summary) in the order of the rows."""
    outcomes: dict[str, dict[str, int]]
    excluded: tuple[Excluded, ...]

    def judgement(self, baseline: str, treatment: str) -> Judgement:
        """The judgement of a declared comparison. KeyError when the plan did not declare it."""
        for found in self.judgements:
            if (found.comparison.baseline, found.comparison.treatment) == (baseline, treatment):
                return found
        raise KeyError(f"{baseline}→{treatment}")


def analyse(
    rows: Sequence[Row],
    comparisons: Sequence[Comparison] = (),
    rules: Rules | None = None,
    predicates: Sequence[str] = (),
) -> SessionAnalysis:
    """Analyse the rows of one session.

    Raises UsageError when the rows come from more than one session, or from more than one boot: blocks are never
    pooled. Runs of several sessions are analysed one by one (`sessions.replicate`).
    """
    rules = rules or Rules()
    if len({row.session_id for row in rows}) > 1:
        raise UsageError(
            "rows of different sessions are not analysed together",
            fix="analyse each session, then compare the verdicts",
        )
    rows = exclude(rows, predicates)
    checked = {
        metric: aa_check(rows, rules, metric) for metric in (Metric.DECODE_TOK_S, *(c.metric for c in comparisons))
    }
    pairs = tuple(pair(rows, comparison) for comparison in comparisons)
    checks = [check_placement(rows, comparison) for comparison in comparisons]
    void = {one: check.void for one, check in zip(comparisons, checks, strict=True) if check.void}
    against = {
        one: check.against or _against(checked[one.metric]) for one, check in zip(comparisons, checks, strict=True)
    }
    found = [(one, estimate(paired.log_ratios, rules.alpha)) for one, paired in zip(comparisons, pairs, strict=True)]
    return SessionAnalysis(
        rules=rules,
        judgements=judge(found, rules, against={one: why for one, why in against.items() if why}, void=void),
        explored=_explored(rows, comparisons, rules),
        pairs=pairs,
        aa=checked[comparisons[0].metric if comparisons else Metric.DECODE_TOK_S],
        factors=factors(rows, alpha=rules.alpha),
        diagnostics=diagnose(rows),
        summaries=_summaries(rows),
        outcomes=outcomes(rows),
        excluded=exclusions(rows),
    )


def _against(check: AACheck | None) -> str:
    return check.against if check is not None else ""


def aa_check(rows: Sequence[Row], rules: Rules, metric: str = Metric.DECODE_TOK_S) -> AACheck | None:
    """The A/A check on a metric; None where the plan has no second copy of its control."""
    copies = aa_arms(rows)
    if copies is None:
        return None
    comparison = Comparison(*copies, metric, Axis.NOTHING)
    found = estimate(pair(rows, comparison).log_ratios, rules.alpha)
    return AACheck(found, found is not None and found.excludes_one)


def aa_arms(rows: Sequence[Row]) -> tuple[str, str] | None:
    """(control, its second copy): naive and naive_aa, else the arm of the role `aa` and the one with its cell key."""
    names = {row.arm for row in rows}
    if AA_COPY in names:
        return AA_BASELINE, AA_COPY
    keys = {row.arm: row.cell_key for row in rows if row.arm and row.cell_key and row.role != Role.WARMUP}
    for copy in dict.fromkeys(row.arm for row in rows if row.role == Role.AA and row.arm):
        for arm, key in keys.items():
            if arm != copy and key == keys.get(copy):
                return arm, copy
    return None


def _explored(rows: Sequence[Row], comparisons: Sequence[Comparison], rules: Rules) -> tuple[Judgement, ...]:
    declared = {(one.baseline, one.treatment, one.metric) for one in comparisons}
    present = {row.metric for row in rows if contributes(row)}
    wanted = [
        Comparison(one.baseline, one.treatment, metric, one.axis)
        for one in comparisons
        for metric in EXPLORED_METRICS
        if metric in present and (one.baseline, one.treatment, metric) not in declared
    ]
    return explore([(one, estimate(pair(rows, one).log_ratios, rules.alpha)) for one in dict.fromkeys(wanted)])


def _summaries(rows: Sequence[Row]) -> tuple[tuple[str, str, Summary], ...]:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if contributes(row) and row.arm and row.value is not None:
            values.setdefault((row.arm, row.metric), []).append(row.value)
    found = ((arm, metric, summarise(numbers)) for (arm, metric), numbers in values.items())
    return tuple((arm, metric, summary) for arm, metric, summary in found if summary is not None)
