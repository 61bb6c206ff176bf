"""The services a host can open on the phone: shells of every kind, files, ports, reboot."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import socket
import struct
import termios
import tty
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from entity_tui.sim.enclosure import Enclosure, EnclosureFailed, EnclosureKind, Running
from entity_tui.sim.streams import Stream, StreamClosed

REFUSAL = (
    "entity-tui sim: {}: this phone has no root of its own, because this computer allows no user namespaces; "
    "an absolute path would be the computer's own. Paths below $ENTITY_PREFIX and relative ones work."
)
PIECE_BYTES = 64 * 1024
ID_STDIN, ID_STDOUT, ID_STDERR, ID_EXIT, ID_CLOSE_STDIN, ID_WINDOW_SIZE = range(6)


@dataclass(slots=True)
class Services:
    """Opens services of one phone. `environment` is what its shells start with; `reboot` is called for `reboot:`,
    `before_start` before every command."""

    enclosure: Callable[[], Enclosure]
    environment: Callable[[], dict[str, str]]
    shell: str
    reboot: Callable[[str], Awaitable[None]]
    before_start: Callable[[], None]

    async def open(self, name: str, stream: Stream) -> None:
        """Serve the service called `name`; raises LookupError for one this phone does not have."""
        head, _, rest = name.partition(":")
        kind, *options = head.split(",")
        if kind == "shell" and "v2" in options:
            await self._shell_v2(rest, options, stream)
        elif kind in ("shell", "exec"):
            await self._shell_v1(rest, stream, cooked=kind == "shell" and not rest)
        elif kind == "sync":
            await self._sync(stream)
        elif kind == "tcp":
            await self._tcp(rest, stream)
        elif kind == "reboot":
            await stream.accept()
            await self.reboot(rest)
        else:
            raise LookupError(name)

    def _argv(self, command: str) -> list[str]:
        enclosure = self.enclosure()
        if enclosure.kind is EnclosureKind.PREFIX and (path := path_outside(command)):
            return [self.shell, "-c", 'echo "$1" >&2; exit 126', "sh", REFUSAL.format(path)]
        return [self.shell, "-c", command] if command else [self.shell, "-"]

    def _environment(self, options: list[str]) -> dict[str, str]:
        terminals = [option[5:] for option in options if option.startswith("TERM=")]
        return {**self.environment(), **({"TERM": terminals[0]} if terminals else {})}

    async def _shell_v2(self, command: str, options: list[str], stream: Stream) -> None:
        """shell,v2: stdout and stderr apart, an exit code, and a way to close stdin."""
        on_terminal = "pty" in options or ("raw" not in options and not command)
        if on_terminal:
            master, slave = pty.openpty()
            output = [(ID_STDOUT, master)]
            running = await self._start(command, options, (slave, slave, slave), terminal=True, near=(master,))
            into = os.dup(master)
        else:
            pairs = [socket.socketpair() for _ in range(3)]
            near = [ours.detach() for ours, _ in pairs]
            far = (pairs[0][1].detach(), pairs[1][1].detach(), pairs[2][1].detach())
            into, output = near[0], [(ID_STDOUT, near[1]), (ID_STDERR, near[2])]
            running = await self._start(command, options, far, terminal=False, near=tuple(near))
        await stream.accept()
        feeder = asyncio.create_task(self._feed_v2(stream, into, running, output[0][1] if on_terminal else None))
        copies = [asyncio.create_task(_copy_out(stream, descriptor, packet_id)) for packet_id, descriptor in output]
        try:
            await asyncio.gather(*copies)
            code = await running.done
            await stream.send(_packet(ID_EXIT, bytes([code & 0xFF])))
        except StreamClosed:
            await self._hang_up(running)
        finally:
            for task in (feeder, *copies):
                task.cancel()
            # A copy that still waits would take the next shell's events once its descriptor's number is used again.
            await asyncio.gather(feeder, *copies, return_exceptions=True)
            for _, descriptor in output:
                os.close(descriptor)

    async def _start(
        self,
        command: str,
        options: list[str],
        descriptors: tuple[int, int, int],
        *,
        terminal: bool,
        near: tuple[int, ...],
    ) -> Running:
        """Start the shell and close the far ends here; the near ends become non-blocking."""
        self.before_start()
        try:
            running = await self.enclosure().spawn(
                self._argv(command), self._environment(options), descriptors, terminal=terminal
            )
        except EnclosureFailed as error:
            for descriptor in near:
                os.close(descriptor)
            raise LookupError("the phone is off") from error
        finally:
            for descriptor in set(descriptors):
                os.close(descriptor)
        for descriptor in near:
            os.set_blocking(descriptor, False)
        return running

    async def _feed_v2(self, stream: Stream, into: int, running: Running, terminal: int | None) -> None:
        """The host's packets: data for stdin, its end, and the terminal's size."""
        buffer = bytearray()
        is_open = True
        try:
            while True:
                buffer += await stream.receive()
                while len(buffer) >= 5:
                    packet_id, length = struct.unpack_from("<BI", buffer)
                    if len(buffer) < 5 + length:
                        break
                    data = bytes(buffer[5 : 5 + length])
                    del buffer[: 5 + length]
                    if packet_id == ID_STDIN and is_open:
                        is_open = await _write_all(into, data)
                    elif packet_id == ID_CLOSE_STDIN and is_open and terminal is None:
                        os.close(into)
                        is_open = False
                        into = -1
                    elif packet_id == ID_WINDOW_SIZE and terminal is not None:
                        _resize(terminal, data)
        except StreamClosed:
            await self._hang_up(running)
        finally:
            if into >= 0:
                os.close(into)

    async def _hang_up(self, running: Running) -> None:
        """The host let go: SIGHUP to the shell itself, as adbd does; what it started may live on."""
        if not running.done.done():
            with contextlib.suppress(EnclosureFailed, OSError):
                await self.enclosure().kill(running.pid, signal.SIGHUP)

    async def _shell_v1(self, command: str, stream: Stream, *, cooked: bool) -> None:
        """shell: and exec: without the shell protocol run on a terminal; one stream, no exit code."""
        master, slave = pty.openpty()
        if not cooked:
            tty.setraw(slave)
        running = await self._start(command, [], (slave, slave, slave), terminal=True, near=(master,))
        await stream.accept()

        async def feed() -> None:
            with contextlib.suppress(StreamClosed):
                while True:
                    await _write_all(master, await stream.receive())

        feeder = asyncio.create_task(feed())
        try:
            await _copy_out(stream, master, None)
            await running.done
        except StreamClosed:
            await self._hang_up(running)
        finally:
            feeder.cancel()
            await asyncio.gather(feeder, return_exceptions=True)
            os.close(master)

    async def _sync(self, stream: Stream) -> None:
        """sync: is served by a process that runs as the phone's shell user in the phone's root."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            running = await self.enclosure().files(theirs.fileno())
        except EnclosureFailed as error:
            ours.close()
            raise LookupError("the phone is off") from error
        finally:
            theirs.close()
        await stream.accept()
        await _join(stream, ours)
        if not running.done.done():
            with contextlib.suppress(EnclosureFailed, OSError):
                await self.enclosure().kill(running.pid, signal.SIGKILL)

    async def _tcp(self, where: str, stream: Stream) -> None:
        """tcp:PORT leads to the phone's own loopback."""
        port = where.rpartition(":")[2]
        if not port.isdigit():
            raise LookupError(where)
        try:
            link = await self.enclosure().connect(int(port))
        except (OSError, EnclosureFailed) as error:
            raise LookupError(where) from error
        await stream.accept()
        await _join(stream, link)


def path_outside(command: str) -> str:
    """The first absolute path of a command that would be this computer's own; empty for none.

    Devices and a process's own entries under /proc are the same on both sides and pass.
    """
    for found in re.finditer(r"""(?:^|[\s"'=<>:(;|&`])(/[A-Za-z0-9._/-]*)""", command):
        path = found[1]
        if not path.startswith("/dev/") and not re.match(r"/proc/(self\b|\d|$)", path):
            return path
    return ""


def _packet(packet_id: int, data: bytes) -> bytes:
    return struct.pack("<BI", packet_id, len(data)) + data


async def _copy_out(stream: Stream, descriptor: int, packet_id: int | None) -> None:
    """Everything a descriptor gives, until its end, to the host; `packet_id` None sends it bare."""
    while data := await _read_some(descriptor):
        await stream.send(data if packet_id is None else _packet(packet_id, data))


async def _read_some(descriptor: int) -> bytes:
    """The next bytes of a non-blocking descriptor; empty at its end (a terminal says so with EIO)."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return os.read(descriptor, PIECE_BYTES)
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_reader(descriptor, _settle, ready)
            try:
                await ready
            finally:
                loop.remove_reader(descriptor)
        except OSError:
            return b""


async def _write_all(descriptor: int, data: bytes) -> bool:
    """Write to a non-blocking descriptor; False when its other side has gone."""
    loop = asyncio.get_running_loop()
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_writer(descriptor, _settle, ready)
            try:
                await ready
            finally:
                loop.remove_writer(descriptor)
        except OSError:
            return False
    return True


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _join(stream: Stream, link: socket.socket) -> None:
    """Copy both ways until either side ends: adb streams have no half-close."""
    descriptor = link.fileno()

    async def inward() -> None:
        with contextlib.suppress(StreamClosed):
            while await _write_all(descriptor, await stream.receive()):
                pass

    async def outward() -> None:
        with contextlib.suppress(StreamClosed):
            await _copy_out(stream, descriptor, None)

    tasks = [asyncio.create_task(inward()), asyncio.create_task(outward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        link.close()


def _resize(terminal: int, data: bytes) -> None:
    """The window size comes as `ROWSxCOLUMNS,WIDTHxHEIGHT`."""
    with contextlib.suppress(ValueError, OSError):
        cells, _, pixels = data.rstrip(b"\0").decode().partition(",")
        rows, columns = (int(part) for part in cells.split("x"))
        width, height = (int(part) for part in pixels.split("x")) if pixels else (0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))
