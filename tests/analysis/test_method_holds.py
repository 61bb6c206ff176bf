"""The simulation that defends the method: its own arithmetic, and a small run of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.drift_model import FULL_ARMS, Effects, block_order, grouped_order, rates, session_rows
from benchmarks.statistics import FULL, NULL, Scenario, lower_mean_bound, run, upper_bound
from entity_tui.analysis.verdict import Verdict


@pytest.mark.parametrize(("hits", "trials"), [(0, 2000), (1, 2000), (17, 2000), (40, 2000), (3, 10), (9, 10)])
def test_the_upper_bound_is_clopper_and_pearsons(hits: int, trials: int) -> None:
    assert upper_bound(hits, trials) == pytest.approx(stats.beta.ppf(0.95, hits + 1, trials - hits), abs=1e-6)


def test_every_session_wrong_has_no_bound_below_one() -> None:
    assert upper_bound(10, 10) == 1.0


def test_the_lower_bound_of_a_mean_uses_sessions_not_intervals() -> None:
    assert lower_mean_bound([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert lower_mean_bound([0.0, 1.0] * 200) == pytest.approx(0.459, abs=0.002)


def test_the_phone_loses_eight_percent_and_stalls_now_and_then() -> None:
    generator = np.random.default_rng(5)
    cells = np.array([rates(["naive"] * 40, NULL, generator) for _ in range(400)])
    lost = np.median(cells[:, -1]) / np.median(cells[:, 0]) - 1.0
    assert lost == pytest.approx(-0.08, abs=0.01)
    neighbours = (cells[:, :-2] + cells[:, 2:]) / 2
    stalled = np.mean(cells[:, 1:-1] < 0.92 * neighbours)
    assert stalled == pytest.approx(0.03, abs=0.012)


def test_a_block_holds_every_arm_once_in_a_drawn_order() -> None:
    order = block_order(FULL_ARMS, 8, np.random.default_rng(1))
    for block in range(1, 9):
        assert sorted(arm for number, _, arm in order if number == block) == sorted(FULL_ARMS)
    assert len({tuple(arm for number, _, arm in order if number == block) for block in range(1, 9)}) > 1
    grouped = [arm for _, _, arm in grouped_order(FULL_ARMS, 3)]
    assert grouped == [arm for arm in FULL_ARMS for _ in range(3)]


def test_simulated_rows_say_so() -> None:
    order = block_order(FULL_ARMS, 2, np.random.default_rng(1))
    assert all(row.simulated for row in session_rows(order, [10.0] * len(order), "s"))


def test_null_sessions_rarely_end_in_a_direction_and_large_effects_usually_do() -> None:
    null = run(Scenario("full", FULL_ARMS, 8, FULL, NULL), 60, 3)
    assert null.any_false <= 3
    assert null.grouped_any > 15
    large = run(Scenario("full", FULL_ARMS, 8, FULL, Effects("large", {"optimized": 1.1})), 40, 4)
    words = (large.words or {})["naive→optimized"]
    assert words.get(Verdict.FASTER, 0) >= 24
