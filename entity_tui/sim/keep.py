"""The demo phone that outlives a command: found again by the next start, so that its run can be collected."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from entity_tui.errors import EntityError, UsageError
from entity_tui.sim.ctl import Control
from entity_tui.sim.launch import READY_TIMEOUT_S, PhoneDidNotStart, phone_argv
from entity_tui.sim.lend import can_lend

FLAT_PCT = 25.0
"""Below this a fresh phone is started: plans refuse to run on a battery that is nearly empty."""
LINGER_S = 900.0
"""A kept phone ends by itself after so many seconds without any connection."""


@dataclass(frozen=True, slots=True)
class KeptPhone:
    """A running demo phone that nobody owns: address of its adbd, control socket, and whether it ran before."""

    address: str
    pid: int
    profile: str
    speed: float
    ctl: Control
    found: bool


def _folder() -> Path:
    """Where the notes about running demo phones lie: this user's own, gone with the computer's next start."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(given) if given and Path(given).is_dir() else Path(tempfile.gettempdir())
    folder = base / f"entity-tui-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = folder.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        raise UsageError(f"{folder} is not this user's own", fix="remove it, or set XDG_RUNTIME_DIR")
    return folder


def _note(profile: str) -> Path:
    """One note per profile; a path of a snapshot file becomes a plain name."""
    return _folder() / f"phone-{re.sub(r'[^A-Za-z0-9._-]', '_', profile)[-80:]}.json"


@contextlib.contextmanager
def noted(row: dict[str, object]) -> Iterator[None]:
    """Leave a note about a phone that runs in the foreground, for `entity-tui sim ctl` to find it."""
    note = _folder() / f"sim-{os.getpid()}.json"
    note.write_text(json.dumps(row), encoding="utf-8")
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


async def running_phones() -> tuple[KeptPhone, ...]:
    """Every demo phone of this user that answers, kept ones and those in the foreground of a terminal."""
    found = [await _running(note) for note in sorted(_folder().glob("*.json"))]
    return tuple(phone for phone in found if phone is not None)


async def kept_phone(profile: str, *, speed: float | None = None, model: Path | None = None) -> KeptPhone:
    """The running demo phone of this profile, or a fresh one.

    With `model`, a file of this computer, a fresh phone gets a real `llama-server` to run it, where one can be lent.
    `speed` None takes whatever runs (1 for a fresh one); a phone of another speed is ended first, unless a run is in
    flight on it. Raises UsageError for an unknown profile or while a run would be lost.
    """
    note = _note(profile)
    async with _alone(note):
        running = await _running(note)
        if running is not None and speed in (None, running.speed) and not await _flat(running):
            return running
        if running is not None:
            if await _occupied(running):
                raise UsageError(
                    f"a demo phone of clock factor {running.speed:g} has a run in flight",
                    fix=f"use --speed {running.speed:g}, or end it: entity-tui sim ctl --profile {profile} off",
                )
            await running.ctl("off")
        return await _start(profile, speed or (running.speed if running else 1.0), note, model)


@asynccontextmanager
async def _alone(note: Path) -> AsyncIterator[None]:
    """One starter at a time, across processes: two commands at once share one phone."""
    import fcntl

    with note.with_suffix(".lock").open("w") as handle:
        await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
        yield


async def _running(note: Path) -> KeptPhone | None:
    """The phone a note tells of, if it answers on its control socket."""
    try:
        row = json.loads(note.read_text(encoding="utf-8"))
        phone = KeptPhone(
            str(row["address"]),
            int(row["pid"]),
            str(row["profile"]),
            float(row["speed"]),
            Control(Path(row["ctl"])),
            found=True,
        )
        await phone.ctl("status", timeout_s=5.0)
    except (OSError, ValueError, KeyError, TypeError, TimeoutError, EntityError):
        return None
    return phone


async def _flat(phone: KeptPhone) -> bool:
    """True when the battery has run down and nothing runs there: at twenty times the speed hours pass quickly."""
    with contextlib.suppress(EntityError, TimeoutError, ValueError):
        status = json.loads(await phone.ctl("status", timeout_s=5.0))
        return float(status.get("level_pct", 100)) < FLAT_PCT and not status.get("processes")
    return False


async def _occupied(phone: KeptPhone) -> bool:
    """True while anything runs on the phone that nobody is connected to wait for."""
    with contextlib.suppress(EntityError, TimeoutError, ValueError):
        status = json.loads(await phone.ctl("status", timeout_s=5.0))
        return bool(status.get("processes"))
    return False


async def _start(profile: str, speed: float, note: Path, model: Path | None) -> KeptPhone:
    log = note.with_suffix(".log")
    lent = ("--lend-engine", "--lend-model", str(model)) if model is not None and can_lend() else ()
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *phone_argv(profile, speed=speed, options=("--stay", "--linger", str(LINGER_S), *lent)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_S)
    except TimeoutError:
        line = b""
    if not line.startswith(b"{"):
        if process.returncode is None:
            process.kill()
        code = await process.wait()
        words = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        if code == UsageError.exit_code:
            raise UsageError(f"no demo phone {profile!r}", detail=words)
        raise PhoneDidNotStart("the demo phone did not start", detail=words)
    row = json.loads(line)
    note.write_text(json.dumps({**row, "profile": profile, "speed": speed}), encoding="utf-8")
    return KeptPhone(str(row["address"]), int(row["pid"]), profile, speed, Control(Path(row["ctl"])), found=False)
