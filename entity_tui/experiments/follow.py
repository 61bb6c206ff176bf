"""Starting a runner on a device, and following its journal by byte offset for as long as it takes, cable or no cable.

The laptop owns nothing of a run: it may come late, go away and come back. All it knows it reads from the device's own
files, so a restarted laptop is in the same position as one that never left.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.agent import script
from entity_tui.errors import EntityError, UsageError, Where
from entity_tui.experiments.flatplan import RunnerPlan, render
from entity_tui.records.journal import Event, EventKind, JournalReader
from entity_tui.transport.base import Job, LinkLost, RemoteFileError, Transport, TransportError

POLL_S = 0.5
SILENCE_S = 12.0
"""Longer than two heartbeats of the runner: after that much silence we look whether it still lives."""
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Waits between attempts to get a lost link back; the last one repeats for ever."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_ENDS = frozenset({EventKind.DONE, EventKind.STOP, EventKind.REFUSED})

_WRITE = 'mkdir -p "${1%/*}" && cat >"$1.part" && mv "$1.part" "$1" && wc -c <"$1"'

_LIST = """root=$1
o=; { read -r o < "$root/lock/owner"; } 2>/dev/null && echo "owner $o"
for d in "$root"/runs/*; do
  [ -e "$d/plan.flat" ] || continue
  echo "run ${d##*/}"
  [ -e "$d/journal" ] || continue
  { while read -r line; do case $line in *" run_start "*) echo "start $line" ;; esac; done < "$d/journal"; } 2>/dev/null
  tail -n 1 "$d/journal" | while IFS= read -r line; do echo "last $line"; done
done
"""
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


class RunState(StrEnum):
    """What a run on a device is up to."""

    RUNNING = "running"
    FINISHED = "finished"
    """Its last line says done, stopped or refused."""
    BROKEN = "broken"
    """No last line and no process."""


@dataclass(frozen=True, slots=True)
class RunOnDevice:
    """One run folder found on a device."""

    session_id: str
    plan_hash: str
    state: RunState
    job: Job | None
    """The runner's process, as its journal names it."""
    last_event: str = ""


def run_directory(transport: Transport, session_id: str) -> str:
    """The run's folder on the device. Raises UsageError for a name that could leave our own folder."""
    if not _SESSION.fullmatch(session_id):
        raise UsageError(f"{session_id!r} cannot be the name of a run.")
    return f"{transport.root}/runs/{session_id}"


async def write_file(transport: Transport, path: str, data: bytes) -> None:
    """Write a small file under a temporary name and rename it. Raises RemoteFileError when it did not arrive whole."""
    done = await transport.run(["sh", "-c", _WRITE, "write", path], stdin=data)
    if not done.ok or done.text.strip() != str(len(data)):
        raise RemoteFileError(
            f"Could not write {path} on the device.", detail=done.error_text.strip() or done.text.strip()
        )


async def start(transport: Transport, plan: RunnerPlan) -> RunOnDevice:
    """Start the runner for `plan`, detached. The same session once more continues its journal (see `resume`).

    Raises RunnerBusy while any run is in flight, UsageError for a plan that cannot be written down.
    """
    directory = run_directory(transport, plan.session_id)
    text = render(plan)
    busy = await running(transport)
    if busy is not None:
        raise RunnerBusy(busy.session_id)
    await write_file(transport, f"{directory}/runner.sh", script("runner").encode())
    await write_file(transport, f"{directory}/plan.flat", text.encode())
    await transport.run(["rm", "-f", f"{directory}/stop", f"{directory}/runner.out"])
    argv = ["sh", f"{directory}/runner.sh", directory, f"{directory}/plan.flat", transport.root]
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


async def runs_on(transport: Transport) -> tuple[RunOnDevice, ...]:
    """Every run folder on the device, whoever started it, with what it is up to."""
    text = (await transport.script(_LIST, args=(transport.root,))).text
    found: list[RunOnDevice] = []
    holder: tuple[str, Job] | None = None
    session, begun, last = "", "", ""
    for line in [*text.splitlines(), "run "]:
        word, _, rest = line.partition(" ")
        if word == "owner":
            holder = await _holder(transport, rest)
        elif word == "start":
            begun = rest
        elif word == "last":
            last = rest
        elif word == "run":
            if session:
                found.append(_described(session, begun, last, holder))
            session, begun, last = rest.strip(), "", ""
    return tuple(found)


async def _holder(transport: Transport, owner: str) -> tuple[str, Job] | None:
    """Session and process that hold the lock, if that process lives."""
    words = owner.split()
    if len(words) != 4 or not words[1].isdigit() or not words[2].isdigit():
        return None
    job = Job(words[0], int(words[1]), int(words[2]))
    return (words[3], job) if await transport.alive(job) else None


def _described(session: str, begun: str, last: str, holder: tuple[str, Job] | None) -> RunOnDevice:
    first = next(iter(JournalReader().feed(begun.encode() + b"\n")), None)
    final = next(iter(JournalReader().feed(last.encode() + b"\n")), None)
    job = runner_job(first) if first is not None else None
    state = RunState.FINISHED if final is not None and final.kind in _ENDS else RunState.BROKEN
    if holder is not None and holder[0] == session:
        state, job = RunState.RUNNING, holder[1]
    plan_hash = first.fields.get("plan_hash", "") if first is not None else ""
    return RunOnDevice(session, plan_hash, state, job, final.kind.value if final is not None else "")


def runner_job(event: Event) -> Job | None:
    """The process a `run_start` line names; None for any other line."""
    if event.kind is not EventKind.RUN_START:
        return None
    pid, begun = event.fields.get("pid", ""), event.fields.get("start", "")
    if not pid.isdigit() or not begun.isdigit():
        return None
    return Job(event.fields.get("boot_id", ""), int(pid), int(begun))


async def running(transport: Transport) -> RunOnDevice | None:
    """The run that is in flight on the device right now, or None."""
    return next((run for run in await runs_on(transport) if run.state is RunState.RUNNING), None)


async def attach(transport: Transport, session_id: str) -> RunOnDevice:
    """The run of that name. Raises UsageError when the device has none."""
    for run in await runs_on(transport):
        if run.session_id == session_id:
            return run
    raise UsageError(f"There is no run {session_id} on this device.", fix="entity-tui run list shows what is there.")


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
        data = await _patiently(transport, path, reader.offset, on_link)
        for event in reader.feed(data):
            job = runner_job(event) or job
            ended = event.kind in _ENDS
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
                rest = await _patiently(transport, path, reader.offset, on_link)
                for event in reader.feed(rest):
                    ended = event.kind in _ENDS
                    yield event
                if ended:
                    return
                raise RunnerDied(session_id, rebooted=await _rebooted(transport, job))
        await asyncio.sleep(poll_s)


async def _patiently(
    transport: Transport, path: str, offset: int, on_link: Callable[[TransportError | None], None] | None
) -> bytes:
    """Read on from `offset`; a missing file reads as empty, a lost link is waited for."""
    attempt = 0
    while True:
        try:
            data = await transport.read(path, offset=offset)
        except RemoteFileError:
            data = b""
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
        return data


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


def finished_cells(events: Sequence[Event]) -> frozenset[int]:
    """Numbers of the cells that have their one line in the journal."""
    return frozenset(event.cell for event in events if event.kind is EventKind.CELL and event.cell is not None)
