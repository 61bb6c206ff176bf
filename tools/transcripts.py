"""Pages of the running program as tmux captures them, for the documentation.

`python -m tools.transcripts` starts entity-tui in a tmux of its own at three sizes, starts a run on the demo phone,
waits for its second block, and writes `docs/transcripts/SCREEN-WIDTHxHEIGHT.txt`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ((120, 40), (80, 24), (40, 10))
SCREENS = (("1", "dashboard"), ("3", "bench"))
FOLDER = Path("docs/transcripts")
PATIENCE_S = 200.0
MESSAGE_S = 5.0
"""A short message of the program goes after so long."""


class Window:
    """One tmux window with the program in it."""

    def __init__(self, socket: Path, width: int, height: int, command: str) -> None:
        self._base = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), command)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def tmux(self, *words: str) -> str:
        """Run one tmux command and return what it prints."""
        clean = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS", "TMUX")}
        done = subprocess.run([*self._base, *words], check=True, capture_output=True, text=True, env=clean, timeout=30)
        return done.stdout

    def page(self) -> str:
        """What the terminal shows."""
        return self.tmux("capture-pane", "-p").rstrip("\n")

    def until(self, *words: str) -> None:
        """Wait until all words stand on the page."""
        end = time.monotonic() + PATIENCE_S
        while not all(word in self.page() for word in words):
            if time.monotonic() > end:
                raise SystemExit(f"never saw {words}:\n{self.page()}")
            time.sleep(0.2)

    def measure(self) -> None:
        """Start a run unless one was left on the phone, and wait for its second block."""
        self.tmux("send-keys", "b")
        end = time.monotonic() + PATIENCE_S
        while "2/" not in self.page() and "3/" not in self.page():
            if "Start this plan?" in self.page():
                self.tmux("send-keys", "Enter")
            if time.monotonic() > end:
                raise SystemExit(f"the run never reached its second block:\n{self.page()}")
            time.sleep(0.5)


def record(device: str, speed: str, warm_s: float, width: int, height: int) -> list[Path]:
    """The pages of one size."""
    written: list[Path] = []
    with tempfile.TemporaryDirectory() as folder:
        command = f"{sys.executable} -m entity_tui --device {device} --speed {speed}"
        window = Window(Path(folder) / "tmux.sock", width, height, command)
        try:
            window.until("simulated")
            time.sleep(warm_s)
            window.measure()
            time.sleep(MESSAGE_S + 1.0)
            for key, name in SCREENS:
                window.tmux("send-keys", key)
                time.sleep(2.0)
                path = FOLDER / f"{name}-{width}x{height}.txt"
                path.write_text(window.page() + "\n", encoding="utf-8")
                written.append(path)
        finally:
            window.tmux("kill-server")
    return written


def main() -> int:
    """Record every size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="demo:cmf-phone-1")
    parser.add_argument("--speed", default="8")
    parser.add_argument("--warm", type=float, default=15.0, help="seconds of samples before the pages are taken")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for width, height in SIZES:
        for path in record(chosen.device, chosen.speed, chosen.warm, width, height):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
