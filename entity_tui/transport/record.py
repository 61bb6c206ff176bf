"""A transport that writes down everything that passes through another one, so that the session can be replayed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Self, TextIO

from entity_tui.transport import recording
from entity_tui.transport.base import Completed, DeviceState, Job, Progress, Transfer, Transport, TransportError
from entity_tui.transport.recording import key_of, pack_bytes


class _TappedLines:
    """Lines on their way to their reader, each noted with its time."""

    def __init__(self, lines: AsyncIterator[str], note: dict[str, Any]) -> None:
        self._lines = lines
        self._note = note
        self._began = time.monotonic()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        try:
            line = await anext(self._lines)
        except StopAsyncIteration:
            self._note["exit_code"] = getattr(self._lines, "exit_code", None)
            raise
        except TransportError as error:
            self._note["error"] = recording.pack_error(error)
            raise
        self._note["lines"].append([round(time.monotonic() - self._began, 4), line])
        return line


class RecordingTransport(Transport):
    """Passes every call to `inner` and appends what came of it to `file`, one JSON line a call."""

    def __init__(self, inner: Transport, file: Path) -> None:
        self._inner = inner
        self._path = file
        self._out: TextIO | None = None
        self._began = time.monotonic()
        self.kind = inner.kind
        self.spec = inner.spec
        self.simulated = inner.simulated

    @property
    def root(self) -> str:  # type: ignore[override]
        """The root of the device that is recorded."""
        return self._inner.root

    async def connect(self) -> None:
        """Connect the inner transport, then start the file with what it is."""
        await self._inner.connect()
        self._out = self._path.open("w", encoding="utf-8")
        names = ("kind", "spec", "simulated", "root", "boot_id", "home", "uid", "launch_context")
        head = {name: getattr(self._inner, name, None) for name in names}
        self._write({"entity_recording": recording.FORMAT_VERSION, **head})

    async def close(self) -> None:
        """Close the inner transport and the file."""
        await self._inner.close()
        if self._out is not None:
            self._out.close()
            self._out = None

    def _write(self, row: dict[str, Any]) -> None:
        if self._out is not None:
            self._out.write(json.dumps({"at_s": round(time.monotonic() - self._began, 4), **row}) + "\n")
            self._out.flush()

    @contextlib.contextmanager
    def _noting(self, call: str, **arguments: Any) -> Any:
        row: dict[str, Any] = {"key": key_of(call, arguments)}
        try:
            yield row
        except TransportError as error:
            row["error"] = recording.pack_error(error)
            raise
        finally:
            if len(row) > 1:  # a call that was cancelled has no outcome to replay
                self._write(row)

    async def run(self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float = 30.0) -> Completed:
        """Run and note."""
        with self._noting("run", argv=list(argv), stdin=None if stdin is None else pack_bytes(stdin)) as row:
            result = await self._inner.run(argv, stdin=stdin, timeout_s=timeout_s)
            row["result"] = recording.pack_completed(result)
        return result

    async def script(self, text: str, *, args: Sequence[str] = (), timeout_s: float = 30.0) -> Completed:
        """Run a script and note."""
        with self._noting("script", text=text, args=list(args)) as row:
            result = await self._inner.script(text, args=args, timeout_s=timeout_s)
            row["result"] = recording.pack_completed(result)
        return result

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes | None = None) -> AsyncIterator[AsyncIterator[str]]:
        """Stream and note every line with its time."""
        given = None if stdin is None else pack_bytes(stdin)
        with self._noting("stream", argv=list(argv), stdin=given) as row:
            row["lines"] = []
            async with self._inner.stream(argv, stdin=stdin) as lines:
                yield _TappedLines(lines, row)

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read and note."""
        with self._noting("read", path=path, offset=offset, limit=limit) as row:
            data = await self._inner.read(path, offset=offset, limit=limit)
            row["result"] = pack_bytes(data)
        return data

    async def push(
        self, local: Path, remote: str, *, mode: int = 0o644, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Push; a file's content is not part of a recording."""
        return await self._inner.push(local, remote, mode=mode, progress=progress, verify=verify)

    async def pull(
        self, remote: str, local: Path, *, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Pull; a file's content is not part of a recording."""
        return await self._inner.pull(remote, local, progress=progress, verify=verify)

    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """Forward; what passes through a port is not part of a recording."""
        return self._inner.forward(port)

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """Follow and note every state with its time."""
        async for state in self._inner.states():
            self._write({"state": state.value})
            yield state

    async def spawn(self, argv: Sequence[str], *, directory: str, stdout: str, stderr: str) -> Job:
        """Spawn and note."""
        with self._noting("spawn", argv=list(argv), directory=directory, stdout=stdout, stderr=stderr) as row:
            job = await self._inner.spawn(argv, directory=directory, stdout=stdout, stderr=stderr)
            row["result"] = recording.pack_job(job)
        return job

    async def alive(self, job: Job) -> bool:
        """Ask and note."""
        with self._noting("alive", job=recording.pack_job(job)) as row:
            row["result"] = alive = await self._inner.alive(job)
        return alive

    async def signal(self, job: Job, number: int) -> bool:
        """Signal and note."""
        with self._noting("signal", job=recording.pack_job(job), number=number) as row:
            row["result"] = sent = await self._inner.signal(job, number)
        return sent
