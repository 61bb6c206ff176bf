"""One running command on a device, seen from here: its output pieces, its standard input and its end."""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Self

from entity_tui.errors import Where
from entity_tui.transport.base import LinkLost, TransportError

LINE_LIMIT_BYTES = 1 << 20
"""A longer line is cut into pieces of this size, so that a hostile device cannot fill our memory."""

STDERR_TAIL_BYTES = 64 * 1024
OUTPUT_LIMIT_BYTES = 128 << 20
SEND_CHUNK_BYTES = 64 * 1024


class PieceKind(Enum):
    """What a piece of a running command is."""

    STDOUT = "stdout"
    STDERR = "stderr"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of output, or the exit code (128 + n for signal n) once everything else has been received."""

    kind: PieceKind
    data: bytes = b""
    code: int = 0


class Channel(abc.ABC):
    """A command that runs on the device. `receive` may be cancelled at any time without losing a byte."""

    @abc.abstractmethod
    async def receive(self) -> Piece:
        """The next piece. Raises LinkLost when the link ends before the command did."""

    @abc.abstractmethod
    async def send(self, data: bytes) -> None:
        """Write to standard input and wait until the link has taken it. Raises LinkLost, or BrokenPipeError."""

    @abc.abstractmethod
    async def close_stdin(self) -> None:
        """Give the command an end of file on its standard input."""

    @abc.abstractmethod
    async def end(self) -> bool:
        """End the command if it still runs, then let go. True when the command is known to be over."""

    async def abandon(self) -> None:
        """Let go at once without asking the device for anything, for a link that no longer answers."""
        await self.end()


async def feed(channel: Channel, data: bytes) -> None:
    """Send all of `data`, then end of file. A command that does not read its input is no failure."""
    view = memoryview(data)
    with contextlib.suppress(BrokenPipeError, ConnectionError, LinkLost):
        for start in range(0, len(view), SEND_CHUNK_BYTES):
            await channel.send(bytes(view[start : start + SEND_CHUNK_BYTES]))
        await channel.close_stdin()


class Output:
    """What a command printed so far, kept outside the coroutine so that a deadline can still report it."""

    def __init__(self) -> None:
        self._stdout: list[bytes] = []
        self._stderr: list[bytes] = []
        self._size_bytes = 0

    def add(self, piece: Piece) -> None:
        """Keep a piece of output. Raises TransportError when there is more than any honest command prints."""
        self._size_bytes += len(piece.data)
        if self._size_bytes > OUTPUT_LIMIT_BYTES:
            raise TransportError(
                "A command printed more than can be kept",
                detail=f"over {OUTPUT_LIMIT_BYTES >> 20} MiB; it was ended",
                fix="Stream it, or write it to a file on the device and pull that.",
                where=Where.DEVICE,
            )
        (self._stdout if piece.kind is PieceKind.STDOUT else self._stderr).append(piece.data)

    @property
    def stdout(self) -> bytes:
        """Standard output so far."""
        return b"".join(self._stdout)

    @property
    def stderr(self) -> bytes:
        """Standard error so far."""
        return b"".join(self._stderr)


async def collect(channel: Channel, output: Output, stdin: bytes | None) -> int:
    """Run the channel to its end; returns the exit code. `output` fills up on the way."""
    feeder = asyncio.ensure_future(feed(channel, stdin or b""))
    try:
        while True:
            piece = await channel.receive()
            if piece.kind is PieceKind.EXIT:
                return piece.code
            output.add(piece)
    finally:
        feeder.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await feeder


class LineStream:
    """The lines of a running command as they arrive, plus its exit code and the end of its stderr.

    The iteration ends when the command ends (see `exit_code`) and raises LinkLost when the link does.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._stderr = bytearray()
        self.exit_code: int | None = None
        """None while the command runs."""

    @property
    def error_text(self) -> str:
        """The last 64 KiB the command wrote to stderr."""
        return self._stderr.decode("utf-8", "replace")

    def __aiter__(self) -> Self:
        """The stream is its own iterator."""
        return self

    async def __anext__(self) -> str:
        """The next line without its newline; bytes that are not UTF-8 become U+FFFD."""
        while not self._lines:
            if self.exit_code is not None:
                raise StopAsyncIteration
            self._take(await self._channel.receive())
        return self._lines.popleft().decode("utf-8", "replace")

    async def send(self, data: bytes) -> None:
        """Write to the command's standard input, which a stream without `stdin` holds open."""
        await self._channel.send(data)

    async def close_stdin(self) -> None:
        """Give the command an end of file, the gentle way to end one that reads its input."""
        await self._channel.close_stdin()

    def _take(self, piece: Piece) -> None:
        if piece.kind is PieceKind.EXIT:
            if self._rest:
                self._lines.append(bytes(self._rest))
                self._rest.clear()
            self.exit_code = piece.code
        elif piece.kind is PieceKind.STDERR:
            self._stderr += piece.data
            del self._stderr[:-STDERR_TAIL_BYTES]
        else:
            self._split(piece.data)

    def _split(self, data: bytes) -> None:
        *ended, begun = data.split(b"\n")
        for part in ended:
            self._grow(part)
            self._lines.append(bytes(self._rest))
            self._rest.clear()
        self._grow(begun)

    def _grow(self, part: bytes) -> None:
        """More of the line that is not over: where it is cut depends on its length alone, not on how it arrived."""
        self._rest += part
        while len(self._rest) > LINE_LIMIT_BYTES:
            self._lines.append(bytes(self._rest[:LINE_LIMIT_BYTES]))
            del self._rest[:LINE_LIMIT_BYTES]
