"""Ending what we started on a device: by the pid its shell announced, or by a mark in its environment."""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections import deque
from enum import Enum
from typing import Protocol

from entity_tui.digits import whole
from entity_tui.transport import jobs
from entity_tui.transport.base import TransportError
from entity_tui.transport.channel import STDERR_TAIL_BYTES, Channel, Output, Piece, PieceKind, collect
from entity_tui.transport.device_text import quote

END_TIMEOUT_S = 4.0


class Tracking(Enum):
    """How a command that we let go of is found again on the device."""

    OWN = "own"
    """The channel itself ends what it started."""
    ANNOUNCED = "announced"
    """Its shell tells its pid first."""
    MARKED = "marked"
    """Long ones tell their pid; brief ones carry a mark, because a separate write costs a round trip."""


class Killer(abc.ABC):
    """Ends commands on the device through another channel of the same link."""

    @abc.abstractmethod
    async def group(self, pid: int) -> bool:
        """TERM, then KILL for what is still there of a process group; True when the device confirmed it."""

    @abc.abstractmethod
    async def marked(self, mark: str) -> bool:
        """The same for every process that carries `mark` in its environment or command line."""


class MarkedChannel(Channel):
    """A command whose processes carry a mark.

    Nothing is printed for it: over adb every separate write costs a round trip, and a short command has only one.
    Finding the mark reads all of /proc, which only a command that we let go of early has to pay.
    """

    def __init__(self, inner: Channel, mark: str, killer: Killer) -> None:
        self._inner = inner
        self._mark = mark
        self._killer = killer
        self._over = False

    async def receive(self) -> Piece:
        """The next piece."""
        piece = await self._inner.receive()
        self._over = self._over or piece.kind is PieceKind.EXIT
        return piece

    async def send(self, data: bytes) -> None:
        """Write to the command's standard input."""
        await self._inner.send(data)

    async def close_stdin(self) -> None:
        """End of file on the command's standard input."""
        await self._inner.close_stdin()

    async def end(self) -> bool:
        """End what the command started on the device, then let go of the link."""
        try:
            if self._over:
                return True
            with contextlib.suppress(TransportError, TimeoutError):
                return await self._kill()
            return False
        finally:
            await self._inner.end()

    async def _kill(self) -> bool:
        return await self._killer.marked(self._mark)

    async def abandon(self) -> None:
        """Let go of the link only; a command that reads its input ends by the end of file."""
        await self._inner.abandon()


class AnnouncedChannel(MarkedChannel):
    """A channel whose first line on stderr tells the device's pid, so that letting go can end the whole group.

    The mark in that line is a random word: a command's own output can never be taken for it.
    """

    def __init__(self, inner: Channel, mark: str, killer: Killer) -> None:
        super().__init__(inner, mark, killer)
        self._head: bytearray | None = bytearray()
        self._pid: int | None = None
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
        at = self._head.find(self._mark.encode())
        end = self._head.find(b"\n", at) if at >= 0 else -1
        if end < 0:
            if len(self._head) <= STDERR_TAIL_BYTES:
                return Piece(PieceKind.STDERR)
            rest, self._head = bytes(self._head), None
            return Piece(PieceKind.STDERR, rest)
        self._pid = whole(self._head[at + len(self._mark) : end].decode("ascii", "replace").strip())
        rest = bytes(self._head[:at] + self._head[end + 1 :])
        self._head = None
        return Piece(PieceKind.STDERR, rest)

    async def _kill(self) -> bool:
        pid = await asyncio.wait_for(self._learn_pid(), 2.0)
        return True if pid is None else await self._killer.group(pid)

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


class OpenUrgent(Protocol):
    """Starts a line of shell even when every ordinary session is in use."""

    async def __call__(self, command: str, *, timeout_s: float) -> Channel:
        """The running command. Raises TransportError."""


class ShellKiller(Killer):
    """Ends commands through a second channel that `open_urgent` gives, past any limit on sessions."""

    def __init__(self, open_urgent: OpenUrgent) -> None:
        self._open_urgent = open_urgent

    async def group(self, pid: int) -> bool:
        """True when the device ran the kill."""
        return await self._run(jobs.KILL_GROUP, str(pid))

    async def marked(self, mark: str) -> bool:
        """True when the device ran the kill. The brackets keep the search from finding itself."""
        word, _, rest = mark.partition("-")
        return await self._run(jobs.KILL_MARKED, f"{word}-[{rest[0]}]{rest[1:]}")

    async def _run(self, script: str, argument: str) -> bool:
        command = f"set -- {quote([argument])}\n{script}"
        channel = await self._open_urgent(command, timeout_s=END_TIMEOUT_S)
        try:
            return await asyncio.wait_for(collect(channel, Output(), None), END_TIMEOUT_S) == 0
        finally:
            await channel.end()
