"""Samples from the sampler's lines: missing is None, shares come from two readings, cut lines are counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.sample import CpuTimes, SampleParser, busy_pct, parse_cpu_times

HEAD = [
    "entity-sampler 1",
    "info shell=mksh clock=uptime wait=read period_cs=20 pid=7 factor=1",
    "node fast ok freq.policy0",
    "node fast denied cap.policy0",
    "node slow ok load",
    "node slow ok battery.current_now",
    "node slow ok battery.status",
    "node fast ok stat",
    "node slow ok mem",
    "start",
]


def fed(*lines: str) -> SampleParser:
    """A parser that has read the header and `lines`."""
    parser = SampleParser()
    for line in (*HEAD, *lines):
        parser.feed(line)
    return parser


def test_an_empty_value_is_none_and_never_zero() -> None:
    parser = fed("z 0 10.00 5 0|0.50 0.1 0.1 1/2 3|-120|| 123 ")
    sample = parser.feed("s 0 10.01 1 0||")
    assert sample is not None
    assert sample.freq_khz == {"policy0": None}
    assert sample.max_freq_khz == {}
    assert (sample.current_raw, sample.battery_status, sample.mem_available_kb) == (-120, None, 123)
    assert (sample.late_ms, sample.load_1m, sample.plugged) == (10.0, 0.5, None)
    assert sample.outcomes["cap.policy0"] == "denied"


def test_busy_share_is_taken_between_two_ticks_and_survives_a_tick_without_stat() -> None:
    parser = fed()
    parser.feed("s 0 1.00 0 0|1|cpu0 10 0 0 90 0 0 0 0;")
    gap = parser.feed("s 1 1.20 0 0|1|")
    assert gap is not None
    assert gap.cpu_busy_pct == {}
    last = parser.feed("s 2 1.40 0 0|1|cpu0 25 0 0 95 0 0 0 0;cpu1 1 1 1 1 0 0 0 0;")
    assert last is not None
    assert last.cpu_busy_pct == {0: 75.0, 1: None}


def test_the_samplers_own_cost_is_ticks_over_elapsed_time() -> None:
    parser = fed("z 0 100.00 40 0|1|1|x|5", "z 5 101.00 42 0|1|1|x|5")
    sample = parser.feed("s 5 101.00 0 0|1|")
    assert sample is not None
    assert sample.own_cpu_pct == 2.0


def test_a_line_that_was_cut_is_counted_and_gives_no_sample() -> None:
    parser = fed()
    for line in ("s 3 1.0 0", "s 3 1.0 0 0|5", "s x 1.0 0 0|1|", "z 1 2", "node what", "x 5 oops", "?"):
        assert parser.feed(line) is None
    assert parser.rejected == 7


@given(st.text(max_size=80))
def test_no_line_can_raise(line: str) -> None:
    fed().feed(line)


numbers = st.integers(0, 10**9)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8), st.lists(st.tuples(numbers, numbers), max_size=8))
def test_a_share_is_between_0_and_100_or_none(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    shares = busy_pct(
        {cpu: CpuTimes(busy, busy + idle) for cpu, (busy, idle) in enumerate(before)},
        {cpu: CpuTimes(busy, busy + idle) for cpu, (busy, idle) in enumerate(after)},
    )
    assert set(shares) == set(range(len(after)))
    assert all(share is None or 0.0 <= share <= 100.0 for share in shares.values())


def test_an_offline_cpu_and_a_damaged_line_are_left_out() -> None:
    times = parse_cpu_times("cpu 1 1 1 1\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu2 1 x 3 4\ncpu3\nintr 5\n")
    assert times == {0: CpuTimes(busy=1 + 2 + 3 + 6 + 7 + 8, total=36)}
