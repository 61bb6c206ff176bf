"""The command line as a whole: every command explains itself, nothing heavy loads, errors become words and codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from entity_tui.cli import COMMANDS, cli

ROOMS = (
    *("analysis", "chat.room", "commands.bench", "device.facts", "engine.server", "experiments.run", "models.census"),
    *("records.store", "session", "silicon.widths", "sim.launch", "transport.adb", "transport.discover", "running"),
)
HEAVY = ("textual", "pandas", "asyncssh")


def entity(*words: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, as a user runs it."""
    argv = [sys.executable, "-m", "entity_tui", *words]
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage:" in result.output


def test_help_lists_every_command_and_loads_none() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from entity_tui.cli import cli;"
        "r = CliRunner().invoke(cli, ['--help']); print(r.output);"
        "sys.exit(any(name.startswith('entity_tui.commands.') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("room", ROOMS)
def test_headless_rooms_load_nothing_heavy(room: str) -> None:
    code = f"import sys, entity_tui.{room}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_without_a_terminal_the_interface_says_what_to_use() -> None:
    done = entity()
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "entity-tui tour" in done.stderr


def test_an_unknown_command_names_the_nearest() -> None:
    done = entity("benhc")
    assert done.returncode == 2
    assert "bench" in done.stderr


def test_an_unknown_device_is_a_usage_error_without_a_traceback() -> None:
    done = entity("topology", "--device", "nokia")
    assert done.returncode == 2
    assert "no device is called 'nokia'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_pipe_is_no_failure() -> None:
    argv = f"{sys.executable} -m entity_tui config schema | head -n 1"
    done = subprocess.run(["bash", "-c", argv], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == ""


def test_devices_always_offer_this_computer_and_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    # A port nobody listens on: the user's own adb server is not asked, and none is started.
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "9")
    done = entity("devices", "--json")
    rows = json.loads(done.stdout)
    assert [row["spec"] for row in rows] == ["local", "demo:cmf-phone-1"]
    assert [row["simulated"] for row in rows] == [False, True]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_for_their_shell(shell: str) -> None:
    done = entity("completion", shell)
    assert done.returncode == 0
    assert "_ENTITY_TUI_COMPLETE" in done.stdout


def test_the_doctor_says_what_to_do_about_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "9")
    monkeypatch.setenv("ADBUTILS_ADB_PATH", "/nonexistent/adb")
    monkeypatch.setenv("PATH", "/nonexistent")
    done = entity("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["python"]["grade"] == "good"
    assert checks["adb server"]["grade"] == "note"
    assert all(check["fix"] for check in checks.values() if check["grade"] != "good")
