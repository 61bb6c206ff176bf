"""A run's rows come back from its folder: journal, plan, snapshot and raw files, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.experiments.recorded import rows_of_record
from entity_tui.records.export import tidy_csv
from entity_tui.records.reanalysis import reanalyse
from entity_tui.records.run_directory import ROWS_FILE, RunDirectory, RunInfo
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer
from tests.experiments.live_bed import on_phone


@pytest.mark.long
async def test_the_rows_of_a_real_run_are_rebuilt_from_its_raw_files(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        result = await bench.run(bench.blocks(2, ["naive", "optimized"]))
    run = result.directory
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    rebuilt = rows_of_record(run)
    assert rebuilt is not None
    assert tidy_csv(rebuilt) == run.text(ROWS_FILE)
    for name in ("tables.csv", "verdicts.txt", "factors.csv", "verdicts.csv"):
        (run.path / name).unlink(missing_ok=True)
    run.write_rows(rebuilt)
    reanalyse(run)
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


@pytest.mark.long
async def test_a_lost_raw_file_is_a_state_and_not_a_number(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        result = await bench.run(bench.runs(1, ["naive"]))
    measured = next(row for row in result.rows if row.role == "measure" and row.value is not None)
    assert measured.raw_ref is not None
    (result.directory.path / measured.raw_ref / "decode.out").write_text("[ cut")
    rebuilt = rows_of_record(result.directory)
    assert rebuilt is not None
    cell = [row for row in rebuilt if row.raw_ref == measured.raw_ref]
    assert {row.state for row in cell} <= {"output_truncated", "output_malformed"}
    assert not any(row.countable for row in cell)


def test_an_imported_run_has_no_raw_record(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "imported")
    run.write_info(replace(RunInfo("imported", ""), source="entity-bench"))
    assert rows_of_record(run) is None
