"""Graphs never invent a sample: bins, gaps, dashes, axes."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.widgets.graph import Bins, Track, bin_track, braille_rows, dots, limits, nice_range, sparkline
from entity_tui.widgets.ink import text_of


def track(times: list[float], values: list[float]) -> Track:
    """A series."""
    return Track("x", np.array(times, dtype=np.float64), np.array(values, dtype=np.float64))


def test_a_late_sample_is_a_gap() -> None:
    """Four ticks a second, one of them late by three quarters of a second: the columns between are empty."""
    times = [0.0, 0.25, 0.5, 1.5, 1.75]
    bins = bin_track(track(times, [1.0, 2.0, 3.0, 4.0, 5.0]), 0.0, 0.25, 8, 0.25)
    assert [None if math.isnan(v) else v for v in bins.last.tolist()] == [1, 2, 3, 3, None, None, 4, 5]


def test_a_missing_value_is_a_gap() -> None:
    """NaN stays NaN even where a neighbour is known."""
    bins = bin_track(track([0, 1, 2], [1.0, math.nan, 3.0]), 0.0, 1.0, 3, 1.0)
    assert math.isnan(bins.last[1])
    assert math.isnan(bins.low[1])


def test_more_columns_than_samples_hold_the_value_for_one_period_and_a_bit() -> None:
    """A sample is known until the next one is due, not longer."""
    bins = bin_track(track([0.0, 1.0], [1.0, 2.0]), 0.0, 0.25, 12, 1.0)
    known = np.isfinite(bins.last)
    assert known[:8].all()
    assert not known[-1]


def test_a_bin_keeps_its_lowest_and_highest() -> None:
    """A spike between two columns is not averaged away."""
    bins = bin_track(track([0.0, 0.3, 0.6], [1.0, 9.0, 2.0]), 0.0, 1.0, 1, 0.3)
    assert (bins.low[0], bins.high[0], bins.last[0]) == (1.0, 9.0, 2.0)


@given(
    st.lists(st.tuples(st.floats(0, 100), st.one_of(st.floats(-50, 150), st.just(math.nan))), max_size=60),
    st.integers(1, 40),
)
def test_bins_hold_only_values_of_the_samples(points: list[tuple[float, float]], columns: int) -> None:
    """No interpolation and no smoothing: every drawn value was measured."""
    points.sort(key=lambda point: point[0])
    measured = {value for _, value in points}
    bins = bin_track(track([t for t, _ in points], [v for _, v in points]), 0.0, 100 / columns, columns, 1.0)
    for values in (bins.low, bins.high, bins.last):
        assert all(math.isnan(v) or v in measured for v in values.tolist())


@given(st.floats(-100, 1_000), st.floats(0, 500))
def test_a_nice_range_holds_its_values(low: float, extent: float) -> None:
    """Limits are round and outside the data."""
    bottom, top = nice_range(low, low + extent)
    assert bottom <= low
    assert top >= low + extent
    assert top - bottom >= 1.0


def test_a_range_without_values_is_still_a_range() -> None:
    """An empty graph has an axis."""
    nothing = np.full(4, math.nan)
    assert limits([Bins(nothing, nothing, nothing)], least=2.0, floor=0.0) == (0.0, 2.0)


def test_neighbours_are_joined_and_gaps_are_not() -> None:
    """A vertical stroke joins two columns; a gap stays open."""
    values = np.array([0.0, 10.0, math.nan, 10.0])
    grid = dots(Bins(values, values, values), 0.0, 10.0, 8, (1,), 0)
    assert grid[:, 1].sum() == 7
    assert grid[:, 2].sum() == 0
    assert grid[:, 3].sum() == 1


def test_a_dash_leaves_columns_out_and_moves_with_the_data() -> None:
    """The pattern belongs to the moment, not to the screen, so that a scrolling line does not shimmer."""
    values = np.full(8, 5.0)
    bins = Bins(values, values, values)
    first = dots(bins, 0.0, 10.0, 4, (1, 1, 0, 0), 0).any(axis=0).tolist()
    moved = dots(bins, 0.0, 10.0, 4, (1, 1, 0, 0), 1).any(axis=0).tolist()
    assert first == [True, True, False, False] * 2
    assert moved[:-1] == first[1:]


def test_braille_rows_take_their_cells() -> None:
    """Width cells a row, height rows."""
    grid = np.zeros((8, 6), dtype=np.bool_)
    grid[0, 0] = grid[7, 5] = True
    rows = [text_of(row) for row in braille_rows([grid], 3, 2)]
    assert [len(row) for row in rows] == [3, 3]
    assert rows[0][0] == "⠁"
    assert rows[1][2] == "⢀"


def test_a_sparkline_shows_a_gap_as_a_space() -> None:
    """Also in one row."""
    assert sparkline(np.array([1.0, math.nan, 2.0]), 5) == "  ⣀ ⣿"
