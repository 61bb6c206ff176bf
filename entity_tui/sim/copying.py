"""How bytes get between an adb stream and the descriptors of a command, without a thread and without a leak."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import socket
import struct
import termios
from collections.abc import Iterator

from entity_tui.sim.streams import Stream, StreamClosed

HEADER = struct.Struct("<BI")
PIECE_BYTES = 64 * 1024
PIECES_AT_ONCE = 64
"""Far below what any system takes in one call."""
ID_STDIN = 0


def path_outside(command: str) -> str:
    """The first absolute path of a command that would be this computer's own; empty for none.

    Devices and a process's own entries under /proc are the same on both sides and pass.
    """
    for found in re.finditer(r"""(?:^|[\s"'=<>:(;|&`])(/[A-Za-z0-9._/-]*)""", command):
        path = found[1]
        if not path.startswith("/dev/") and not re.match(r"/proc/(self\b|\d|$)", path):
            return path
    return ""


def packet(packet_id: int, data: bytes) -> bytes:
    """One packet of the shell protocol."""
    return HEADER.pack(packet_id, len(data)) + data


class ShellPackets:
    """Cuts what the host sends into the packets of the shell protocol, without copying what goes to a command."""

    def __init__(self) -> None:
        self._rest = b""
        self._stdin_left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        """(id, data) of every packet in order. Data for stdin is given on as it comes, every other packet whole."""
        view = memoryview(self._rest + data) if self._rest else memoryview(data)
        self._rest = b""
        place = 0
        while place < len(view):
            if self._stdin_left:
                piece = view[place : place + self._stdin_left]
                self._stdin_left -= len(piece)
                place += len(piece)
                yield ID_STDIN, piece
                continue
            if len(view) < place + HEADER.size:
                break
            packet_id, length = HEADER.unpack_from(view, place)
            if packet_id == ID_STDIN:
                place += HEADER.size
                self._stdin_left = length
                continue
            end = place + HEADER.size + length
            if len(view) < end:
                break
            yield packet_id, view[place + HEADER.size : end]
            place = end
        self._rest = bytes(view[place:])


async def until(event: asyncio.Event) -> None:
    """Wait for an event."""
    await event.wait()


async def copy_out(stream: Stream, descriptor: int, packet_id: int | None) -> None:
    """Everything a descriptor gives, until its end, to the host; `packet_id` None sends it bare."""
    while data := await read_some(descriptor):
        await stream.send(data if packet_id is None else packet(packet_id, data))


async def read_some(descriptor: int) -> bytes:
    """The next bytes of a non-blocking descriptor; empty at its end (a terminal says so with EIO)."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return os.read(descriptor, PIECE_BYTES)
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_reader(descriptor, settle, ready)
            try:
                await ready
            finally:
                loop.remove_reader(descriptor)
        except OSError:
            return b""


async def write_all(descriptor: int, pieces: list[memoryview]) -> bool:
    """Write pieces of bytes to a non-blocking descriptor, in order; False when its other side has gone."""
    loop = asyncio.get_running_loop()
    left = [piece for piece in pieces if piece]
    while left:
        try:
            written = os.writev(descriptor, left[:PIECES_AT_ONCE])
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if left:
                left[0] = left[0][written:]
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_writer(descriptor, settle, ready)
            try:
                await ready
            finally:
                loop.remove_writer(descriptor)
        except OSError:
            return False
    return True


def settle(future: asyncio.Future[None]) -> None:
    """Wake whoever waits for a descriptor."""
    if not future.done():
        future.set_result(None)


async def join(stream: Stream, link: socket.socket) -> None:
    """Copy both ways until either side ends: adb streams have no half-close."""
    descriptor = link.fileno()

    async def inward() -> None:
        with contextlib.suppress(StreamClosed):
            while await write_all(descriptor, [memoryview(await stream.receive())]):
                pass

    async def outward() -> None:
        with contextlib.suppress(StreamClosed):
            await copy_out(stream, descriptor, None)

    tasks = [asyncio.create_task(inward()), asyncio.create_task(outward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def resize(terminal: int, data: bytes) -> None:
    """The window size comes as `ROWSxCOLUMNS,WIDTHxHEIGHT`."""
    with contextlib.suppress(ValueError, OSError):
        cells, _, pixels = data.rstrip(b"\0").decode().partition(",")
        rows, columns = (int(part) for part in cells.split("x"))
        width, height = (int(part) for part in pixels.split("x")) if pixels else (0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))
