"""Medians, population SDs and quantiles, against numpy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.analysis.summary import (
    median,
    population_sd,
    quantile,
    seed_summary,
    summarise,
    ttft_derived_ms,
)

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(values, st.floats(0, 1))
def test_they_equal_numpys(found: list[float], fraction: float) -> None:
    assert median(found) == pytest.approx(float(np.median(found)), rel=1e-9, abs=1e-9)
    assert population_sd(found) == pytest.approx(float(np.std(found)), rel=1e-6, abs=1e-6)
    assert quantile(found, fraction) == pytest.approx(float(np.quantile(found, fraction)), rel=1e-9, abs=1e-6)


def test_an_even_count_takes_the_mean_of_the_middle_two() -> None:
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_a_single_pass_has_no_spread() -> None:
    found = summarise([8.5])
    assert found is not None
    assert (found.count, found.sd, found.relative_sd, found.iqr) == (1, None, None, 0.0)


def test_no_values_have_no_summary_and_no_median() -> None:
    assert summarise([]) is None
    for function in (median, population_sd):
        with pytest.raises(ValueError, match="no values"):
            function([])
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_the_seeds_drop_values_that_are_not_positive_first() -> None:
    found = seed_summary([0.0, -1.0, 4.0, 6.0])
    assert found is not None
    assert (found.count, found.median, found.sd) == (2, 5.0, 1.0)


def test_a_derived_ttft_needs_two_positive_rates() -> None:
    assert ttft_derived_ms(101.0, 8.6) == pytest.approx(5185.586, abs=1e-3)
    with pytest.raises(ValueError, match="positive"):
        ttft_derived_ms(0.0, 8.6)


def test_a_list_of_runs_loads_no_numpy() -> None:
    code = "import sys, entity_tui.records.store, entity_tui.records.query; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
