"""Start a simulated phone in a process of its own and hand back its address: the way in for tests, demos and users."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from entity_tui.errors import EntityError, UsageError
from entity_tui.sim.ctl import Control

READY_TIMEOUT_S = 30.0


class PhoneDidNotStart(EntityError):
    """The simulated phone's process ended or stayed silent before it was ready; its own words are in `detail`."""


@dataclass(frozen=True, slots=True)
class DemoPhone:
    """A running simulated phone.

    `address` is the `host:port` that `adb connect` takes and, once connected, the phone's serial.
    `await phone.ctl("offline-core", "5")` changes the phone; the words are those of `entity-tui sim ctl`.
    """

    address: str
    pid: int
    profile: str
    speed: float
    ctl: Control
    root: Path
    """The phone's private folder on this computer; it is removed when the phone ends."""

    @property
    def host(self) -> str:
        """The loopback address of the phone's adbd."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The loopback port of the phone's adbd."""
        return int(self.address.rpartition(":")[2])


def phone_argv(
    profile: str, *, speed: float = 1.0, engine: Path | None = None, port: int = 0, options: tuple[str, ...] = ()
) -> list[str]:
    """The command line of the process that is the phone; it prints one JSON line when it is ready."""
    argv = [sys.executable, "-m", "entity_tui.sim", "--profile", profile, "--port", str(port), "--speed", str(speed)]
    if engine is not None:
        argv += ["--engine", str(engine)]
    return [*argv, *options]


@asynccontextmanager
async def demo_phone(
    profile: str = "cmf-phone-1",
    speed: float = 1.0,
    engine: Path | None = None,
    port: int = 0,
    *,
    options: tuple[str, ...] = (),
) -> AsyncIterator[DemoPhone]:
    """Run a simulated phone until the block is left.

    `profile` is the name of a shipped demo profile or the path of a snapshot file. `speed` compresses its clock: at 20
    a minute on the phone takes three seconds here. `port` 0 picks a free loopback port. `engine` is a folder or archive
    of a real llama.cpp. Raises UsageError for an unknown profile, PhoneDidNotStart otherwise.
    """
    process = await asyncio.create_subprocess_exec(
        *phone_argv(profile, speed=speed, engine=engine, port=port, options=options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    try:
        yield await _ready(process, profile, speed)
    finally:
        await _end(process)


async def _ready(process: asyncio.subprocess.Process, profile: str, speed: float) -> DemoPhone:
    """Wait for the ready line of the phone's process."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_S)
    except TimeoutError:
        line = b""
    if not line.startswith(b"{"):
        if process.returncode is None:
            process.kill()
        words = (await process.stderr.read()).decode("utf-8", "replace").strip()
        if await process.wait() == UsageError.exit_code:
            raise UsageError(f"no demo phone {profile!r}", detail=words)
        raise PhoneDidNotStart("the demo phone did not start", detail=words)
    ready = json.loads(line)
    return DemoPhone(
        address=str(ready["address"]),
        pid=int(ready["pid"]),
        profile=str(ready["profile"]),
        speed=float(ready["speed"]),
        ctl=Control(Path(ready["ctl"])),
        root=Path(ready["root"]),
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the phone's standard input, which asks it to end, and see that it does."""
    if process.returncode is None and process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 10)
    except TimeoutError:
        process.kill()
        await process.wait()
