"""Attribution: the way from naive to optimized split into single changes that multiply to the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.analysis.paired import PairedEstimate, estimate, pair
from entity_tui.analysis.placement_check import check_placement
from entity_tui.analysis.summary import median
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Metric, Row

STEPS: tuple[tuple[str, str, str, Axis], ...] = (
    ("thread count", "naive", "threads_only", Axis.THREADS),
    ("placement", "threads_only", "optimized", Axis.PLACEMENT),
)
"""The single changes from naive to optimized, each between two arms that differ in nothing else."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One change. `median_ratio` is the ratio of the arms' medians; the medians' ratios multiply to the total exactly.

    `estimate` is the paired one with its interval; it is what a verdict rests on. A void factor has neither.
    """

    label: str
    comparison: Comparison
    median_ratio: float | None
    estimate: PairedEstimate | None
    void: str = ""

    @property
    def log_length(self) -> float | None:
        """The bar's length on a log axis, from the median ratio."""
        return math.log(self.median_ratio) if self.median_ratio else None


@dataclass(frozen=True, slots=True)
class Factors:
    """The decomposition of one metric; `steps` is empty where the arms do not allow one, and `note` says why."""

    metric: str
    steps: tuple[Factor, ...]
    total: Factor | None
    note: str = ""

    @property
    def shares(self) -> tuple[float, ...]:
        """Each step's share of the total on the log scale; empty where the total is no change or a step is missing."""
        lengths = [step.log_length for step in self.steps]
        whole = self.total.log_length if self.total else None
        if not whole or not lengths or any(length is None for length in lengths):
            return ()
        return tuple(length / whole for length in lengths if length is not None)

    @property
    def remainder(self) -> float | None:
        """The paired total over the product of the paired steps: 1 is a perfect fit, it differs as estimates do."""
        if self.total is None or self.total.estimate is None or not self.steps:
            return None
        product = 1.0
        for step in self.steps:
            if step.estimate is None:
                return None
            product *= step.estimate.ratio
        return self.total.estimate.ratio / product


def factors(
    rows: Sequence[Row],
    *,
    metric: str = Metric.DECODE_TOK_S,
    alpha: float = 0.05,
) -> Factors:
    """The factors of a session's rows; a step whose arms ran the same thing is void, declared or not.

    A two-arm run cannot attribute anything, and says so.
    """
    medians = _medians(rows, metric)
    if not {"naive", "optimized"} <= medians.keys():
        return Factors(metric, (), None, "no factors: they need the arms naive and optimized")
    total = _factor(rows, ("total", "naive", "optimized", Axis.PLACEMENT), metric, alpha, medians)
    if "threads_only" not in medians:
        return Factors(
            metric, (), total, "naive against optimized alone cannot say what earned the difference: run threads_only"
        )
    steps = tuple(_factor(rows, step, metric, alpha, medians) for step in STEPS)
    return Factors(metric, steps, total)


def _medians(rows: Sequence[Row], metric: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.metric == metric and contributes(row) and row.value is not None and row.value > 0:
            values.setdefault(row.arm or "", []).append(row.value)
    return {arm: median(found) for arm, found in values.items()}


def _factor(
    rows: Sequence[Row],
    step: tuple[str, str, str, Axis],
    metric: str,
    alpha: float,
    medians: Mapping[str, float],
) -> Factor:
    label, baseline, treatment, axis = step
    comparison = Comparison(baseline, treatment, metric, axis)
    void = check_placement(rows, comparison).void
    if void:
        return Factor(label, comparison, None, None, void)
    found = estimate(pair(rows, comparison).log_ratios, alpha)
    return Factor(label, comparison, medians[treatment] / medians[baseline], found)
