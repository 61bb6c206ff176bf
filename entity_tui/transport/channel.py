"""One running command on a device, seen from here: its output pieces, its standard input and its end."""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Self

from entity_tui.transport.base import LinkLost, TransportError

LINE_LIMIT_BYTES = 1 << 20
"""A longer line is cut into pieces of this size, so that a hostile device cannot fill our memory."""

STDERR_TAIL_BYTES = 64 * 1024
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

    def add(self, piece: Piece) -> None:
        """Keep a piece of output."""
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
        first, *others = data.split(b"\n")
        self._rest += first
        for part in others:
            self._lines.append(bytes(self._rest))
            self._rest[:] = part
        while len(self._rest) >= LINE_LIMIT_BYTES:
            self._lines.append(bytes(self._rest[:LINE_LIMIT_BYTES]))
            del self._rest[:LINE_LIMIT_BYTES]


class TrackedChannel(Channel):
    """A channel whose first line on stderr tells the device's pid, so that letting go can end the whole group.

    `mark` is a random word, so that a command's own output can never be taken for it. `killer` ends the process
    group of a pid on the device through another channel and says whether it could.
    """

    def __init__(self, inner: Channel, mark: bytes, killer: Killer) -> None:
        self._inner = inner
        self._mark = mark
        self._killer = killer
        self._head: bytearray | None = bytearray()
        self._pid: int | None = None
        self._over = False
        self._kept: deque[Piece] = deque()

    async def receive(self) -> Piece:
        """The next piece that belongs to the command itself."""
        while True:
            piece = self._kept.popleft() if self._kept else await self._inner.receive()
            if piece.kind is PieceKind.EXIT:
                self._over = True
                if self._head:  # a shell that failed before it could say its pid: its words are all we have
                    words, self._head = bytes(self._head), None
                    self._kept.append(piece)
                    return Piece(PieceKind.STDERR, words)
                return piece
            if piece.kind is PieceKind.STDERR and self._head is not None:
                piece = self._strip(piece)
                if not piece.data:
                    continue
            return piece

    def _strip(self, piece: Piece) -> Piece:
        assert self._head is not None
        self._head += piece.data
        at = self._head.find(self._mark)
        end = self._head.find(b"\n", at) if at >= 0 else -1
        if end < 0:
            if len(self._head) <= STDERR_TAIL_BYTES:
                return Piece(PieceKind.STDERR)
            rest, self._head = bytes(self._head), None
            return Piece(PieceKind.STDERR, rest)
        number = bytes(self._head[at + len(self._mark) : end]).strip()
        self._pid = int(number) if number.isdigit() else None
        rest = bytes(self._head[:at] + self._head[end + 1 :])
        self._head = None
        return Piece(PieceKind.STDERR, rest)

    async def send(self, data: bytes) -> None:
        """Write to the command's standard input."""
        await self._inner.send(data)

    async def close_stdin(self) -> None:
        """End of file on the command's standard input."""
        await self._inner.close_stdin()

    async def end(self) -> bool:
        """End the command's process group on the device, then let go of the link."""
        try:
            if self._over:
                return True
            with contextlib.suppress(TransportError, TimeoutError):
                pid = await asyncio.wait_for(self._learn_pid(), 2.0)
                return True if pid is None else await self._killer(pid)
            return False
        finally:
            await self._inner.end()

    async def abandon(self) -> None:
        """Let go of the link only; a command that reads its input ends by the end of file."""
        await self._inner.abandon()

    async def _learn_pid(self) -> int | None:
        """The pid on the device, or None when the command was over before it told one."""
        while self._pid is None:
            piece = await self._inner.receive()
            if piece.kind is PieceKind.EXIT:
                self._over = True
                return None
            if piece.kind is PieceKind.STDERR and self._head is not None:
                self._strip(piece)
        return self._pid


class Killer(abc.ABC):
    """Ends a process group on the device by the pid of its leader."""

    @abc.abstractmethod
    async def __call__(self, pid: int) -> bool:
        """TERM, then KILL for what is still there; True when the device confirmed it."""
