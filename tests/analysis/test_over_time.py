"""Drift, retention, crossover, the observer's cost, replication and the price of a decision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entity_tui.analysis.comparison import Comparison, Rules
from entity_tui.analysis.diagnostics import diagnose, sentences
from entity_tui.analysis.observer import observer_cost
from entity_tui.analysis.paired import estimate
from entity_tui.analysis.power import blocks_for_difference, blocks_for_equivalence, blocks_to_settle
from entity_tui.analysis.session import analyse
from entity_tui.analysis.sessions import replicate
from entity_tui.analysis.sustained import crossover_s, retention
from entity_tui.analysis.verdict import Verdict
from entity_tui.records.schema import Row
from tests.analysis.rows import cell, scaled, session

BASE = [10.0, 10.4, 9.8, 10.1, 9.9, 10.2, 10.3, 9.7]
JITTER = [0.002, -0.001, 0.003, -0.002, 0.001, -0.003, 0.0015, -0.0005]
PIN = Comparison("threads_only", "optimized")


def ramp(order: list[str], loss: float) -> list[Row]:
    """Cells in the order given whose speed falls by `loss` from the first to the last."""
    rows = []
    count = len(order)
    seen: dict[str, int] = {}
    for index, arm in enumerate(order):
        seen[arm] = seen.get(arm, 0) + 1
        value = 10.0 * (1.0 - loss * index / (count - 1))
        rows.append(cell(arm, seen[arm], value, position=index % 2 + 1, t_start_boot_s=float(60 * index)))
    return rows


def test_drift_is_found_in_an_interleaved_session() -> None:
    found = diagnose(ramp(["naive", "optimized", "optimized", "naive"] * 5, 0.08))
    assert found.drift == pytest.approx(-0.08, abs=0.01)
    assert not found.grouped


def test_a_grouped_order_says_that_drift_and_arm_cannot_be_told_apart() -> None:
    found = diagnose(ramp(["naive"] * 6 + ["optimized"] * 6, 0.08))
    assert found.grouped
    assert any("cannot be told apart" in line for line in sentences(found))


def test_too_few_cells_have_no_drift() -> None:
    assert diagnose(ramp(["naive", "optimized", "naive"], 0.1)).drift is None


def test_start_temperatures_are_shown_by_arm() -> None:
    rows = [
        cell(arm, block, 10.0, temp_start_c=t) for block in range(1, 5) for arm, t in (("naive", 32.0), ("x", 33.0))
    ]
    found = diagnose(rows)
    assert dict(found.start_temp_c) == {"naive": 32.0, "x": 33.0}
    assert any("32.0 °C (naive) to 33.0 °C (x)" in line for line in sentences(found))


def test_retention_compares_the_first_window_with_the_last_quarter() -> None:
    starts = [10.0 * index for index in range(60)]
    tokens = [100 if start < 120 else 80 for start in starts]
    found = retention(starts, [start + 10.0 for start in starts], tokens)
    assert found is not None
    assert found.burst == pytest.approx(10.0)
    assert found.steady == pytest.approx(8.0)
    assert found.retained == pytest.approx(0.8)
    assert found.trend == pytest.approx(-0.2)
    assert found.to_90_s == pytest.approx(120.0, abs=30.0)


def test_a_rate_that_holds_never_falls_to_90_percent() -> None:
    starts = [10.0 * index for index in range(12)]
    found = retention(starts, [start + 10.0 for start in starts], [100] * 12)
    assert found is not None
    assert found.to_90_s is None
    assert found.retained == pytest.approx(1.0)


def test_a_windows_rate_is_tokens_over_seconds_and_not_a_mean_of_rates() -> None:
    found = retention([0.0, 1.0], [1.0, 11.0], [100, 100])
    assert found is not None
    assert found.burst == pytest.approx(200 / 11)


def test_no_passes_have_no_retention() -> None:
    assert retention([], [], []) is None
    assert retention([0.0], [0.0], [5]) is None


def test_the_crossover_is_where_the_guarded_run_overtakes_for_good() -> None:
    seconds = list(range(0, 601, 10))
    guarded = [9.0 * t for t in seconds]
    unguarded = [10.0 * min(t, 200) + 6.0 * max(0, t - 200) for t in seconds]
    found = crossover_s(seconds, guarded, seconds, unguarded)
    assert found == pytest.approx(800 / 3, abs=0.5)


def test_no_crossover_in_ten_minutes_is_none() -> None:
    seconds = list(range(0, 601, 10))
    assert crossover_s(seconds, [9.0 * t for t in seconds], seconds, [10.0 * t for t in seconds]) is None


def test_the_observers_cost_is_inside_its_margin_or_not() -> None:
    bare = {block: [100.0 + block] for block in range(24)}
    cheap = {block: [(100.0 + block) * (0.998 + 0.0001 * (block % 5))] for block in range(24)}
    dear = {block: [(100.0 + block) * (0.917 + 0.001 * (block % 5))] for block in range(24)}
    found, other = observer_cost(bare, cheap), observer_cost(bare, dear)
    assert found is not None
    assert other is not None
    assert found.within is True
    assert other.within is False
    assert other.block_pct.median == pytest.approx(-8.1, abs=0.1)
    assert observer_cost(bare, {}) is None


def test_replication_counts_sessions_and_never_pools() -> None:
    analyses = []
    for number, ratio in enumerate((1.2, 1.18, 1.0)):
        rows = session({"threads_only": BASE, "optimized": scaled(BASE, ratio, JITTER)}, session_id=f"s{number}")
        analyses.append(analyse(rows, [PIN]))
    (found,) = replicate(analyses)
    assert found.word is Verdict.FASTER
    assert found.replicated == 2
    assert found.verdicts[2] is Verdict.EQUIVALENT
    assert found.spread == pytest.approx(1.2, abs=0.01)
    assert "replicated in 2 of 3 (faster)" in found.sentence


def test_no_agreement_replicates_nothing() -> None:
    analyses = []
    for number, ratio in enumerate((1.2, 0.8)):
        rows = session({"threads_only": BASE, "optimized": scaled(BASE, ratio, JITTER)}, session_id=f"s{number}")
        analyses.append(analyse(rows, [PIN]))
    (found,) = replicate(analyses)
    assert found.word is Verdict.UNDECIDED
    assert found.replicated == 0
    assert replicate([]) == ()


def test_more_blocks_are_needed_for_smaller_effects_and_wider_spreads() -> None:
    assert blocks_for_difference(0.02, 0.02, 0.05) > blocks_for_difference(0.04, 0.02, 0.05)
    assert blocks_for_difference(0.02, 0.04, 0.05) > blocks_for_difference(0.02, 0.02, 0.05)
    assert blocks_for_difference(0.0, 0.02, 0.05) == math.inf
    assert blocks_for_equivalence(0.06, 0.02, 0.05, 0.05) == math.inf


def test_the_blocks_named_really_settle_it() -> None:
    generator = np.random.default_rng(11)
    rules = Rules()
    effect, spread = math.log(1.03), 0.025
    blocks = math.ceil(blocks_for_difference(effect, spread, rules.alpha))
    decided = 0
    for _ in range(300):
        found = estimate(list(effect + spread * generator.standard_normal(blocks)))
        assert found is not None
        decided += found.p <= rules.alpha
    assert decided / 300 == pytest.approx(0.8, abs=0.09)


def test_a_question_nothing_would_settle_has_no_number() -> None:
    found = estimate([0.06 * (-1) ** index * (1 + index / 10) + math.log1p(0.05) for index in range(8)])
    assert found is not None
    settled = blocks_to_settle(found, Rules(), 1)
    assert settled is None or settled > 8
