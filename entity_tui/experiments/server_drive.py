"""Asks the servers of a run with the server instrument: one request a launch, then the server is ended by its id."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entity_tui.chat.sse import EventReader, StreamBroken
from entity_tui.digits import whole
from entity_tui.engine.server import loopback_client
from entity_tui.engine.server_log import read_start_log
from entity_tui.experiments.device_runs import run_directory
from entity_tui.experiments.equivalence import study_text
from entity_tui.experiments.follow import patiently, write_file
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.server_bench import ANSWER, FIRST, asked_tokens
from entity_tui.records.journal_events import Event, EventKind, LaunchEnd
from entity_tui.records.schema import Role
from entity_tui.transport.base import Job, LinkLost, RemoteFileError, Transport, TransportError

if TYPE_CHECKING:
    import httpx

POLL_S = 0.1
TERM = 15
REFUSAL_CHARS = 500
LOG_BYTES = 1 << 20
"""The port stands in the first lines of a server's log, whatever follows."""

_KEY = 'umask 077; mkdir -p "$1/slots" && cat > "$1/key"'
"""Over standard input: a key on a command line shows in `ps`."""


@dataclass(frozen=True, slots=True)
class _Started:
    """One launch, as the journal tells of it."""

    folder: str
    phase: str
    role: str
    job: Job


async def leave_key(transport: Transport, session_id: str) -> None:
    """Put a fresh random key where the servers of this run look for it. Raises the transport's errors."""
    folder = run_directory(transport, session_id)
    done = await transport.run(["sh", "-c", _KEY, "key", folder], stdin=secrets.token_hex(24).encode())
    if not done.ok:
        raise RemoteFileError("Could not write the key of this run's servers.", detail=done.error_text.strip())


class ServerDriver:
    """Follows a run's events and does what its launches wait for. `on_rate` gets the decode speed as it goes, tok/s."""

    def __init__(self, transport: Transport, plan: Plan, session_id: str, on_rate: Callable[[float], None]) -> None:
        self._transport = transport
        self._plan = plan
        self._folder = run_directory(transport, session_id)
        self._on_rate = on_rate
        self._role = str(Role.MEASURE)
        self._boot_id = ""
        self._task: asyncio.Task[None] | None = None

    def see(self, event: Event) -> None:
        """Take in one journal event, old or new: a launch that has ended already is left alone."""
        if event.kind is EventKind.RUN_START:
            self._boot_id = event.fields.get("boot_id", "")
        elif event.kind is EventKind.CELL_START:
            self._role = event.fields.get("role", str(Role.MEASURE))
        elif isinstance(event, LaunchEnd):
            self._let_go()
        elif event.kind is EventKind.LAUNCH and (started := self._started(event)) is not None:
            self._let_go()
            self._task = asyncio.create_task(self._drive(started))

    def _started(self, event: Event) -> _Started | None:
        pid, start = (whole(event.fields.get(name)) for name in ("pid", "start"))
        if pid is None or start is None:
            return None
        folder = f"{self._folder}/cells/{event.cell}.{event.attempt}.tmp"
        return _Started(folder, event.fields.get("phase", ""), self._role, Job(self._boot_id, pid, start))

    def _let_go(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = None

    async def leave(self) -> None:
        """Leave a request that is still open; whoever follows the run next asks again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def end(self) -> None:
        """The run is over: take its key away."""
        await self.leave()
        try:
            await self._transport.run(["rm", "-rf", f"{self._folder}/key", f"{self._folder}/slots"])
        except TransportError:
            return  # `clean` takes it with the rest of the run

    async def _drive(self, started: _Started) -> None:
        """One launch: wait until it listens, ask, write down the answer, end it. A lost link is waited for."""
        try:
            answer = await patiently(self._transport, lambda: self._ask(started), None)
        except (TransportError, ValueError, KeyError, TypeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:REFUSAL_CHARS]}
        if answer is None:
            return  # it ended before it listened: the runner names the reason from its log
        data = json.dumps(answer, separators=(",", ":")).encode()
        path = f"{started.folder}/{started.phase}.{ANSWER}"
        await patiently(self._transport, lambda: write_file(self._transport, path, data), None)
        await patiently(self._transport, lambda: self._transport.signal(started.job, TERM), None)

    async def _ask(self, started: _Started) -> dict[str, Any] | None:
        import httpx

        port = await self._listening(started)
        if port is None:
            return None
        key = (await self._transport.read(f"{self._folder}/key", limit=4096)).decode("ascii", "replace").strip()
        async with (
            self._transport.forward(port) as local,
            loopback_client(local, key, read_s=self._plan.limits.launch_s) as client,
        ):
            try:
                return await self._request(client, started)
            except (httpx.TransportError, StreamBroken) as error:
                if not await self._transport.alive(started.job):
                    return None
                raise LinkLost("The server did not answer.", detail=str(error) or type(error).__name__) from error

    async def _listening(self, started: _Started) -> int | None:
        while True:
            try:
                path = f"{started.folder}/{started.phase}.err"
                text = (await self._transport.read(path, limit=LOG_BYTES)).decode("utf-8", "replace")
            except RemoteFileError:
                return None
            if (port := read_start_log(text).port) is not None:
                return port
            await asyncio.sleep(POLL_S)

    async def _request(self, client: httpx.AsyncClient, started: _Started) -> dict[str, Any]:
        prompt, generate = asked_tokens(self._plan, started.phase, started.role)
        told = await client.post("/tokenize", json={"content": study_text()})
        if told.status_code != 200:
            return {"error": told.text[:REFUSAL_CHARS]}
        ids = told.json()["tokens"]
        if not isinstance(ids, list) or not ids:
            return {"error": "the server made no tokens of a text"}
        body = {
            "prompt": (ids * (prompt // len(ids) + 1))[:prompt],
            "n_predict": generate + FIRST,
            "temperature": 0.0,
            "ignore_eos": True,
            "cache_prompt": False,
            "stream": True,
        }
        began = time.monotonic()
        arrivals: list[float] = []
        reader = EventReader()
        last: dict[str, Any] = {}
        async with client.stream("POST", "/completion", json=body) as answer:
            if answer.status_code != 200:
                return {"error": (await answer.aread()).decode("utf-8", "replace")[:REFUSAL_CHARS]}
            async for data in answer.aiter_bytes():
                for event in reader.feed(data):
                    if "error" in event:
                        return {"error": json.dumps(event["error"])[:REFUSAL_CHARS]}
                    last = event
                    if (event.get("content") or event.get("tokens")) and len(arrivals) < generate + FIRST:
                        arrivals.append(time.monotonic() - began)
                        self._tell(arrivals)
        return {
            "timings": last.get("timings"),
            "stop_type": last.get("stop_type"),
            "truncated": last.get("truncated"),
            "arrivals_s": [round(at, 4) for at in arrivals],
        }

    def _tell(self, arrivals: list[float]) -> None:
        """Decode speed over the last second of arrivals, from the second token on."""
        first = bisect_right(arrivals, arrivals[-1] - 1.0)
        steps, seconds = len(arrivals) - 1 - first, arrivals[-1] - arrivals[first]
        if seconds > 0:
            self._on_rate(steps / seconds)
