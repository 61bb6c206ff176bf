"""Whole runs: a real engine on this computer, a demo phone behind a real adb server."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from entity_tui.experiments.plan_json import read_plan
from entity_tui.experiments.recorded import rows_of_record
from entity_tui.experiments.run import collect
from entity_tui.experiments.run_files import keep_cell, kept_cell
from entity_tui.records.files import RecordError
from entity_tui.records.journal import parse_journal
from entity_tui.records.journal_events import CellEvent
from entity_tui.records.reanalysis import reanalyse
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.schema import Metric, Usability
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer
from tests.experiments.bed import SHORT_ARMS
from tests.experiments.live_bed import Bench, on_phone, on_this_computer
from tests.experiments.paper_engine import arms
from tests.fixtures.tools import until


@pytest.mark.long
async def test_a_real_engine_here_is_pinned_read_back_and_measured(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        plan = bench.own(SHORT_ARMS, runs=1)
        result = await bench.run(plan)
    assert result.outcome == "done"
    decode = {row.arm: row for row in result.rows if row.metric == Metric.DECODE_TOK_S and row.role == "measure"}
    assert set(decode) == {"free", "pinned"}
    online = f"{sum(1 << cpu for cpu in plan.online):x}"
    assert (decode["free"].mask_applied, decode["pinned"].mask_applied) == (online, "2")
    for row in decode.values():
        assert row.mask_ok
        assert row.mask_applied == row.mask_requested
        assert row.threads_seen == 1
        assert row.variant_loaded in bench.ready.engine.variants
        assert row.usability == Usability.TAINTED, "a gate of 0 s taints"
    assert not any(row.simulated for row in result.rows)


@pytest.mark.long
async def test_the_ablation_on_a_demo_phone_has_every_arm_and_says_simulated(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        result = await bench.run(bench.runs(1))
    assert result.outcome == "done"
    decode = [row for row in result.rows if row.metric == Metric.DECODE_TOK_S and row.role == "measure"]
    assert [row.arm for row in decode] == [cell.arm for cell in result.plan.cells if cell.block]
    assert all(row.simulated and row.clock_factor == 20.0 for row in result.rows)
    assert all(row.mask_ok and row.variant_loaded == "android_armv8.2_2" for row in decode)
    assert result.view.simulated
    assert result.view.clock_factor == 20.0


@pytest.mark.long
async def test_views_count_up_to_the_end_and_name_where_the_phone_is(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        result = await bench.run(bench.runs(1, ["naive", "optimized"]))
    sequences = [view.sequence for view in bench.views]
    assert sequences == sorted(sequences)
    assert [view.cells_done for view in bench.views] == sorted(view.cells_done for view in bench.views)
    phases = {view.current.phase.value for view in bench.views if view.current is not None}
    assert {"gate", "prefill", "decode"} <= phases
    last = bench.views[-1]
    assert (last.finished, last.outcome, last.cells_done) == (True, "done", 3)
    assert last.csv_path is not None
    assert last.csv_path.is_file()
    assert "as asked" in last.readback
    assert {row.word for row in last.arms} == {"done"}
    assert result.view is last


async def test_two_copies_of_this_program_that_follow_one_run_write_the_same_record(paper: Bench) -> None:
    task = asyncio.create_task(paper.run(paper.own(arms(one="MODE=ok", two="MODE=ok"), runs=3)))
    await until(lambda: any(view.cells_done for view in paper.views))
    second = await collect(paper.transport, paper.store, paper.views[-1].session_id)
    first = await task
    assert second.rows == first.rows == first.directory.rows()
    assert rows_of_record(first.directory) == first.rows
    assert first.directory.journal().count(b" run_start ") == 1
    assert not list((first.directory.path / "cells").glob("*.part"))


async def test_a_cell_is_kept_whole_or_not_at_all(paper: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    result = await paper.run(paper.own(arms(one="MODE=ok")))
    run = result.directory
    event = next(event for event in parse_journal(run.journal()) if isinstance(event, CellEvent))
    files = kept_cell(run, event)
    assert files is not None
    shutil.rmtree(run.path / event.directory)
    write, written = RunDirectory.write_file, []

    def full(self: RunDirectory, name: str, content: str | bytes) -> Path:
        if len(written) == 2:
            raise RecordError("no space left")
        written.append(name)
        return write(self, name, content)

    with monkeypatch.context() as patched:
        patched.setattr(RunDirectory, "write_file", full)
        with pytest.raises(RecordError):
            keep_cell(run, event, files)
    assert kept_cell(run, event) is None, "a part of a cell would be judged as a whole one"
    keep_cell(run, event, files)
    keep_cell(run, event, files)
    assert kept_cell(run, event) == files
    assert not list((run.path / "cells").glob("*.part"))


async def test_a_run_with_deaths_in_it_is_rebuilt_from_its_raw_files(paper: Bench) -> None:
    result = await paper.run(paper.own(arms(one="MODE=ok", oom="MODE=oom")))
    assert rows_of_record(result.directory) == result.rows == result.directory.rows()


@pytest.mark.long
async def test_a_run_leaves_plain_files_that_rebuild_to_the_same_tables(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        result = await bench.run(bench.runs(1, ["naive", "optimized"]))
    folder = result.directory.path
    names = {path.name for path in folder.iterdir()}
    assert {"plan.json", "device.json", "journal", "preflight.json", "rows.csv", "samples.csv", "run.json"} <= names
    assert read_plan(result.directory.plan_text()) == result.plan
    assert reanalyse(result.directory).changed == ()
    assert result.directory.rows() == result.rows
    assert rows_of_record(result.directory) == result.rows, "plan, snapshot, journal and raw files are enough"
