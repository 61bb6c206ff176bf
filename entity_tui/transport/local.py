"""This computer as a device: the same contract over plain child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncGenerator
from pathlib import Path

from entity_tui.transport.base import DeviceState, TransportError
from entity_tui.transport.channel import Channel, Piece, PieceKind
from entity_tui.transport.shell import ShellTransport
from entity_tui.transport.tracking import Tracking

_HIGH_WATER_BYTES = 1 << 20
_PIPES = {1: PieceKind.STDOUT, 2: PieceKind.STDERR}


class _ChildProtocol(asyncio.SubprocessProtocol):
    """Keeps the output of a child in a bounded buffer: a reader that is slow makes the child wait."""

    def __init__(self) -> None:
        self.pieces: deque[Piece] = deque()
        self.buffered_bytes = 0
        self.open_pipes = {1, 2}
        self.exited = False
        self.arrived = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self.transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.pieces.append(Piece(_PIPES[fd], data))
        self.buffered_bytes += len(data)
        self.arrived.set()
        if self.buffered_bytes > _HIGH_WATER_BYTES:
            self.flow(paused=True)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.open_pipes.discard(fd)
        if fd == 0:
            self.writable.set()
        self.arrived.set()

    def process_exited(self) -> None:
        self.exited = True
        self.writable.set()
        self.arrived.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def flow(self, *, paused: bool) -> None:
        """Stop or go on reading both output pipes."""
        assert self.transport is not None
        for fd in sorted(self.open_pipes & {1, 2}):
            pipe = self.transport.get_pipe_transport(fd)
            if isinstance(pipe, asyncio.ReadTransport):
                with contextlib.suppress(RuntimeError):
                    pipe.pause_reading() if paused else pipe.resume_reading()


class LocalChannel(Channel):
    """A child process in a session of its own, so that ending it ends its whole group."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _ChildProtocol) -> None:
        self._transport = transport
        self._protocol = protocol

    @classmethod
    async def start(cls, argv: list[str]) -> LocalChannel:
        """Start `argv` with three pipes. Raises TransportError when this computer cannot start it."""
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.subprocess_exec(
                _ChildProtocol,
                *argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TransportError("This computer could not start a process", detail=str(error)) from error
        return cls(transport, protocol)

    async def receive(self) -> Piece:
        """The next piece of output, or the exit once both pipes are at their end."""
        protocol = self._protocol
        while True:
            if protocol.pieces:
                piece = protocol.pieces.popleft()
                was, protocol.buffered_bytes = protocol.buffered_bytes, protocol.buffered_bytes - len(piece.data)
                if was > _HIGH_WATER_BYTES >= protocol.buffered_bytes:
                    protocol.flow(paused=False)
                return piece
            if protocol.exited and not protocol.open_pipes & {1, 2}:
                code = self._transport.get_returncode() or 0
                return Piece(PieceKind.EXIT, code=128 - code if code < 0 else code)
            protocol.arrived.clear()
            await protocol.arrived.wait()

    async def send(self, data: bytes) -> None:
        """Write to the child's input; BrokenPipeError when it has closed it."""
        pipe = self._transport.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing() or self._protocol.exited:
            raise BrokenPipeError("the command reads no more")
        pipe.write(data)
        await self._protocol.writable.wait()

    async def close_stdin(self) -> None:
        """End of file for the child; what was written before still reaches it."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.close()

    async def end(self) -> bool:
        """TERM to the group, KILL a second later to what is left of it; the pipes are closed."""
        group = self._transport.get_pid()
        if not self._protocol.exited or self._protocol.open_pipes & {1, 2}:
            _signal_group(group, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._exited(), 1.0)
            _signal_group(group, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._exited(), 1.0)
        self._transport.close()
        return self._protocol.exited

    async def _exited(self) -> None:
        while not self._protocol.exited:
            self._protocol.pieces.clear()
            self._protocol.flow(paused=False)
            self._protocol.arrived.clear()
            await self._protocol.arrived.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class LocalTransport(ShellTransport):
    """This computer. `root` is `$HOME/.cache/entity`, or $ENTITY_ROOT where tests set it."""

    kind = "local"
    command_limit_bytes = 120_000
    tracking = Tracking.OWN

    def __init__(self, root: str | None = None) -> None:
        super().__init__()
        self.spec = "local"
        self.root = root or os.environ.get("ENTITY_ROOT") or str(Path.home() / ".cache" / "entity")

    async def connect(self) -> None:
        """Read who and where we are; there is no link that could fail."""
        await self.greet()

    async def _close_link(self) -> None:
        return None

    async def _open(self, command: str, *, timeout_s: float) -> Channel:
        return await LocalChannel.start(["/bin/sh", "-c", command])

    async def _dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    async def listed_state(self) -> DeviceState:
        """This computer is always ready."""
        return DeviceState.READY

    async def recover(self) -> None:
        """There is nothing that could be lost."""

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """This computer is always ready."""
        yield DeviceState.READY
        await asyncio.Event().wait()
