"""The laptop's process dies in the middle of a run, and is started again: nothing is lost, nothing counts twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from entity_tui.records.export import read_tidy_csv
from entity_tui.records.schema import Row
from tests.fixtures.tools import need_tool, until

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
WORDS = ("bench", "--device", "demo:cmf-phone-1", "--speed", "20", "--runs", "1", "--seed", "3")
SHORT = ("--prompt", "32", "--generate", "16", "--gate", "minimum_s=0", "--gate", "limit_s=30")
WELL = {"ok", "warmup", "throttled", "foreign_load"}


def key(row: Row) -> tuple[object, ...]:
    return row.block, row.position, row.arm, row.attempt, row.metric, row.cell_key


async def start(folder: Path, name: str) -> tuple[asyncio.subprocess.Process, Path]:
    """One `entity-tui bench` as a process of its own; its words go to a file."""
    out = folder / f"{name}.log"
    env = {
        **os.environ,
        "XDG_RUNTIME_DIR": str(folder / "runtime"),
        "ENTITY_TUI_DATA": str(folder / "data"),
        "ENTITY_TUI_CONFIG": str(folder / "config"),
    }
    (folder / "runtime").mkdir(mode=0o700, exist_ok=True)
    words = (*WORDS, *SHORT, "--csv", str(folder / f"{name}.csv"), "--json")
    with out.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "entity_tui", *words, stdout=stream, stderr=stream, env=env, start_new_session=True
        )
    return process, out


def end_phone(folder: Path) -> None:
    """End the demo phones these processes left behind, by their noted process ids."""
    for note in (folder / "runtime").rglob("phone-*.json"):
        pid = json.loads(note.read_text()).get("pid")
        if isinstance(pid, int):
            os.kill(pid, signal.SIGTERM)


async def test_a_killed_laptop_collects_exactly_what_an_uninterrupted_one_has(tmp_path: Path) -> None:
    need_tool("adb")
    try:
        whole, _ = await start(tmp_path, "whole")
        assert await asyncio.wait_for(whole.wait(), 150) == 0
        killed, out = await start(tmp_path, "killed")
        await until(lambda: "[2/5]" in out.read_text() or killed.returncode is not None, within_s=120)
        killed.kill()
        await killed.wait()
        assert not (tmp_path / "killed.csv").exists()
        again, out = await start(tmp_path, "again")
        assert await asyncio.wait_for(again.wait(), 150) == 0, out.read_text()
        assert "on the device: " in out.read_text()
    finally:
        end_phone(tmp_path)
    uninterrupted = read_tidy_csv(tmp_path / "whole.csv")
    collected = read_tidy_csv(tmp_path / "again.csv")
    assert [key(row) for row in collected] == [key(row) for row in uninterrupted]
    assert len({key(row) for row in collected}) == len(collected)
    assert {row.state for row in (*collected, *uninterrupted)} <= WELL
    assert len(list((tmp_path / "data" / "runs").iterdir())) == 2
