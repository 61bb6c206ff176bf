"""One command over SSH: raw bytes, bounded buffers, and an exit status that is never guessed."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from entity_tui.transport.base import LinkLost
from entity_tui.transport.channel import Channel, Piece, PieceKind

if TYPE_CHECKING:
    import asyncssh

_HIGH_WATER_BYTES = 1 << 20
_EXTENDED_DATA_STDERR = 1


class SshPipes:
    """What asyncssh calls with everything a session says; it quacks like an SSHClientSession of bytes."""

    def __init__(self, released: Callable[[], None]) -> None:
        self._released = released
        self.pieces: deque[Piece] = deque()
        self.buffered_bytes = 0
        self.paused = False
        self.exit_code: int | None = None
        self.closed = False
        self.error: Exception | None = None
        self.arrived = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, channel: asyncssh.SSHClientChannel[bytes]) -> None:
        """The channel exists."""
        self.channel = channel

    def session_started(self) -> None:
        """The command was accepted."""

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Some output; a full buffer stops reading, and the window then stops the far side."""
        kind = PieceKind.STDERR if datatype == _EXTENDED_DATA_STDERR else PieceKind.STDOUT
        self.pieces.append(Piece(kind, data))
        self.buffered_bytes += len(data)
        self.arrived.set()
        if self.buffered_bytes > _HIGH_WATER_BYTES and not self.paused and self.channel is not None:
            self.paused = True
            self.channel.pause_reading()

    def eof_received(self) -> bool:
        """No more output; the channel stays open for the exit status."""
        return True

    def exit_status_received(self, status: int) -> None:
        """The command ended by itself."""
        self.exit_code = status & 0xFF

    def exit_signal_received(self, name: str, core_dumped: bool, message: str, language: str) -> None:
        """The command was killed; the name comes without SIG."""
        number = getattr(signal, f"SIG{name}", signal.SIGKILL)
        self.exit_code = 128 + int(number)

    def xon_xoff_requested(self, client_can_do: bool) -> None:
        """Only terminals use this, and we have none."""

    def pause_writing(self) -> None:
        """The window is full."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """The window has room again."""
        self.writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        """The channel is closed, with or without an exit status before."""
        self.closed = True
        self.error = error
        self.writable.set()
        self.arrived.set()
        self._released()


class SshChannel(Channel):
    """A session channel without a terminal."""

    def __init__(self, channel: asyncssh.SSHClientChannel[bytes], pipes: SshPipes) -> None:
        self._channel = channel
        self._pipes = pipes

    async def receive(self) -> Piece:
        """The next piece. A channel that closes without an exit status is a lost link, never a success."""
        pipes = self._pipes
        while True:
            if pipes.pieces:
                piece = pipes.pieces.popleft()
                pipes.buffered_bytes -= len(piece.data)
                if pipes.paused and pipes.buffered_bytes <= _HIGH_WATER_BYTES // 2:
                    pipes.paused = False
                    self._channel.resume_reading()
                return piece
            if pipes.closed:
                if pipes.exit_code is None:
                    raise LinkLost(
                        "The SSH link ended before the command did",
                        detail=str(pipes.error or "no exit status came"),
                        fix="Check the network; entity-tui connects again by itself.",
                    )
                return Piece(PieceKind.EXIT, code=pipes.exit_code)
            pipes.arrived.clear()
            await pipes.arrived.wait()

    async def send(self, data: bytes) -> None:
        """Write, and wait while the far side's window is full."""
        if self._pipes.closed or self._channel.is_closing():
            if self._pipes.exit_code is not None:
                raise BrokenPipeError("the command is over")
            raise LinkLost("The SSH link ended", detail=str(self._pipes.error or ""))
        try:
            self._channel.write(data)
        except OSError as error:
            raise BrokenPipeError("the command reads no more") from error
        await self._pipes.writable.wait()

    async def close_stdin(self) -> None:
        """End of file for the command."""
        if not self._pipes.closed and not self._channel.is_closing():
            self._channel.write_eof()

    async def end(self) -> bool:
        """Ask the server to end the group (OpenSSH 7.9 and newer do), then close without waiting."""
        over = self._pipes.closed
        if not over:
            if self._pipes.exit_code is None and not self._channel.is_closing():
                self._channel.terminate()
            if self._pipes.paused:
                self._pipes.paused = False
                self._channel.resume_reading()
            self._channel.abort()
        return over and self._pipes.exit_code is not None


async def open_channel(connection: Any, command: str, released: Callable[[], None]) -> SshChannel:
    """Start `command` on an asyncssh connection; `released` is called once when its session ends."""
    pipes = SshPipes(released)
    channel, _ = await connection.create_session(
        lambda: pipes, command, encoding=None, request_pty=False, window=8 << 20, send_env=(), x11_forwarding=False
    )
    return SshChannel(channel, pipes)
