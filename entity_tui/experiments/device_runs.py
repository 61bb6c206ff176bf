"""The run folders on a device, whoever started them: which one is running, which one is finished, which one was cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.digits import whole
from entity_tui.errors import UsageError
from entity_tui.records.journal import Event, EventKind, JournalReader, JournalVersionError
from entity_tui.transport.base import Job, Transport

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
ENDS = frozenset({EventKind.DONE, EventKind.STOP, EventKind.REFUSED})
"""The last line of every run that was not cut."""

_LIST = """root=$1
o=; { read -r o < "$root/lock/owner"; } 2>/dev/null && echo "owner $o"
for d in "$root"/runs/*; do
  case ${d##*/} in *[!A-Za-z0-9._-]*) continue ;; esac
  [ -e "$d/plan.flat" ] || continue
  echo "run ${d##*/}"
  [ -e "$d/journal" ] || continue
  { while read -r line; do case $line in *" run_start "*) echo "start $line" ;; esac; done < "$d/journal"; } 2>/dev/null
  tail -n 1 "$d/journal" | while IFS= read -r line; do echo "last $line"; done
done
"""


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


async def runs_on(transport: Transport) -> tuple[RunOnDevice, ...]:
    """Every run folder on the device, whoever started it, with what it is up to."""
    text = (await transport.script(_LIST, args=(transport.root,))).text
    found: list[RunOnDevice] = []
    holder: tuple[str, Job] | None = None
    session, begun, last = "", "", ""
    for line in [*text.split("\n"), "run "]:
        word, _, rest = line.partition(" ")
        if word == "owner":
            holder = await _holder(transport, rest)
        elif word == "start":
            begun = rest
        elif word == "last":
            last = rest
        elif word == "run":
            if _SESSION.fullmatch(session):
                found.append(_described(session, begun, last, holder))
            session, begun, last = rest.strip(), "", ""
    return tuple(found)


async def _holder(transport: Transport, owner: str) -> tuple[str, Job] | None:
    """Session and process that hold the lock, if that process lives."""
    words = owner.split()
    if len(words) != 4:
        return None
    pid, begun = whole(words[1]), whole(words[2])
    if pid is None or begun is None:
        return None
    job = Job(words[0], pid, begun)
    return (words[3], job) if await transport.alive(job) else None


def _described(session: str, begun: str, last: str, holder: tuple[str, Job] | None) -> RunOnDevice:
    first, final = _event(begun), _event(last)
    job = runner_job(first) if first is not None else None
    state = RunState.FINISHED if final is not None and final.kind in ENDS else RunState.BROKEN
    if holder is not None and holder[0] == session:
        state, job = RunState.RUNNING, holder[1]
    plan_hash = first.fields.get("plan_hash", "") if first is not None else ""
    return RunOnDevice(session, plan_hash, state, job, final.kind.value if final is not None else "")


def _event(line: str) -> Event | None:
    """One line of a journal; None for one that is cut, and for one of another version: that run is not ours to read."""
    try:
        return next(iter(JournalReader().feed(line.encode() + b"\n")), None)
    except JournalVersionError:
        return None


def runner_job(event: Event) -> Job | None:
    """The process a `run_start` line names; None for any other line."""
    if event.kind is not EventKind.RUN_START:
        return None
    pid, begun = whole(event.fields.get("pid")), whole(event.fields.get("start"))
    if pid is None or begun is None:
        return None
    return Job(event.fields.get("boot_id", ""), pid, begun)


async def running(transport: Transport) -> RunOnDevice | None:
    """The run that is in flight on the device right now, or None."""
    return next((run for run in await runs_on(transport) if run.state is RunState.RUNNING), None)


async def attach(transport: Transport, session_id: str) -> RunOnDevice:
    """The run of that name. Raises UsageError when the device has none."""
    for run in await runs_on(transport):
        if run.session_id == session_id:
            return run
    raise UsageError(f"There is no run {session_id} on this device.", fix="entity-tui run list shows what is there.")
