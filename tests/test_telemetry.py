"""Histories keep order and gaps, whatever arrives."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.logbook import Level, LogBook
from entity_tui.telemetry import RingBuffer, Telemetry

VALUES = st.lists(st.none() | st.floats(-1e6, 1e6), max_size=60)


@given(VALUES, st.integers(1, 16), st.integers(0, 40))
def test_a_window_is_the_newest_values_in_order(values: list[float | None], capacity: int, wanted: int) -> None:
    ring = RingBuffer(capacity)
    for value in values:
        ring.append(value)
    kept = values[-capacity:]
    expected = [math.nan if value is None else value for value in kept[max(0, len(kept) - wanted) :]] if wanted else []
    assert np.array_equal(ring.window(wanted), np.array(expected), equal_nan=True)
    assert len(ring) == min(len(values), capacity)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.floats(-9, 9), max_size=3), max_size=30))
def test_series_advance_together_and_a_missing_value_is_a_gap(ticks: list[dict[str, float | None]]) -> None:
    telemetry = Telemetry(capacity=20)
    for second, values in enumerate(ticks):
        telemetry.append(float(second), values)
    for name in telemetry.names():
        series = telemetry.series(name)
        assert series is not None
        window = series.window(20)
        assert len(window) == min(len(ticks), 20)
        for value, tick in zip(window, ticks[-20:], strict=True):
            wanted = tick.get(name)
            assert math.isnan(value) if wanted is None else value == wanted
    assert telemetry.sequence == len(ticks)


def test_the_log_keeps_numbers_when_old_lines_fall_out() -> None:
    log = LogBook(capacity=3)
    for number in range(5):
        log.add("test", str(number))
    log.warning("test", "look")
    assert [line.text for line in log] == ["3", "4", "look"]
    assert [line.number for line in log] == [4, 5, 6]
    assert log.last_number == 6
    assert log.count(Level.WARNING) == 1
    assert [line.text for line in log.tail(1)] == ["look"]
