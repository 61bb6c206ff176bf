"""The exact signed-rank test, its inversion and Holm's adjustment, against brute force and scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from entity_tui.analysis.signed_rank import (
    cut,
    exact_p,
    hodges_lehmann,
    holm,
    interval,
    null_cumulative,
    walsh_averages,
    widest_interval,
)

# Multiples of 1/64 add and halve exactly, so that a tie is a tie on every machine.
exact = st.integers(-500, 500).map(lambda n: n / 64)
differences = st.lists(exact, min_size=6, max_size=11)
untied = st.lists(st.integers(1, 4000), min_size=6, max_size=11, unique=True).flatmap(
    lambda sizes: st.tuples(*(st.sampled_from((-size / 64, size / 64)) for size in sizes)).map(list)
)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_null_distribution_equals_every_sign_of_every_rank(n: int) -> None:
    sums = [
        sum(rank for rank, sign in zip(range(1, n + 1), signs, strict=True) if sign)
        for signs in itertools.product((False, True), repeat=n)
    ]
    counted = [sum(value <= w for value in sums) / 2**n for w in range(n * (n + 1) // 2 + 1)]
    assert null_cumulative(n) == pytest.approx(counted)


@given(untied)
def test_p_equals_scipys_exact_p_without_ties(values: list[float]) -> None:
    assert exact_p(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@given(differences)
def test_ties_and_zeros_never_make_p_smaller_than_any_way_of_breaking_them(values: list[float]) -> None:
    nudged = [value + (index + 1) * 2.0**-20 for index, value in enumerate(values)]
    other = [value - (index + 1) * 2.0**-20 for index, value in enumerate(values)]
    assert exact_p(values) >= max(exact_p(nudged), exact_p(other)) - 1e-12


@given(differences)
def test_hodges_lehmann_is_the_median_of_all_pairwise_means(values: list[float]) -> None:
    means = [(a + b) / 2 for index, a in enumerate(values) for b in values[index:]]
    assert hodges_lehmann(values) == pytest.approx(float(np.median(means)))


@given(differences, st.sampled_from((0.05, 0.1, 0.02)))
def test_the_interval_is_exactly_the_set_of_centres_the_test_does_not_reject(values: list[float], alpha: float) -> None:
    found = interval(values, alpha)
    candidates = sorted({float(value) for value in walsh_averages(values)})
    between = [(a + b) / 2 for a, b in itertools.pairwise(candidates)]
    outside = [candidates[0] - 1, candidates[-1] + 1]
    for theta in (*candidates, *between, *outside):
        kept = exact_p(values, theta) > alpha
        if found is None:
            assert kept
        else:
            assert found.holds(theta) is kept


@pytest.mark.parametrize(("n", "usual", "widest"), [(6, 0.969, 0.969), (7, 0.953, 0.984), (8, 0.961, 0.992)])
def test_attained_coverage_is_the_exact_one(n: int, usual: float, widest: float) -> None:
    values = [float(index) for index in range(n)]
    found, wide = interval(values), widest_interval(values)
    assert found is not None
    assert wide is not None
    assert found.coverage == pytest.approx(usual, abs=5e-4)
    assert wide.coverage == pytest.approx(widest, abs=5e-4)
    assert (wide.low, wide.high) == (0.0, float(n - 1))


def test_the_interval_really_covers_at_its_attained_rate() -> None:
    generator = np.random.default_rng(3)
    held = 0
    for _ in range(4000):
        found = interval(list(generator.standard_t(3, 8)))
        assert found is not None
        held += found.holds(0.0)
    assert held / 4000 == pytest.approx(0.9609, abs=0.012)


@pytest.mark.parametrize("n", range(6))
def test_below_six_differences_there_is_no_interval(n: int) -> None:
    assert interval([1.0] * n) is None
    assert widest_interval([1.0] * n) is None


def test_five_differences_cannot_reach_five_percent() -> None:
    assert cut(5, 0.05) == 0
    assert exact_p([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(0.0625)


def test_no_differences_say_nothing() -> None:
    assert exact_p([]) == 1.0
    with pytest.raises(ValueError, match="no differences"):
        hodges_lehmann([])


def test_all_zero_differences_are_never_significant() -> None:
    assert exact_p([0.0] * 8) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_monotone_bounded_and_no_smaller_than_p(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(0 <= a <= 1 for a in adjusted)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert all(adjusted[a] <= adjusted[b] for a, b in itertools.pairwise(order))
    assert max(adjusted) <= min(1.0, len(p_values) * max(p_values)) + 1e-12


def test_holm_on_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@given(untied)
def test_p_is_symmetric(values: list[float]) -> None:
    assert math.isclose(exact_p(values), exact_p([-value for value in values]))
