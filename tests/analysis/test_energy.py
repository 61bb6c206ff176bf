"""Energy: closed ends, gaps that are not bridged, coverage, and gauges that do not move."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.analysis.energy import (
    EndRule,
    GaugeFlag,
    entity_pass_power_w,
    gauge,
    integrate,
    measure,
    trace,
)
from tests.fixtures.tools import need_shared

PERIOD = 0.15


def steady(watts: float, start: float, end: float, period: float = PERIOD) -> tuple[list[float], list[float]]:
    times = list(np.arange(start, end + 1e-9, period))
    return times, [watts + 0.01 * (index % 3) for index in range(len(times))]


def test_constant_power_is_power_times_seconds() -> None:
    times = list(np.arange(-1.0, 11.0, PERIOD))
    found = measure(trace(times, [3.0] * len(times)), 0.0, 10.0, charging=False)
    assert found.energy_j == pytest.approx(30.0)
    assert found.coverage == pytest.approx(1.0)
    assert found.mean_w == pytest.approx(3.0)


def test_a_ramp_is_interpolated_at_both_ends() -> None:
    times = [-0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.1]
    found = integrate(trace(times, [1 + t for t in times]), 0.0, 1.0)
    assert found.energy_j == pytest.approx(1.5)


def test_open_ends_leave_out_what_closed_ends_count() -> None:
    times, watts = steady(3.0, 0.1, 9.9)
    power = trace(times, watts)
    opened = integrate(power, 0.0, 10.0, ends=EndRule.OPEN)
    closed = integrate(power, 0.0, 10.0)
    assert opened.energy_j is not None
    assert closed.energy_j is not None
    assert opened.energy_j < closed.energy_j
    assert opened.coverage < closed.coverage == pytest.approx(1.0)


def test_a_gap_of_more_than_three_periods_is_not_bridged() -> None:
    times, watts = steady(3.0, 0.0, 10.0)
    kept = [(t, w) for t, w in zip(times, watts, strict=True) if not 4.0 < t < 4.45]
    assert integrate(trace(*zip(*kept, strict=True)), 0.0, 10.0).gaps == 1
    narrower = [(t, w) for t, w in zip(times, watts, strict=True) if not 4.0 < t < 4.3]
    assert integrate(trace(*zip(*narrower, strict=True)), 0.0, 10.0).gaps == 0


def test_coverage_below_95_percent_is_no_energy_with_the_reason() -> None:
    times, watts = steady(3.0, 0.0, 10.0)
    kept = [(t, w) for t, w in zip(times, watts, strict=True) if not 4.0 < t < 4.9]
    found = measure(trace(*zip(*kept, strict=True)), 0.0, 10.0, charging=False)
    assert found.energy_j is None
    assert "coverage" in found.reason


def test_a_charging_phone_has_no_energy() -> None:
    found = measure(trace(*steady(3.0, 0.0, 10.0)), 0.0, 10.0, charging=True)
    assert found.energy_j is None
    assert found.reason == "charging"


@pytest.mark.parametrize("watts", [0.001, 4000.0])
def test_an_impossible_power_is_refused_at_the_source(watts: float) -> None:
    times = list(np.arange(0.0, 10.1, PERIOD))
    assert measure(trace(times, [watts] * len(times)), 0.0, 10.0, charging=False).reason == "power_implausible"


def test_unusable_and_repeated_readings_are_dropped_and_counted() -> None:
    power = trace([2.0, 0.0, 1.0, 1.0, None, 3.0], [3.0, 3.0, 3.0, 9.0, 3.0, None])
    assert list(power.t_s) == [0.0, 1.0, 2.0]
    assert list(power.watts) == [3.0, 3.0, 3.0]
    assert power.discarded == 3


def test_the_sign_of_a_gauge_does_not_matter() -> None:
    assert list(trace([0.0, 1.0], [-2.0, 2.0]).watts) == [2.0, 2.0]


def test_a_gauge_that_never_moved_is_static() -> None:
    times = np.arange(0.0, 10.0, PERIOD)
    assert gauge(times, np.full(times.size, 2.0), 10.0) == (GaugeFlag.STATIC, None)


def test_a_gauge_slower_than_a_quarter_of_the_cell_is_slow() -> None:
    times = np.arange(0.0, 10.0, PERIOD)
    flag, refresh = gauge(times, np.floor(times / 4.0), 10.0)
    assert flag is GaugeFlag.SLOW
    assert refresh == pytest.approx(4.0, abs=0.2)


def test_a_gauge_that_refreshes_every_second_is_fine() -> None:
    times = np.arange(0.0, 10.0, PERIOD)
    flag, refresh = gauge(times, np.floor(times), 10.0)
    assert flag is GaugeFlag.FINE
    assert refresh == pytest.approx(1.0, abs=0.1)


def test_the_stored_spans_of_frozen_gauges_are_flagged() -> None:
    path = need_shared("seed_data", "entity", "bench_exports", "stale_gauge_spans.csv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        first, last, count = int(row["first_elapsed_ms"]), int(row["last_elapsed_ms"]), int(row["samples"])
        times = np.linspace(first / 1000, last / 1000, count)
        assert gauge(times, np.full(count, float(row["power_w"])), (last - first) / 1000)[0] is GaugeFlag.STATIC


def test_the_two_seed_phones_gauges_differ_in_their_refresh() -> None:
    path: Path = need_shared("seed_data", "entity", "bench_exports", "power_trace_heads.csv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    traces: dict[str, list[tuple[float, float]]] = {}
    for row in csv.DictReader(lines):
        traces.setdefault(row["trace"], []).append((float(row["elapsed_ms"]) / 1000, float(row["power_w"])))
    found = {}
    for name, points in traces.items():
        times, watts = (np.array(column) for column in zip(*points, strict=True))
        found[name] = gauge(times, watts, float(times[-1] - times[0]))
    cmf = found["cmf_20260718_naive_p1"]
    assert cmf[0] is GaugeFlag.FINE
    assert cmf[1] == pytest.approx(0.62, abs=0.05)
    oppo = next(value for name, value in found.items() if "oppo" in name)
    assert oppo[0] in (GaugeFlag.SLOW, GaugeFlag.STATIC)


def test_entitys_watts_leave_out_readings_of_zero() -> None:
    assert entity_pass_power_w([0.0, 2.0, 4.0]) == pytest.approx(3.0)
    assert entity_pass_power_w([0.0]) is None


@given(
    st.lists(st.tuples(st.floats(0.01, 0.4), st.floats(0.5, 9.0)), min_size=4, max_size=60),
    st.floats(0.5, 3.0),
    st.floats(0.5, 3.0),
)
def test_energy_adds_up_over_a_split_window(steps: list[tuple[float, float]], left: float, right: float) -> None:
    times, watts, at = [], [], 0.0
    for step, power in steps:
        at += step
        times.append(at)
        watts.append(power)
    power_trace = trace(times, watts)
    start, end = times[0], times[-1]
    middle = start + (end - start) * left / (left + right)
    whole = integrate(power_trace, start, end)
    parts = [integrate(power_trace, start, middle), integrate(power_trace, middle, end)]
    assert whole.energy_j is not None
    total = sum(part.energy_j or 0.0 for part in parts)
    assert total == pytest.approx(whole.energy_j, rel=1e-6, abs=1e-6)


@given(st.lists(st.tuples(st.floats(-1, 12), st.floats(0, 20)), max_size=40))
def test_no_reading_makes_energy_negative_or_coverage_more_than_whole(points: list[tuple[float, float]]) -> None:
    found = integrate(trace([t for t, _ in points], [w for _, w in points]), 0.0, 10.0)
    assert found.coverage <= 1.0 + 1e-9
    assert found.energy_j is None or found.energy_j >= 0.0
