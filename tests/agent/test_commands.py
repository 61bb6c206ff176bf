"""`entity-tui monitor` and `entity-tui snapshot` as a user calls them, on this computer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from entity_tui.cli import cli
from entity_tui.commands.monitor import sample_line
from entity_tui.device.live import Live
from entity_tui.device.sample import Sample
from entity_tui.device.snapshot_json import loads
from tests.fixtures.tools import need_shared


def test_monitor_streams_one_object_a_tick_with_null_for_what_is_missing() -> None:
    result = CliRunner().invoke(cli, ["monitor", "--device", "local", "--hz", "10", "--for", "500ms", "--jsonl"])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["sequence"] for line in lines] == [0, 1, 2, 3, 4]
    assert all(line["simulated"] is False and line["clock_factor"] == 1.0 for line in lines)
    assert lines[-1]["mem_available_kb"] > 0
    assert all(value is None for value in lines[0]["cpu_busy_pct"].values()), "a share needs two readings"
    if not Path("/sys/class/power_supply/battery").exists():
        assert lines[-1]["current_raw"] is None


def test_monitor_in_words_says_what_cannot_be_read_on_stderr() -> None:
    result = CliRunner().invoke(cli, ["monitor", "--device", "local", "--hz", "10", "--for", "300ms"])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 3
    assert "clock uptime" in result.stderr


@pytest.mark.parametrize("words", [["--for", "soon"], ["--hz", "0"], ["--hz", "99"]])
def test_monitor_refuses_what_it_cannot_do(words: list[str]) -> None:
    assert CliRunner().invoke(cli, ["monitor", "--device", "local", *words]).exit_code == 2


def test_a_reading_that_is_missing_is_a_dash_in_words() -> None:
    line = sample_line(Sample(sequence=0, t_boot_s=12.5), Live(power_note="denied"))
    assert "busy — %" in line
    assert "— denied" in line
    assert " 0 " not in line, "what was not read is never a number"


def test_a_snapshot_is_saved_without_names_and_shown_again(tmp_path: Path) -> None:
    file = tmp_path / "phone.json"
    result = CliRunner().invoke(cli, ["snapshot", "save", "--device", "local", str(file)])
    assert result.exit_code == 0, result.output
    assert "taken out" in result.stderr
    snapshot = loads(file.read_text())
    assert snapshot.redacted
    assert snapshot.file("/proc/meminfo").ok
    assert not list(tmp_path.glob("*.part"))
    shown = CliRunner().invoke(cli, ["snapshot", "show", str(file), "--only", "/proc/meminfo"])
    assert "MemTotal" in shown.stdout
    whole = CliRunner().invoke(cli, ["snapshot", "show", str(file), "--json"])
    assert json.loads(whole.stdout)["redacted"] is True
    failed = CliRunner().invoke(cli, ["snapshot", "show", str(file), "--failed"])
    assert "/proc/meminfo" not in failed.stdout


def test_a_published_dump_can_be_shown_too() -> None:
    file = need_shared("devices", "pixel-8.json")
    shown = CliRunner().invoke(cli, ["snapshot", "show", str(file), "--only", "ro.product.model"])
    assert shown.exit_code == 0, shown.output
    assert "Pixel 8" in shown.stdout


def test_a_folder_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["snapshot", "save", "--device", "local", str(tmp_path / "no/such/x.json")])
    assert result.exit_code != 0
