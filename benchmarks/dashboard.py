"""What the Dashboard costs: CPU at 5 Hz against the same panel of ready-made widgets, and the time to the first paint.

Run from the repository's root: `python -m benchmarks.dashboard`. Both programs run in a pseudo-terminal of 120 by 40
cells and are fed the same samples; the CPU time is the kernel's own count for the process. The exit code is 1
when a budget is exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass

from benchmarks.dashboard_panel import LibraryPanel
from entity_tui.app import AppOptions, EntityApp
from tests.screens.stage import StagedSession, grow, live_phone

CPU_RATIO_BUDGET = 0.4
START_RATIO_BUDGET = 4.0
ROWS, COLUMNS = 40, 120
TICK_S = 0.2
WARM_S = 4.0


async def feed(session: StagedSession) -> None:
    """New samples five times a second, on the clock of a phone that began a minute ago."""
    at = 60.0
    while True:
        await asyncio.sleep(TICK_S)
        grow(session, at, at + TICK_S)
        at += TICK_S


async def run_app(kind: str, seconds: float) -> None:
    """Child: show one of the two programs for so many seconds."""
    session = live_phone()
    app = EntityApp(session, AppOptions()) if kind == "ours" else LibraryPanel(session)
    feeding = asyncio.create_task(feed(session))

    async def leave() -> None:
        while not app.is_running:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        if isinstance(app, EntityApp):
            app.call_later(app.action_goto, "dashboard")
        await asyncio.sleep(seconds)
        app.exit()

    leaving = asyncio.create_task(leave())
    await app.run_async()
    for task in (feeding, leaving):
        task.cancel()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one program cost while it was warm."""

    cpu_pct: float
    bytes_per_s: float


def spawn(argv: list[str], home: str) -> tuple[int, int]:
    """A process in its own pseudo-terminal: (pid, file descriptor of our end)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", HOME=home, PYTHONPATH=os.getcwd())
        os.execv(argv[0], argv)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return pid, terminal


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_for(terminal: int, seconds: float, until: bytes = b"") -> bytes:
    """What the program writes for so long, or until a text stands in it."""
    end, seen = time.monotonic() + seconds, b""
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            try:
                seen += os.read(terminal, 65_536)
            except OSError:
                break
            if until and until in seen:
                break
    return seen


def measure(kind: str, seconds: float, home: str) -> Cost:
    """CPU share and bytes of one program, its start left out."""
    argv = [sys.executable, "-m", "benchmarks.dashboard", "--child", kind, "--seconds", str(WARM_S + seconds + 3)]
    pid, terminal = spawn(argv, home)
    read_for(terminal, WARM_S + 2.0)
    began, cpu = time.monotonic(), cpu_seconds(pid)
    written = len(read_for(terminal, seconds))
    took = time.monotonic() - began
    cost = Cost((cpu_seconds(pid) - cpu) / took * 100, written / took)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 15)
    read_for(terminal, 1.0)
    os.waitpid(pid, 0)
    os.close(terminal)
    return cost


def first_paint_s(home: str) -> float:
    """Seconds from exec to the first page of the real program."""
    began = time.monotonic()
    pid, terminal = spawn([sys.executable, "-m", "entity_tui"], home)
    seen = read_for(terminal, 30.0, b"Choose a phone")
    took = time.monotonic() - began
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 15)
    read_for(terminal, 1.0)
    os.waitpid(pid, 0)
    os.close(terminal)
    if b"Choose a phone" not in seen:
        raise SystemExit(f"the first page never came: {seen[-400:]!r}")
    return took


def import_s() -> float:
    """Seconds for an interpreter that imports Textual and leaves."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import textual"], check=True)
    return time.monotonic() - began


def main() -> int:
    """Measure in turns, print absolute figures and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", choices=("ours", "library"))
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    if chosen.child:
        asyncio.run(run_app(chosen.child, chosen.seconds))
        return 0
    with tempfile.TemporaryDirectory() as home:
        costs: dict[str, list[Cost]] = {"ours": [], "library": []}
        for _ in range(chosen.rounds):
            for kind, found in costs.items():
                found.append(measure(kind, chosen.seconds, home))
        starts = [(first_paint_s(home), import_s()) for _ in range(5)]
    middle = {kind: statistics.median(cost.cpu_pct for cost in found) for kind, found in costs.items()}
    bytes_s = {kind: statistics.median(cost.bytes_per_s for cost in found) for kind, found in costs.items()}
    cpu_ratio = middle["ours"] / middle["library"]
    paint, imported = (statistics.median(values) for values in zip(*starts, strict=True))
    start_ratio = paint / imported
    print(f"Dashboard at 5 Hz, {COLUMNS}x{ROWS}, {chosen.rounds} rounds of {chosen.seconds:.0f} s in turns, medians")
    for kind, name in (("ours", "our Strips"), ("library", "Sparkline + DataTable")):
        print(f"  {name:24} {middle[kind]:5.1f} % of a core   {bytes_s[kind] * TICK_S / 1_000:6.1f} kB an update")
    print(f"  ratio {cpu_ratio:.2f}, budget {CPU_RATIO_BUDGET}")
    print(f"exec to first paint {paint * 1_000:.0f} ms, import textual {imported * 1_000:.0f} ms")
    print(f"  ratio {start_ratio:.2f}, budget {START_RATIO_BUDGET}")
    failed = cpu_ratio > CPU_RATIO_BUDGET or start_ratio > START_RATIO_BUDGET
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
