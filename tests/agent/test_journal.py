"""The journal: whole lines count, cut ones never happened, and pieces give the same as the whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.records.journal import (
    CellEvent,
    EventKind,
    GateOutcome,
    JournalReader,
    JournalVersionError,
    parse_journal,
    parse_line,
)

JOURNAL = b"""1 100.01 run_start version=1 session=s1 plan_hash=h boot_id=b pid=42 start=99 shell=mksh \
detail=0::/a;1:cpu:/ ;
2 100.02 cell_start n=3 attempt=1 key=k arm=optimized block=1 pos=2 role=measure reserve=0 ;
3 105.00 beat n=3 attempt=1 phase=gate waited=500 temp=38.100 blocked=temp ;
4 115.10 gate n=3 attempt=1 outcome=passed run=1 wait=15.08 temp=37.400 status=0 blocked=- tainted=0 \
foreign=- detail=dumpsys battery ;
5 115.20 launch n=3 attempt=1 phase=decode pid=77 start=11520 mask=f0 threads=4 ;
6 130.00 launch_end n=3 attempt=1 phase=decode state=ok code=0 from=115.20 to=129.98 mask=f0 applied=f0 mask_ok=1 \
threads=4 seen=4 moves=7 moves_by=sched cpu=4:900,5:880 temp_first=37.400 temp_max=39.000 own=3 total=5600 \
readback=77:f0:900:1:4:2,78:f0:880:1:5:-,79:f0:0:0:6:5 stable=yes detail= ;
7 130.20 cell n=3 attempt=1 key=k arm=optimized block=1 pos=2 role=measure state=ok gate=passed tainted=0 temp=37.400 \
foreign=812:llama-server dir=cells/3.1 detail= ;
8 130.21 done reason=end ;
"""


def test_a_cell_carries_its_gate_and_its_launches() -> None:
    events = parse_journal(JOURNAL)
    assert [event.kind for event in events][-2:] == [EventKind.CELL, EventKind.DONE]
    cell = events[-2]
    assert isinstance(cell, CellEvent)
    assert (cell.cell, cell.key, cell.arm, cell.block, cell.position, cell.state) == (3, "k", "optimized", 1, 2, "ok")
    assert cell.foreign == ("812:llama-server",)
    assert cell.gate is not None
    assert (cell.gate.outcome, cell.gate.wait_s, cell.gate.temp_c) == (GateOutcome.PASSED, 15.08, 37.4)
    assert (cell.gate.temp_source, cell.gate.throttle_status, cell.gate.ran) == ("dumpsys battery", 0, True)
    (launch,) = cell.launches
    assert (launch.mask_requested, launch.mask_applied, launch.mask_ok, launch.threads_seen) == ("f0", "f0", True, 4)
    assert (launch.migrations, launch.migrations_source, launch.cpu_ticks) == (7, "sched", 5600)
    assert launch.cpu_ticks_by_cpu == {4: 900, 5: 880}
    assert [(thread.tid, thread.grew, thread.migrations) for thread in launch.threads] == [
        (77, True, 2),
        (78, True, None),
        (79, False, 5),
    ]
    assert events[0].detail == "0::/a;1:cpu:/"


@given(st.integers(0, len(JOURNAL)))
def test_cut_anywhere_whole_lines_stay_and_the_broken_one_never_happened(length: int) -> None:
    whole = parse_journal(JOURNAL)
    events = parse_journal(JOURNAL[:length])
    assert events == whole[: len(events)]
    assert len(events) in (JOURNAL[:length].count(b"\n"), JOURNAL[:length].count(b"\n") + 1)


@given(st.integers(1, len(JOURNAL) - 1))
def test_a_runner_that_writes_on_behind_a_cut_line_loses_only_that_line(length: int) -> None:
    later = b"1 200.00 run_start version=1 session=s1 plan_hash=h boot_id=b pid=43 start=100 shell=mksh detail= ;\n"
    events = parse_journal(JOURNAL[:length] + b"\n" + later)
    assert events[-1].t_boot_s == 200.0
    assert events[:-1] == parse_journal(JOURNAL)[: len(events) - 1]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=60))
def test_pieces_of_any_size_give_the_same_events(sizes: list[int]) -> None:
    reader = JournalReader()
    found = []
    rest = JOURNAL
    for size in sizes:
        found += reader.feed(rest[:size])
        rest = rest[size:]
    found += reader.feed(rest)
    assert tuple(found) == parse_journal(JOURNAL)
    assert reader.offset == len(JOURNAL)
    assert reader.cut_lines == 0


@given(st.binary(max_size=200))
def test_no_bytes_can_raise(data: bytes) -> None:
    JournalReader().feed(data.replace(b"run_start", b"run") + b"\n")


@given(st.text(max_size=60))
def test_a_line_without_its_end_mark_is_no_line(text: str) -> None:
    assert text.endswith(" ;") or parse_line(text) is None


def test_a_journal_of_another_version_is_refused_as_a_whole() -> None:
    with pytest.raises(JournalVersionError):
        parse_journal(JOURNAL.replace(b"version=1", b"version=2"))


def test_a_gate_that_was_broken_off_has_no_outcome() -> None:
    line = JOURNAL.splitlines()[3].replace(b"outcome=passed", b"outcome=cancelled").replace(b"temp=37.400", b"temp=-")
    (gate,) = parse_journal(line)
    assert gate.outcome is None  # type: ignore[attr-defined]
    assert gate.temp_c is None  # type: ignore[attr-defined]
