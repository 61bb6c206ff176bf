"""Starting a runner on a device, and following its journal by byte offset for as long as it takes, cable or no cable.

The laptop owns nothing of a run: it may come late, go away and come back. All it knows it reads from the device's own
files, so a restarted laptop is in the same position as one that never left.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from entity_tui.agent import script
from entity_tui.errors import EntityError, Where
from entity_tui.experiments.device_runs import (
    ENDS,
    RunOnDevice,
    RunState,
    attach,
    run_directory,
    runner_job,
    running,
    runs_on,
)
from entity_tui.experiments.flatplan import RunnerPlan, render
from entity_tui.records.journal import Event, JournalReader
from entity_tui.transport.base import Job, LinkLost, RemoteFileError, Transport, TransportError

__all__ = [
    "RunOnDevice",
    "RunState",
    "RunnerBusy",
    "RunnerDied",
    "attach",
    "follow",
    "patiently",
    "run_directory",
    "runner_job",
    "running",
    "runs_on",
    "start",
    "stop",
    "write_file",
]

T = TypeVar("T")

POLL_S = 0.5
SILENCE_S = 12.0
"""Longer than two heartbeats of the runner: after that much silence we look whether it still lives."""
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Waits between attempts to get a lost link back; the last one repeats for ever."""


_WRITE = 'mkdir -p "${1%/*}" && cat >"$1.part" && mv "$1.part" "$1" && wc -c <"$1"'
_WRITE_PLAN = f'{_WRITE}; rm -f "${{1%/*}}/stop" "${{1%/*}}/runner.out"; [ ! -e "$2" ] || echo runner'

_BEGUN = """o=; { read -r o < "$1/runner.out"; } 2>/dev/null; case $o in locked*) echo "$o"; exit;; esac
p=$3; o=; { read -r o < "$2/owner"; } 2>/dev/null; set -- $o; [ "$2" = "$p" ] && echo owned
"""


class RunnerBusy(EntityError):
    """Another run is in flight on the device; `session_id` names it."""

    exit_code = 4
    where = Where.DEVICE

    def __init__(self, session_id: str) -> None:
        super().__init__(
            "A run is in flight on this device.",
            detail=f"session {session_id or 'of another host'}",
            fix="Attach to it, stop it, or wait until it is done.",
        )
        self.session_id = session_id


class RunnerDied(EntityError):
    """The runner ended without its last line: killed, rebooted or out of space. What it finished is kept."""

    where = Where.DEVICE
    retry = True

    def __init__(self, session_id: str, *, rebooted: bool) -> None:
        self.rebooted = rebooted
        super().__init__(
            "The device restarted during the run." if rebooted else "The run ended early on the device.",
            detail=f"session {session_id}: its journal has no last line and its process is gone",
            fix="Resume it: finished cells stay, the block that was open is run again.",
        )


async def write_file(transport: Transport, path: str, data: bytes) -> None:
    """Write a small file under a temporary name and rename it. Raises RemoteFileError when it did not arrive whole."""
    await _written(transport, ["sh", "-c", _WRITE, "write", path], data)


async def _written(transport: Transport, argv: Sequence[str], data: bytes) -> list[str]:
    """What the writing command said after the number of bytes, which must be right."""
    done = await transport.run(argv, stdin=data)
    words = done.text.split()
    if words[:1] != [str(len(data))]:
        detail = done.error_text.strip() or done.text.strip()
        raise RemoteFileError(f"Could not write {argv[4]} on the device.", detail=detail)
    return words[1:]


async def start(transport: Transport, plan: RunnerPlan) -> RunOnDevice:
    """Start the runner for `plan`, detached. The same session once more continues its journal (see `resume`).

    Raises RunnerBusy while any run is in flight, UsageError for a plan that cannot be written down.
    """
    directory = run_directory(transport, plan.session_id)
    text = render(plan)
    busy = await running(transport)
    if busy is not None:
        raise RunnerBusy(busy.session_id)
    code = script("runner").encode()
    runner = f"{transport.root}/agent/runner-{hashlib.sha256(code).hexdigest()[:12]}.sh"
    said = await _written(
        transport, ["sh", "-c", _WRITE_PLAN, "write", f"{directory}/plan.flat", runner], text.encode()
    )
    if said != ["runner"]:
        await write_file(transport, runner, code)
    argv = ["sh", runner, directory, f"{directory}/plan.flat", transport.root]
    job = await transport.spawn(argv, directory="/", stdout=f"{directory}/runner.out", stderr=f"{directory}/runner.err")
    await _begun(transport, directory, job)
    return RunOnDevice(plan.session_id, plan.plan_hash, RunState.RUNNING, job)


async def _begun(transport: Transport, directory: str, job: Job) -> None:
    """Wait until the runner holds the lock, has ended, or was refused the lock by a faster one (RunnerBusy)."""
    for _ in range(40):
        said = await transport.script(_BEGUN, args=(directory, f"{transport.root}/lock", str(job.pid)))
        words = said.text.split()
        if words[:1] == ["locked"]:
            raise RunnerBusy(words[4] if len(words) > 4 else "")
        if words == ["owned"]:
            return
        if not await transport.alive(job):
            return
        await asyncio.sleep(0.1)


async def stop(transport: Transport, session_id: str, *, now: bool = False) -> None:
    """Ask the runner to stop: after the cell it is at, or at once (that cell ends as `cancelled`)."""
    await write_file(transport, f"{run_directory(transport, session_id)}/stop", b"now\n" if now else b"after_cell\n")


async def follow(
    transport: Transport,
    session_id: str,
    *,
    on_link: Callable[[TransportError | None], None] | None = None,
    poll_s: float = POLL_S,
    silence_s: float = SILENCE_S,
) -> AsyncIterator[Event]:
    """Every event of the run from its first, then as they are written, until its last line.

    A lost link is got back by itself, however long it takes; `on_link` is told of it (None: it is back). Raises
    RunnerDied when the process is gone without a last line, and stable TransportErrors (unauthorized, wrong key).
    """
    path = f"{run_directory(transport, session_id)}/journal"
    reader = JournalReader()
    job: Job | None = None
    ended = False
    quiet_s = 0.0
    while True:
        data = await _read_on(transport, path, reader.offset, on_link)
        for event in reader.feed(data):
            job = runner_job(event) or job
            ended = event.kind in ENDS
            yield event
        if ended:
            return
        if data:
            quiet_s = 0.0
            continue
        quiet_s += poll_s
        if quiet_s >= silence_s:
            quiet_s = 0.0
            if not await _lives(transport, job):
                rest = await _read_on(transport, path, reader.offset, on_link)
                for event in reader.feed(rest):
                    ended = event.kind in ENDS
                    yield event
                if ended:
                    return
                raise RunnerDied(session_id, rebooted=await _rebooted(transport, job))
        await asyncio.sleep(poll_s)


async def patiently(
    transport: Transport, call: Callable[[], Awaitable[T]], on_link: Callable[[TransportError | None], None] | None
) -> T:
    """What `call` gives, made again whenever the link is lost meanwhile, until it is back, however long that takes.

    Raises RemoteFileError and every other failure that waiting cannot mend. `call` must bear being made twice.
    """
    attempt = 0
    while True:
        try:
            found = await call()
        except TransportError as error:
            if not error.retry:
                raise
            if on_link is not None:
                on_link(error)
            await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
            attempt += 1
            await _reconnect(transport)
            continue
        if attempt and on_link is not None:
            on_link(None)
        return found


async def _read_on(
    transport: Transport, path: str, offset: int, on_link: Callable[[TransportError | None], None] | None
) -> bytes:
    """Read on from `offset`; a missing file reads as empty, a lost link is waited for."""
    try:
        return await patiently(transport, lambda: transport.read(path, offset=offset), on_link)
    except RemoteFileError:
        return b""


async def _reconnect(transport: Transport) -> None:
    try:
        await transport.connect()
    except TransportError as error:
        if not error.retry:
            raise


async def _lives(transport: Transport, job: Job | None) -> bool:
    if job is None:
        return False
    try:
        return await transport.alive(job)
    except LinkLost:
        return True  # not known: the next read waits for the link


async def _rebooted(transport: Transport, job: Job | None) -> bool:
    if job is None:
        return False
    done = await transport.run(["cat", "/proc/sys/kernel/random/boot_id"])
    return done.ok and done.text.strip() != job.boot_id
