"""Opening the interface: flags over settings, a session, the app, and a log file beside it."""

from __future__ import annotations

import locale
import logging
import logging.handlers
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entity_tui import config
from entity_tui.connect import DEFAULT_DEMO
from entity_tui.errors import UsageError

LOG_BYTES = 5_000_000
WIDE_GLYPHS = ("ja", "ko", "zh")
"""East Asian locales, where some of our glyphs may be two cells wide."""


def wants_ascii(asked: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """ASCII when asked for, when the output is not UTF-8, and in locales where our glyphs may be wide."""
    encoding = (getattr(sys.stdout, "encoding", "") or locale.getpreferredencoding(False)).lower()
    name = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    return asked or "utf" not in encoding or name.startswith(WIDE_GLYPHS)


def start_log() -> Path | None:
    """A rotating file for tracebacks and the session's log; None where it cannot be written."""
    folder = config.log_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(
            folder / "entity-tui.log", maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8"
        )
    except OSError:
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger("entity_tui")
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return folder / "entity-tui.log"


def open_interface(options: Mapping[str, Any]) -> int:
    """Run the interface until the user leaves; returns the exit code. Raises UsageError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the interface needs a terminal",
            fix="every screen has a command: entity-tui --help; entity-tui tour tells the whole story",
        )
    settings = config.load()
    device, snapshot = options.get("device"), options.get("snapshot")
    if options.get("demo"):
        device = device or f"demo:{DEFAULT_DEMO}"
    if device and snapshot:
        raise UsageError("--device and --snapshot exclude each other", fix="name one of them")
    from entity_tui.app import AppOptions, EntityApp
    from entity_tui.session import Session

    start_log()
    session = Session(settings)
    session.read_only = bool(options.get("read_only"))
    session.speed = options.get("speed")
    if snapshot:
        from entity_tui.commands.options import read_snapshot_file

        session.show_snapshot(read_snapshot_file(Path(snapshot)), Path(snapshot).name)
    app = EntityApp(
        session,
        AppOptions(
            spec="" if snapshot else str(device or settings["device"]),
            screen=str(options.get("screen") or "dashboard"),
            theme=str(options.get("theme") or settings["theme"]),
            ascii=wants_ascii(bool(options.get("ascii_only")) or bool(settings["ascii"])),
            colour=bool(settings["color"]) and not options.get("no_color"),
            reduced_motion=bool(options.get("reduced_motion") or settings["reduced_motion"]),
            keys=settings["keys"],
        ),
    )
    app.run(mouse=bool(settings["mouse"]) and not options.get("no_mouse"))
    return int(app.return_code or 0)
