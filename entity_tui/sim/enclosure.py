"""The phone's own world on this computer: its process 1, its private root, and how commands get in and out."""

from __future__ import annotations

import array
import asyncio
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from entity_tui.errors import EntityError

MESSAGE_LIMIT_BYTES = 1 << 18
SHELL_HOST_UID = 202_000
"""The uid that the phone's shell user has on this computer when root started the phone; nobody else has it."""


class EnclosureKind(StrEnum):
    """How well the phone is shut off from this computer."""

    ROOT = "root"
    USER = "user"
    PREFIX = "prefix"


class EnclosureFailed(EntityError):
    """The phone's process 1 could not be started, or ended."""


@dataclass(frozen=True, slots=True)
class Boot:
    """What process 1 needs to make the phone's root. Paths below `root` are made beforehand, `data` is mounted."""

    root: Path
    raw_proc: Path
    binds: tuple[tuple[str, str], ...] = ()
    """(this computer's path, path below the root) of read-only loans: the C library, device nodes."""
    proc_files: tuple[tuple[str, str], ...] = ()
    """(prepared file, path below the root's /proc) of the files the phone invents."""
    folders: tuple[str, ...] = ("/data/local/tmp",)
    files: tuple[tuple[str, str, int, int], ...] = ()
    """(path in the phone, source here, size in bytes it is stretched to or 0, mode) of what is planted at boot."""
    data_options: str = "size=8g,mode=0771"
    foreign_programs: str = ""
    """The binfmt_misc line for programs of another architecture; registered in the phone's own namespace only."""


@dataclass(slots=True)
class Running:
    """A command that was started in the phone."""

    pid: int
    """Its process id inside the phone."""
    done: asyncio.Future[int]
    """The exit code as adb tells it: 128 + n for a process that signal n ended."""


@dataclass(slots=True)
class Enclosure:
    """Client of the phone's process 1. One request at a time is on the wire; answers carry the request's number."""

    kind: EnclosureKind
    pid: int
    """Process 1 of the phone as this computer numbers it."""
    channel: socket.socket
    process: subprocess.Popen[bytes]
    runs_foreign_programs: bool = False
    """True where the kernel took the phone's binfmt_misc line (namespaced since Linux 6.7)."""
    refusals: tuple[str, ...] = ()
    """Why a better kind of enclosure was not possible here."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _number: int = 0
    _replies: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = field(default_factory=dict)
    _exits: dict[int, asyncio.Future[int]] = field(default_factory=dict)

    async def spawn(
        self,
        argv: list[str],
        env: dict[str, str],
        descriptors: tuple[int, int, int],
        *,
        terminal: bool = False,
    ) -> Running:
        """Start a command as the shell user; the descriptors become its stdin, stdout and stderr."""
        return await self._start({"do": "spawn", "argv": argv, "env": env, "terminal": terminal}, descriptors)

    async def files(self, descriptor: int) -> Running:
        """Serve one sync session on a socket, as the shell user."""
        return await self._start({"do": "files"}, (descriptor, descriptor, os.open(os.devnull, os.O_WRONLY)))

    async def _start(self, request: dict[str, Any], descriptors: tuple[int, int, int]) -> Running:
        number = self._next()
        done = self._exits[number] = asyncio.get_running_loop().create_future()
        try:
            reply, _ = await self._ask(number, request, list(descriptors))
        except EnclosureFailed:
            self._exits.pop(number, None)
            raise
        return Running(int(reply["pid"]), done)

    async def connect(self, port: int) -> socket.socket:
        """A connected socket to a port of the phone's loopback. Raises OSError when nobody listens there."""
        if self.kind is EnclosureKind.PREFIX:
            link = socket.socket()
            link.setblocking(False)
            await asyncio.get_running_loop().sock_connect(link, ("127.0.0.1", port))
            return link
        _, descriptors = await self._ask(self._next(), {"do": "connect", "port": port})
        return socket.socket(fileno=descriptors[0])

    async def bind(self, pairs: list[tuple[str, str]]) -> None:
        """Lay prepared files or folders over others of the phone; without namespaces nothing can be."""
        if self.kind is EnclosureKind.PREFIX:
            return
        await self._ask(self._next(), {"do": "bind", "pairs": pairs})

    async def data_size(self, options: str) -> None:
        """Resize the data partition, in the options of tmpfs."""
        await self._ask(self._next(), {"do": "data_size", "options": options})

    async def kill(self, pid: int, number: int) -> None:
        """Send a signal to a process of the phone; one that has gone is no error."""
        try:
            await self._ask(self._next(), {"do": "kill", "pid": pid, "signal": number})
        except ProcessLookupError:
            return

    async def kill_all(self) -> None:
        """End every process of the phone but its first."""
        await self._ask(self._next(), {"do": "kill_all"})

    @property
    def busy(self) -> bool:
        """True while a command that was started through us runs."""
        return bool(self._exits)

    def close(self) -> None:
        """End the phone: its process 1 goes, and with it everything inside."""
        if not self.ended.is_set():
            asyncio.get_running_loop().remove_reader(self.channel)
            self._lost()
        self.channel.close()
        _end(self.process)

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _ask(
        self, number: int, request: dict[str, Any], descriptors: list[int] | None = None
    ) -> tuple[dict[str, Any], list[int]]:
        if self.ended.is_set():
            raise EnclosureFailed("the simulated phone is off")
        future: asyncio.Future[tuple[dict[str, Any], list[int]]] = asyncio.get_running_loop().create_future()
        self._replies[number] = future
        data = json.dumps({**request, "number": number}).encode("utf-8", "surrogatepass")
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            while True:
                try:
                    self.channel.sendmsg([data], extra)
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.001)
        except OSError as error:
            self._replies.pop(number, None)
            raise EnclosureFailed("the simulated phone is off", detail=str(error)) from error
        return await future

    def receive(self) -> None:
        """Take every message that process 1 has sent; called by the event loop."""
        while True:
            try:
                data, extra, _, _ = self.channel.recvmsg(MESSAGE_LIMIT_BYTES, socket.CMSG_SPACE(16))
            except BlockingIOError:
                return
            except OSError:
                data, extra = b"", []
            if not data:
                asyncio.get_running_loop().remove_reader(self.channel)
                self._lost()
                return
            descriptors = array.array("i")
            for _, _, content in extra:
                descriptors.frombytes(content[: len(content) // 4 * 4])
            self._message(json.loads(data), list(descriptors))

    def _message(self, message: dict[str, Any], descriptors: list[int]) -> None:
        if "exit" in message:
            done = self._exits.pop(message["exit"], None)
            if done is not None and not done.done():
                code = os.waitstatus_to_exitcode(message["status"])
                done.set_result(code if code >= 0 else 128 - code)
            return
        future = self._replies.pop(message.get("reply", 0), None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(OSError(message.get("errno") or 0, message["error"]))
        else:
            future.set_result((message, descriptors))

    def _lost(self) -> None:
        self.ended.set()
        for done in self._exits.values():
            if not done.done():
                done.set_result(137)
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(EnclosureFailed("the simulated phone is off"))
        self._exits.clear()
        self._replies.clear()


def enclose(boot: Boot, wanted: EnclosureKind | None = None) -> Enclosure:
    """Start the phone's process 1 in the best enclosure this computer allows (or in the wanted one).

    Blocks for some ten milliseconds and needs a running event loop. Raises EnclosureFailed.
    """
    best = EnclosureKind.ROOT if os.getuid() == 0 else EnclosureKind.USER
    kinds = [wanted] if wanted else [best, EnclosureKind.USER, EnclosureKind.PREFIX]
    if not sys.platform.startswith("linux"):
        kinds = [EnclosureKind.PREFIX]
    refusals: list[str] = []
    for kind in dict.fromkeys(kinds):
        found = _start_process_1(boot, kind)
        if not isinstance(found, str):
            found.refusals = tuple(refusals)
            asyncio.get_running_loop().add_reader(found.channel, found.receive)
            return found
        refusals.append(f"{kind.value}: {found}")
    raise EnclosureFailed("the phone's own root cannot be made here", detail="; ".join(refusals))


def _start_process_1(boot: Boot, kind: EnclosureKind) -> Enclosure | str:
    """The running enclosure, or why there is none."""
    sort = socket.SOCK_SEQPACKET if sys.platform.startswith("linux") else socket.SOCK_DGRAM
    ours, theirs = socket.socketpair(socket.AF_UNIX, sort)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_LIMIT_BYTES)
    script = Path(__file__).with_name("init.py")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(script), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    theirs.close()
    ours.send(
        json.dumps(
            {
                "kind": kind.value,
                "root": str(boot.root),
                "raw_proc": str(boot.raw_proc),
                "binds": boot.binds,
                "proc_files": boot.proc_files,
                "folders": boot.folders,
                "files": boot.files,
                "data_options": boot.data_options,
                "foreign_programs": boot.foreign_programs,
                "shell_host_uid": SHELL_HOST_UID,
            }
        ).encode()
    )
    ours.settimeout(15)
    pid = 0
    while True:
        try:
            data = ours.recv(MESSAGE_LIMIT_BYTES)
        except (OSError, TimeoutError):
            data = b""
        message = json.loads(data) if data else {"refused": _last_words(process)}
        if "refused" in message:
            ours.close()
            _end(process)
            return str(message["refused"])
        pid = int(message.get("pid", pid))
        if "ready" in message:
            break
    ours.settimeout(0)
    return Enclosure(kind, pid, ours, process, runs_foreign_programs=bool(message.get("foreign_programs")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """See that a process has gone, and let go of it."""
    process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def _last_words(process: subprocess.Popen[bytes]) -> str:
    """The last line of what a process wrote before it ended."""
    process.kill()
    assert process.stderr is not None
    lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a word"
