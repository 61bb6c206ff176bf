"""The services a host can open on the phone: shells of every kind, files, ports, reboot."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import socket
import tty
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from entity_tui.sim.copying import (
    ID_STDIN,
    ShellPackets,
    copy_out,
    join,
    packet,
    path_outside,
    resize,
    until,
    write_all,
)
from entity_tui.sim.enclosure import Enclosure, EnclosureFailed, EnclosureKind, Running
from entity_tui.sim.streams import Stream, StreamClosed

REFUSAL = (
    "entity-tui sim: {}: this phone has no root of its own, because this computer allows no user namespaces; "
    "an absolute path would be the computer's own. Paths below $ENTITY_PREFIX and relative ones work."
)
ID_STDOUT, ID_STDERR, ID_EXIT, ID_CLOSE_STDIN, ID_WINDOW_SIZE = range(1, 6)


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
        ends = [descriptor for _, descriptor in output]
        await self._accept(stream, running, [into, *ends])
        await self._attend(
            stream,
            running,
            self._output_v2(stream, output, running),
            self._feed_v2(stream, into, ends[0] if on_terminal else None),
        )
        for descriptor in ends:
            os.close(descriptor)

    async def _accept(self, stream: Stream, running: Running, ends: list[int]) -> None:
        """Say that the command runs; when the link went meanwhile, end it and raise StreamClosed."""
        try:
            await stream.accept()
        except ConnectionError as error:
            await self._hang_up(running)
            for descriptor in ends:
                os.close(descriptor)
            raise StreamClosed from error

    async def _output_v2(self, stream: Stream, output: list[tuple[int, int]], running: Running) -> None:
        """Both streams to their ends, then the exit code, as adbd does it."""
        copies = [asyncio.create_task(copy_out(stream, descriptor, packet_id)) for packet_id, descriptor in output]
        try:
            await asyncio.gather(*copies)
        finally:  # gather leaves the others running when one fails
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
        code = await running.done
        await stream.send(packet(ID_EXIT, bytes([code & 0xFF])))

    async def _attend(
        self, stream: Stream, running: Running, work: Coroutine[Any, Any, None], feed: Coroutine[Any, Any, None]
    ) -> None:
        """Serve a command until it is done or the host lets go; then nothing here waits for its descriptors any more.

        A copy that still waited would take the next shell's events once its descriptor's number is used again.
        """
        closing = asyncio.create_task(until(stream.closed))
        tasks = [asyncio.create_task(work), asyncio.create_task(feed), closing]
        try:
            await asyncio.wait([tasks[0], closing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if stream.closed.is_set():
                await self._hang_up(running)

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

    async def _feed_v2(self, stream: Stream, into: int, terminal: int | None) -> None:
        """The host's packets: data for stdin, its end, and the terminal's size."""
        packets = ShellPackets()
        is_open = True
        try:
            while True:
                pieces: list[memoryview] = []
                for packet_id, data in packets.feed(await stream.receive()):
                    if packet_id == ID_STDIN:
                        pieces.append(data)
                    elif packet_id == ID_CLOSE_STDIN and is_open and terminal is None:
                        await write_all(into, pieces)
                        os.close(into)
                        is_open = False
                        into = -1
                    elif packet_id == ID_WINDOW_SIZE and terminal is not None:
                        resize(terminal, bytes(data))
                if is_open and pieces:
                    is_open = await write_all(into, pieces)
        except StreamClosed:
            return
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
        await self._accept(stream, running, [master])

        async def feed() -> None:
            with contextlib.suppress(StreamClosed):
                while True:
                    await write_all(master, [memoryview(await stream.receive())])

        async def work() -> None:
            await copy_out(stream, master, None)
            await running.done

        await self._attend(stream, running, work(), feed())
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
        try:
            await stream.accept()
            await join(stream, ours)
        finally:
            ours.close()
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
        with link:
            await stream.accept()
            await join(stream, link)
