"""What a streaming reply costs: 60 tokens a second under 20 000 on screen, ours against `Markdown.get_stream`.

Run from the repository's root: `python -m benchmarks.chat_screen`. Both programs run in a pseudo-terminal of 120 by 40
cells; CPU is the kernel's own count. Frames, loop lag and the time from key to screen are printed beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.widgets import Input, Markdown

from benchmarks.dashboard import cpu_seconds, read_for, spawn
from benchmarks.reply_text import tokens
from entity_tui.chat import maths
from entity_tui.chat.segments import Segments
from entity_tui.screens.chat import STREAM_PAINT_S
from entity_tui.widgets.ink import line
from entity_tui.widgets.transcript import Transcript, Turn

CPU_RATIO_BUDGET, FRAMES_BUDGET, LAG_BUDGET_MS = 0.4, 10.0, 50.0
KEY_BUDGET_MS = 50.0
RATE = 60.0
LETTERS = "ႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀ"
"""Letters that stand in no reply."""


class Streamed(App[None]):
    """A program that runs `job` once it is up."""

    job: Callable[[], Coroutine[Any, Any, None]]

    def on_ready(self) -> None:
        """Start the stream, inside the application's own context."""
        self.run_worker(self.job())


class Ours(Streamed):
    """Our transcript, painted as often as the chat screen does."""

    CSS = "Transcript { width: 100%; height: 1fr; } Input { dock: bottom; height: 3; }"

    def __init__(self, before: int) -> None:
        super().__init__()
        self.segments = Segments()
        for piece in tokens(before):
            self.segments.feed(piece)
        self.frames = 0

    def compose(self) -> ComposeResult:
        """One panel over a field to type into."""
        transcript = Transcript("Conversation", id="talk")
        transcript.display_maths, transcript.inline_maths = maths.display, maths.linear
        yield transcript
        yield Input()

    async def start(self) -> None:
        """Paint on a clock."""
        self.query_one(Input).focus()
        self.set_interval(STREAM_PAINT_S, self.paint)

    async def add(self, piece: str) -> None:
        """One more token."""
        self.segments.feed(piece)

    def paint(self) -> None:
        """Show what there is."""
        self.frames += 1
        turn = Turn(1, line("model"), tuple(self.segments.sealed), self.segments.tail, growing=True)
        self.query_one(Transcript).show((turn,))


class Library(Streamed):
    """Textual's own streaming Markdown."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.before = "".join(tokens(before))
        self.frames = 0
        self.stream: Any = None

    def compose(self) -> ComposeResult:
        """One Markdown widget in a scroll."""
        from textual.containers import VerticalScroll

        with VerticalScroll():
            yield Markdown()

    async def start(self) -> None:
        """Show what was there before, then stream."""
        await self.query_one(Markdown).update(self.before)
        self.screen.query_one("VerticalScroll").anchor()
        self.stream = Markdown.get_stream(self.query_one(Markdown))

    async def add(self, piece: str) -> None:
        """One more token."""
        await self.stream.write(piece)


async def child(kind: str, before: int, seconds: float, report: str) -> None:
    """Stream into one of the two programs and write down loop lag, frames and shown tokens."""
    app: Any = Ours(before) if kind == "ours" else Library(before)
    lags: list[float] = []
    shown = 0

    async def beat() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.02)
            lags.append((time.monotonic() - began - 0.02) * 1000)

    async def feed() -> None:
        nonlocal shown
        await asyncio.sleep(1.0)
        await app.start()
        # The parent waits for this file: from here on both programs are warm and stream.
        Path(report + ".ready").touch()
        beating = asyncio.create_task(beat())
        pieces = tokens(before + int(RATE * seconds * 1.5))[before:]
        began = time.monotonic()
        for number, piece in enumerate(pieces):
            due = began + number / RATE
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            await app.add(piece)
            shown += 1
            if time.monotonic() - began > seconds:
                break
        took = time.monotonic() - began
        beating.cancel()
        lags.sort()
        row = {
            "lag_p99_ms": lags[int(len(lags) * 0.99)],
            "shown_per_s": shown / took,
            "frames_per_s": app.frames / took,
        }
        Path(report).write_text(json.dumps(row), encoding="utf-8")
        app.exit()

    app.job = feed
    await app.run_async()


def measure(kind: str, before: int, seconds: float, folder: str) -> dict[str, float]:
    """CPU share, lag and rate of one program while it streams."""
    report = os.path.join(folder, kind)
    for name in (report, report + ".ready"):
        Path(name).unlink(missing_ok=True)
    argv = [sys.executable, "-m", "benchmarks.chat_screen", "--child", kind, "--before", str(before)]
    pid, terminal = spawn([*argv, "--seconds", str(seconds), "--report", report], folder)
    _wait(terminal, Path(report + ".ready").exists)
    began, cpu = time.monotonic(), cpu_seconds(pid)
    keys = keys_ms(terminal, seconds) if kind == "ours" else []
    read_for(terminal, max(0.0, seconds - (time.monotonic() - began)))
    share = (cpu_seconds(pid) - cpu) / (time.monotonic() - began) * 100
    _wait(terminal, Path(report).exists)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 15)
    read_for(terminal, 0.5)
    os.waitpid(pid, 0)
    os.close(terminal)
    row: dict[str, float] = json.loads(Path(report).read_text(encoding="utf-8"))
    return {**row, "cpu_pct": share, "key_p95_ms": keys[int(len(keys) * 0.95)] if keys else 0.0}


def keys_ms(terminal: int, seconds: float) -> list[float]:
    """Milliseconds from writing a key to the terminal until its letter is drawn, sorted; each letter is used once."""
    times = []
    end = time.monotonic() + seconds * 0.8
    for letter in LETTERS:
        if time.monotonic() > end:
            break
        read_for(terminal, 0.15)
        began = time.monotonic()
        os.write(terminal, letter.encode())
        seen = b""
        while letter.encode() not in seen and time.monotonic() - began < 2:
            ready, _, _ = select.select([terminal], [], [], 0.5)
            seen += os.read(terminal, 65_536) if ready else b""
        times.append((time.monotonic() - began) * 1000)
    return sorted(times)


def _wait(terminal: int, there: Callable[[], bool]) -> None:
    end = time.monotonic() + 180
    while not there():
        read_for(terminal, 0.1)
        if time.monotonic() > end:
            raise SystemExit("a program never got ready")


def main() -> int:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", choices=("ours", "library"))
    parser.add_argument("--before", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--report", default="")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    if chosen.child:
        asyncio.run(child(chosen.child, chosen.before, chosen.seconds, chosen.report))
        return 0
    rows: dict[str, list[dict[str, float]]] = {"ours": [], "library": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.rounds):
            for kind, found in rows.items():
                found.append(measure(kind, chosen.before, chosen.seconds, folder))
    print(f"A reply at {RATE:.0f} tok/s under {chosen.before} tokens, {chosen.rounds} rounds of {chosen.seconds:.0f} s")
    middle = {
        kind: {key: statistics.median(row[key] for row in found) for key in found[0]} for kind, found in rows.items()
    }
    for kind, name in (("ours", "our transcript"), ("library", "Markdown.get_stream")):
        row = middle[kind]
        frames = f"{row['frames_per_s']:4.1f} frames/s" if row["frames_per_s"] else "frames not counted"
        words = f"{row['cpu_pct']:5.1f} % of a core   {row['shown_per_s']:5.1f} tok/s shown   {frames}"
        print(f"  {name:20} {words}   loop lag p99 {row['lag_p99_ms']:6.1f} ms")
    ratio = middle["ours"]["cpu_pct"] / middle["library"]["cpu_pct"]
    print(f"  ratio {ratio:.2f}, budget {CPU_RATIO_BUDGET}")
    print(f"  key to screen p95 {middle['ours']['key_p95_ms']:.0f} ms while streaming, budget {KEY_BUDGET_MS:.0f} ms")
    good = (
        ratio <= CPU_RATIO_BUDGET
        and middle["ours"]["frames_per_s"] >= FRAMES_BUDGET
        and middle["ours"]["lag_p99_ms"] <= LAG_BUDGET_MS
        and middle["ours"]["key_p95_ms"] <= KEY_BUDGET_MS
    )
    return 1 if chosen.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
