"""A recorded session as a device: every question that was asked then has the answer it had then."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NoReturn, Self

from entity_tui.errors import UsageError
from entity_tui.transport import recording
from entity_tui.transport.base import Completed, DeviceState, Job, Progress, Transfer, Transport, Unsupported
from entity_tui.transport.recording import key_of, pack_bytes


class _ReplayedLines:
    """The lines of a recorded stream, at the recorded pace divided by `speed` (0: at once)."""

    def __init__(self, row: dict[str, Any], speed: float) -> None:
        self._row = row
        self._rest = deque(row["lines"])
        self._speed = speed
        self._at_s = 0.0
        self.exit_code: int | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        if not self._rest:
            if "error" in self._row:
                raise recording.unpack_error(self._row["error"])
            self.exit_code = self._row.get("exit_code")
            raise StopAsyncIteration
        at_s, line = self._rest.popleft()
        if self._speed > 0:
            await asyncio.sleep(max(0.0, at_s - self._at_s) / self._speed)
        self._at_s = at_s
        return str(line)


class ReplayTransport(Transport):
    """Answers from a recording made by RecordingTransport.

    A question asked several times is answered in the recorded order, the last answer then stays; one that was never
    asked raises Unsupported. Files are not part of a recording: push, pull and forward are Unsupported.
    """

    kind = "replay"

    def __init__(self, file: Path, *, speed: float = 0.0) -> None:
        self._path = file
        self._speed = speed
        self._answers: dict[str, deque[dict[str, Any]]] = {}
        self._states: list[tuple[float, DeviceState]] = []
        self.spec = f"replay:{file}"
        self.root = ""
        self.boot_id = ""
        self.recorded_spec = ""

    async def connect(self) -> None:
        """Read the recording. Raises UsageError when the file is none."""
        try:
            rows = [json.loads(line) for line in self._path.read_text(encoding="utf-8").split("\n") if line]
        except (OSError, ValueError) as error:
            raise UsageError(f"{self._path} cannot be read as a recording", detail=str(error)) from error
        if not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{self._path} cannot be read as a recording", detail="a line is no object")
        if not rows or rows[0].get("entity_recording") != recording.FORMAT_VERSION:
            raise UsageError(f"{self._path} is no recording of version {recording.FORMAT_VERSION}")
        head, *rest = rows
        self.root = head.get("root") or ""
        self.boot_id = head.get("boot_id") or ""
        self.simulated = bool(head.get("simulated"))
        self.recorded_spec = head.get("spec") or ""
        for row in rest:
            if "state" in row:
                self._states.append((float(row["at_s"]), DeviceState(row["state"])))
            elif "key" in row:
                self._answers.setdefault(row["key"], deque()).append(row)

    async def close(self) -> None:
        """Nothing is held open."""

    def _answer(self, call: str, **arguments: Any) -> dict[str, Any]:
        rows = self._answers.get(key_of(call, arguments))
        if not rows:
            raise Unsupported(
                f"This was never asked in the recording: {call}",
                detail=json.dumps(arguments)[:500],
                fix="Record the session anew with the version you use now.",
            )
        row = rows.popleft() if len(rows) > 1 else rows[0]
        if "error" in row and call != "stream":
            raise recording.unpack_error(row["error"])
        return row

    async def run(self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float = 30.0) -> Completed:
        """The recorded result."""
        row = self._answer("run", argv=list(argv), stdin=None if stdin is None else pack_bytes(stdin))
        return recording.unpack_completed(row["result"])

    async def script(self, text: str, *, args: Sequence[str] = (), timeout_s: float = 30.0) -> Completed:
        """The recorded result."""
        return recording.unpack_completed(self._answer("script", text=text, args=list(args))["result"])

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes | None = None) -> AsyncIterator[AsyncIterator[str]]:
        """The recorded lines."""
        row = self._answer("stream", argv=list(argv), stdin=None if stdin is None else pack_bytes(stdin))
        yield _ReplayedLines(row, self._speed)

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """The recorded bytes."""
        return recording.unpack_bytes(self._answer("read", path=path, offset=offset, limit=limit)["result"])

    def _no_files(self) -> NoReturn:
        raise Unsupported("A recording has no files and no ports", fix="Use the device itself for this.")

    async def push(
        self, local: Path, remote: str, *, mode: int = 0o644, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Unsupported."""
        self._no_files()

    async def pull(
        self, remote: str, local: Path, *, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Unsupported."""
        self._no_files()

    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """Unsupported."""
        self._no_files()

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """The recorded states at their recorded pace; the last one stays."""
        before_s = 0.0
        for at_s, state in self._states or [(0.0, DeviceState.READY)]:
            if self._speed > 0:
                await asyncio.sleep(max(0.0, at_s - before_s) / self._speed)
            before_s = at_s
            yield state
        await asyncio.Event().wait()

    async def spawn(self, argv: Sequence[str], *, directory: str, stdout: str, stderr: str) -> Job:
        """The recorded identity; nothing is started."""
        row = self._answer("spawn", argv=list(argv), directory=directory, stdout=stdout, stderr=stderr)
        return recording.unpack_job(row["result"])

    async def alive(self, job: Job) -> bool:
        """The recorded answer."""
        return bool(self._answer("alive", job=recording.pack_job(job))["result"])

    async def signal(self, job: Job, number: int) -> bool:
        """The recorded answer; nothing is signalled."""
        return bool(self._answer("signal", job=recording.pack_job(job), number=number)["result"])
