"""The real program in a real terminal: start, live data, keys, resize, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.tools import REPOSITORY, need_tool

PATIENCE_S = 25.0
pytestmark = pytest.mark.long


class Terminal:
    """A tmux server of its own with one window that runs a command."""

    def __init__(self, tmux: str, folder: Path, width: int, height: int) -> None:
        self._base = [tmux, "-S", str(folder / "tmux.sock"), "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", str(width), "-y", str(height), "sh")
        self._run("set-option", "-g", "status", "off")
        self._run("resize-window", "-x", str(width), "-y", str(height))

    def _run(self, *words: str) -> str:
        # A size in the environment would win over the terminal's own.
        clean = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS", "TMUX")}
        done = subprocess.run([*self._base, *words], check=True, capture_output=True, text=True, timeout=20, env=clean)
        return done.stdout

    def type(self, *keys: str) -> None:
        """Press keys by their tmux names."""
        self._run("send-keys", *keys)

    def page(self) -> str:
        """What is on the screen."""
        return self._run("capture-pane", "-p")

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self._run("resize-window", "-x", str(width), "-y", str(height))

    def pid(self) -> int:
        """The shell's process."""
        return int(self._run("display-message", "-p", "#{pane_pid}"))

    def until(self, holds: Callable[[str], bool]) -> str:
        """The first page for which a condition holds."""
        end = time.monotonic() + PATIENCE_S
        while True:
            shown = self.page()
            if holds(shown):
                return shown
            assert time.monotonic() < end, shown

    def end(self) -> None:
        """End the server and what runs in it."""
        subprocess.run([*self._base, "kill-server"], check=False, capture_output=True, timeout=20)


@pytest.fixture
def terminal(tmp_path: Path, private_home: Path) -> Iterator[Callable[[int, int], Terminal]]:
    """A terminal of a size; the program's settings and data are the test's own."""
    tmux = need_tool("tmux")
    opened: list[Terminal] = []

    def start(width: int, height: int) -> Terminal:
        opened.append(Terminal(tmux, tmp_path, width, height))
        return opened[-1]

    yield start
    for each in opened:
        each.end()


def program(*options: str) -> str:
    """The command that starts the interface, as typed into a shell."""
    return " ".join(["cd", str(REPOSITORY), "&&", sys.executable, "-m", "entity_tui", *options])


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (40, 10)])
def test_the_picker_then_this_computer_live_at_three_sizes(
    terminal: Callable[[int, int], Terminal], width: int, height: int
) -> None:
    """From the shell to live data with one key, and back to a clean shell."""
    screen = terminal(width, height)
    screen.type(program(), "Enter")
    screen.until(lambda shown: "this computer" in shown and "● ready" in shown)
    screen.type("g", "Enter")
    live = screen.until(lambda shown: "5 Hz" in shown or "%" in shown)
    assert len(live.rstrip("\n").split("\n")) <= height
    screen.type("?")
    screen.until(lambda shown: "score" in shown)
    screen.type("Escape")
    screen.until(lambda shown: "score" not in shown)
    screen.type("q")
    screen.until(lambda shown: "Topology" not in shown and "1-6 screens" not in shown and "palette" not in shown)
    screen.type("echo back-in-the-shell", "Enter")
    screen.until(lambda shown: shown.count("back-in-the-shell") >= 2)


def test_resizing_a_live_screen_redraws_it(terminal: Callable[[int, int], Terminal]) -> None:
    """Down to a text panel and up again while samples arrive."""
    screen = terminal(120, 40)
    screen.type(program("--device", "local"), "Enter")
    screen.until(lambda shown: "Topology" in shown and "5 Hz" in shown)
    screen.resize(40, 10)
    screen.until(lambda shown: "make the window 80x24" in shown)
    screen.resize(100, 30)
    screen.until(lambda shown: "Topology" in shown and "[1 Dashboard]" in shown)
    screen.type("q")


def test_without_colour_nothing_is_coloured(terminal: Callable[[int, int], Terminal]) -> None:
    """--no-color and --ascii together: bold and reverse only, ASCII only."""
    screen = terminal(80, 24)
    screen.type(program("--device", "local", "--no-color", "--ascii"), "Enter")
    shown = screen.until(lambda shown: "Topology" in shown and "5 Hz" in shown)
    assert shown.isascii()
    coloured = screen._run("capture-pane", "-p", "-e")
    assert "\x1b[38" not in coloured
    assert "\x1b[48" not in coloured
    screen.type("q")


def test_a_killed_program_leaves_a_usable_terminal(terminal: Callable[[int, int], Terminal]) -> None:
    """SIGTERM: the alternate screen and the mouse are given back."""
    screen = terminal(80, 24)
    screen.type(program("--device", "local"), "Enter")
    screen.until(lambda shown: "Topology" in shown)
    shell = screen.pid()
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()
    os.kill(int(children[0]), signal.SIGTERM)
    screen.until(lambda shown: "Topology" not in shown)
    screen.type("echo still-here", "Enter")
    screen.until(lambda shown: shown.count("still-here") >= 2)


def test_a_program_that_hangs_on_its_way_out_is_ended_by_a_signal(
    terminal: Callable[[int, int], Terminal], tmp_path: Path
) -> None:
    """A terminal that closed while `q` was at work left a process behind: its loop waited for the dead writer."""
    start = tmp_path / "start.py"
    start.write_text(
        "import sys, threading\n"
        "from entity_tui import app, cli, session\n"
        "app.LEAVE_WITHIN_S = 1\n"
        "async def close(self):\n"
        "    lock = threading.Lock(); lock.acquire(); lock.acquire()\n"
        "session.Session.close = close\n"
        "sys.argv = ['entity-tui']\n"
        "cli.main()\n"
    )
    screen = terminal(80, 24)
    screen.type(f"cd {REPOSITORY} && {sys.executable} {start}; echo ended-with-$?", "Enter")
    screen.until(lambda shown: "this computer" in shown)
    shell = screen.pid()
    child = int(Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()[0])
    screen.type("q")
    time.sleep(1)
    os.kill(child, 0)
    os.kill(child, signal.SIGHUP)
    end = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
