"""simpleperf reports of every format, and nothing that was not counted read as zero."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.analysis.counters import (
    INSTRUCTIONS,
    effective_mhz,
    instructions_per_token,
    parse_counters,
    per_cycle,
    read_bandwidth_gbs,
    traffic_share,
)
from tests.fixtures.tools import need_shared


@pytest.mark.parametrize(
    ("name", "counts", "share", "complete"),
    [
        ("aosp-doc-old-format-100pct.txt", 5, 1.0, False),
        ("old-format-12pct.txt", 6, 0.12, False),
        ("mid-format-runtime-enabled.txt", 2, 1.0, True),
        ("new-format-interval.txt", 6, 1.0, False),
        ("realme-rmx5020-control-tg-t2-a75-simpleperf-b0.txt", 8, 1.0, True),
    ],
)
def test_every_recorded_format_is_read(name: str, counts: int, share: float, complete: bool) -> None:
    found = parse_counters(need_shared("recordings", "android", "simpleperf", name).read_text())
    assert len(found.counts) == counts
    assert found.lowest_share == pytest.approx(share)
    assert found.complete is complete


def test_counts_of_one_core_stay_with_it() -> None:
    name = "realme-rmx5020-control-tg-t2-a75-simpleperf-b0.txt"
    found = parse_counters(need_shared("recordings", "android", "simpleperf", name).read_text())
    assert found.cpus == (6, 7)
    assert found.total("instructions", (6,)) == 179_696_096_000
    assert found.total(INSTRUCTIONS) == 179_696_096_000 + 184_386_817_377
    assert per_cycle(found, INSTRUCTIONS, (6,)) == pytest.approx(1.0, abs=0.01)
    assert traffic_share(found, (6, 7)) == pytest.approx(1.0)
    assert read_bandwidth_gbs(found, 225.0) == pytest.approx(6.37, abs=0.01)
    assert instructions_per_token(found, 2560) == pytest.approx(142.2e6, rel=0.001)


def test_an_event_that_was_not_counted_is_missing_and_not_zero() -> None:
    text = (
        "# cpu count event_name # count / runtime\n 0 <not supported> raw-ll-cache-miss-rd:u #\n 0 5 cpu-cycles:u #\n"
    )
    found = parse_counters(text, ["cpu-cycles:u", "raw-ll-cache-miss-rd:u", "instructions:u"])
    assert found.missing == ("raw-ll-cache-miss-rd:u", "instructions:u")
    assert found.total("raw-ll-cache-miss-rd") is None
    assert instructions_per_token(found, 100) is None
    assert per_cycle(found, INSTRUCTIONS) is None


def test_a_report_without_its_last_line_is_incomplete() -> None:
    assert not parse_counters("  1,000  cpu-cycles  # 1.0 GHz\n").complete


def test_sums_do_not_wrap_at_32_bits() -> None:
    text = "  949,244,217  cpu-cycles  #\n  6,491,805,586  cpu-cycles  #\nTotal test time: 1.0 seconds.\n"
    assert parse_counters(text).total("cpu-cycles") == 7_441_049_803


def test_cycles_over_run_time_check_the_clock() -> None:
    text = "# cpu count event_name # count / runtime\n 6 2,000,000,000 cpu-cycles #\nTotal test time: 1.0 seconds.\n"
    assert effective_mhz(parse_counters(text), {6: 2.0, 7: 1.0}) == {6: 1000.0}


@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_counters(text, ["cpu-cycles"])
