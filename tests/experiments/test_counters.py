"""Hardware counters beside a cell: what was not counted is not zero, and what took turns is marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.experiments.counter_rows import counted, counter_rows
from entity_tui.records.schema import Row
from tests.experiments.live_bed import Bench
from tests.experiments.paper_engine import arms
from tests.fixtures.tools import need_shared

OPTIONS = {"counters": "cpu-cycles:u,instructions:u"}
BASE = Row(session_id="s", metric="decode_tok_s", value=10.0)
REPORT = """Performance counter statistics:

# cpu         count  event_name      # percentage = event_run_time / enabled_time
  6   1,000,000,000  cpu-cycles:u    # 1.9 GHz
  6   2,500,000,000  instructions:u  # 2.5 instructions per cycle
  7   1,000,000,000  cpu-cycles:u    # 1.9 GHz
  7   1,500,000,000  instructions:u  # 1.5 instructions per cycle

Total test time: 4.2 seconds.
"""


def metrics(text: str, tokens: int = 100) -> dict[str, Row]:
    return {row.metric: row for row in counter_rows(BASE, text, OPTIONS, tokens)}


def test_without_counters_nothing_changes() -> None:
    assert counted(("/e/llama-bench", "-p", "1"), None) == ("/e/llama-bench", "-p", "1")
    assert counter_rows(BASE, REPORT, None, 100) == ()


def test_instructions_are_per_token_and_cycles_per_core() -> None:
    found = metrics(REPORT)
    assert found["instructions_per_token"].value == pytest.approx(4e7)
    assert found["ipc"].value == pytest.approx(2.0)
    assert (found["ipc_cpu6"].value, found["ipc_cpu7"].value) == (pytest.approx(2.5), pytest.approx(1.5))
    assert found["count_instructions:u_cpu7"].value == 1.5e9


def test_a_report_that_was_cut_gives_no_number() -> None:
    (row,) = metrics(REPORT.split("Total")[0]).values()
    assert (row.value, row.state, row.usability) == (None, "counter_missing", "void")


def test_counters_that_took_turns_are_marked() -> None:
    found = metrics(REPORT.replace("# 1.9 GHz", "# 1.9 GHz (50%)"))
    assert {row.state for row in found.values()} == {"counters_scaled"}
    assert "50 %" in (found["ipc"].state_detail or "")


@pytest.mark.parametrize(
    ("case", "state"),
    [
        ("perf_clean", None),
        ("perf_100_percent", None),
        ("perf_99_9_percent", "counters_scaled"),
        ("perf_multiplexed", "counters_scaled"),
        ("perf_event_not_supported", "counter_missing"),
        ("perf_truncated", "counter_missing"),
    ],
)
def test_recorded_reports_get_their_state(case: str, state: str | None) -> None:
    text = need_shared("seed_data", "littletai", "edge", case, "perf.txt").read_text()
    states = {row.state for row in counter_rows(BASE, text, OPTIONS, 2560)} - {"ok"}
    assert states == ({state} if state else set())


async def test_a_cell_under_a_counting_program_has_speed_and_counts(paper: Bench, tmp_path: Path) -> None:
    program = tmp_path / "simpleperf"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\n"$@"\ncat <<END\n' + REPORT + "END\n")
    program.chmod(0o755)
    plan = paper.own(arms(one="MODE=ok"), options={**OPTIONS, "simpleperf": str(program)})
    result = await paper.run(plan)
    found = {row.metric: row for row in result.rows if row.role == "measure" and row.phase == "decode"}
    assert found["decode_tok_s"].value == pytest.approx(16 / 0.05)
    assert found["instructions_per_token"].value == pytest.approx(4e9 / 16)
