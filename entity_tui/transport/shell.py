"""What adb, ssh and local share: everything of the contract that needs no more than a POSIX shell at the far end."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path

from entity_tui.digits import whole
from entity_tui.transport import jobs, relay, transfer
from entity_tui.transport.base import (
    Completed,
    DeadlineExceeded,
    DeviceState,
    Job,
    LinkLost,
    Progress,
    RemoteFileError,
    Transfer,
    Transport,
    TransportError,
    Unsupported,
)
from entity_tui.transport.channel import Channel, LineStream, Output, collect, feed
from entity_tui.transport.device_text import parse_launch_context, quote
from entity_tui.transport.link_watch import LinkWatch
from entity_tui.transport.tracking import END_TIMEOUT_S, AnnouncedChannel, MarkedChannel, ShellKiller, Tracking

OPEN_TIMEOUT_S = 15.0
MARK_NAME = "ENTITY_MARK"

GREETING = (
    jobs.BOOT_ID
    + """echo "boot $(boot_id)"
echo "home $HOME"
echo "uid $(id -u 2>/dev/null)"
{ while read -r l; do echo "cgroup$l"; done < /proc/self/cgroup; } 2>/dev/null
exit 0
"""
)


def signal_of(exit_code: int) -> int | None:
    """The signal behind an exit code: shells and adb say 128 + n, and every link is read by this one rule."""
    return exit_code - 128 if 128 < exit_code <= 192 else None


class ShellTransport(Transport):
    """A transport over anything that can run one POSIX shell command with three pipes."""

    command_limit_bytes: int
    """The longest command text the link carries; a longer script travels through standard input."""

    tracking: Tracking = Tracking.ANNOUNCED
    beat_deadline_s: float = 3.0
    """A frozen phone stays listed as ready; only an answer of its own within this time counts."""

    def __init__(self) -> None:
        self.boot_id = ""
        """Changes with every boot of the device; empty before `connect` or where it may not be read."""
        self.home = ""
        self.uid: int | None = None
        self.launch_context = ""
        """The cgroups our commands start in; a Termux app in the background runs on little cores only."""
        self.link_ms: float | None = None
        """The last heartbeat's round trip while somebody iterates over `states`; None when it did not answer."""
        self._channels: set[Channel] = set()

    @abc.abstractmethod
    async def _open(self, command: str, *, timeout_s: float) -> Channel:
        """Start one line of POSIX shell. Raises NotReady or LinkLost within `timeout_s`."""

    async def _open_urgent(self, command: str, *, timeout_s: float) -> Channel:
        """Like `_open`, past any limit on sessions: used to end commands."""
        return await self._open(command, timeout_s=timeout_s)

    @abc.abstractmethod
    async def _close_link(self) -> None:
        """Let go of the link itself."""

    @abc.abstractmethod
    async def _dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A byte stream to 127.0.0.1:`port` on the device. Raises OSError or TransportError when refused."""

    @abc.abstractmethod
    async def listed_state(self) -> DeviceState:
        """The state as the link's own list tells it, without asking the device. Raises TransportError."""

    @abc.abstractmethod
    async def recover(self) -> None:
        """One attempt to bring a lost link back. Raises TransportError when it failed."""

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """The state now and every change, by polling the link's list and by a heartbeat with its own deadline."""
        async with contextlib.aclosing(LinkWatch(self).states()) as states:
            async for state in states:
                yield state

    async def close(self) -> None:
        """End what still runs through the link, then let go of it."""
        await asyncio.gather(*(self._end(channel) for channel in tuple(self._channels)))
        await self._close_link()

    async def greet(self) -> None:
        """Learn boot id, home, uid and launch context in one round trip."""
        result = await self.script(GREETING, timeout_s=OPEN_TIMEOUT_S)
        values = jobs.fields(result.text)
        self.boot_id = values.get("boot", "")
        self.home = values.get("home", "")
        self.uid = whole(values.get("uid"))
        cgroup = [line[len("cgroup") :] for line in result.text.splitlines() if line.startswith("cgroup")]
        self.launch_context = parse_launch_context("\n".join(cgroup))

    async def _start(
        self, command: str, *, stdin: bytes | None, timeout_s: float, brief: bool = False
    ) -> tuple[Channel, bytes | None]:
        """Open `command` so that it can be ended later; returns the channel and what to feed it.

        A `brief` command is expected to end by itself soon and is not asked for its pid where that costs a round trip.
        """
        mark = f"entity-{secrets.token_hex(8)}"
        announced = self.tracking is Tracking.ANNOUNCED or (self.tracking is Tracking.MARKED and not brief)
        head = f"echo {mark} $$ >&2\n" if announced else f"{MARK_NAME}={mark}; export {MARK_NAME}\n"
        text = command if self.tracking is Tracking.OWN else head + command
        if len(text.encode()) > self.command_limit_bytes:
            if stdin is not None:
                raise Unsupported(
                    "The command is too long for this link",
                    detail=f"{len(text.encode())} bytes, at most {self.command_limit_bytes} together with input",
                )
            stdin = text.encode()
            text = f': {mark}; eval "$(cat)"'
        channel = await self._open(text, timeout_s=timeout_s)
        if announced:
            channel = AnnouncedChannel(channel, mark, ShellKiller(self._open_urgent))
        elif self.tracking is Tracking.MARKED:
            channel = MarkedChannel(channel, mark, ShellKiller(self._open_urgent))
        self._channels.add(channel)
        return channel, stdin

    async def _end(self, channel: Channel) -> bool:
        self._channels.discard(channel)
        try:
            return await asyncio.wait_for(channel.end(), END_TIMEOUT_S)
        except (TransportError, TimeoutError, OSError):
            return False

    async def _run(self, command: str, argv: tuple[str, ...], stdin: bytes | None, timeout_s: float) -> Completed:
        began = time.monotonic()
        output = Output()
        channel: Channel | None = None
        over = False
        try:
            async with asyncio.timeout(timeout_s):
                channel, given = await self._start(command, stdin=stdin, timeout_s=timeout_s, brief=True)
                code = await collect(channel, output, given)
        except TimeoutError as error:
            over = channel is not None and await asyncio.shield(self._end(channel))
            what = argv[0] if argv else "script"
            if not over:
                raise LinkLost(
                    f"No answer to {what} within {timeout_s:g} s",
                    detail="the device did not confirm that the command was ended either; it may still run there",
                    fix="Check the cable or the network; entity-tui goes on by itself when the device answers again.",
                ) from error
            raise DeadlineExceeded(
                f"{what} did not end within {timeout_s:g} s", partial=output.stdout, detail="it was ended"
            ) from error
        finally:
            if channel is not None and channel in self._channels:
                await asyncio.shield(self._end(channel))
        return Completed(
            argv=argv,
            exit_code=code,
            stdout=output.stdout,
            stderr=output.stderr,
            duration_s=time.monotonic() - began,
            signal=signal_of(code),
        )

    async def run(self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float = 30.0) -> Completed:
        """Run one command; without `stdin` it reads an end of file at once."""
        return await self._run(f"exec {quote(argv)}", tuple(argv), stdin, timeout_s)

    async def script(self, text: str, *, args: Sequence[str] = (), timeout_s: float = 30.0) -> Completed:
        """Run a POSIX sh script in one round trip; `args` become $1, $2 ..."""
        head = f"set -- {quote(args)}\n" if args else "set --\n"
        return await self._run(head + text, (), None, timeout_s)

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes | None = None) -> AsyncIterator[LineStream]:
        """The lines of a long command.

        Without `stdin` its standard input stays open and silent until the context is left, so that a script on the
        device can wait on it and notices when we are gone; `stdin=b""` gives an end of file at once.
        """
        channel, given = await self._start(f"exec {quote(argv)}", stdin=stdin, timeout_s=OPEN_TIMEOUT_S)
        feeding = asyncio.ensure_future(feed(channel, given)) if given is not None else None
        try:
            yield LineStream(channel)
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])
            await asyncio.shield(self._end(channel))

    @contextlib.asynccontextmanager
    async def channel(self, script: str, *, args: Sequence[str] = ()) -> AsyncIterator[Channel]:
        """A script with its raw pieces and an open standard input, for transfers."""
        channel = await self.open_channel(script, args=args)
        try:
            yield channel
        finally:
            await asyncio.shield(self._end(channel))

    async def open_channel(self, script: str, *, args: Sequence[str] = ()) -> Channel:
        """Like `channel` without a context; give it back to `abandon`."""
        head = f"set -- {quote(args)}\n" if args else "set --\n"
        channel, given = await self._start(head + script, stdin=None, timeout_s=OPEN_TIMEOUT_S)
        if given is not None:
            await self._end(channel)
            raise Unsupported("The script is too long to be given input")
        return channel

    async def abandon(self, channel: Channel) -> None:
        """Let go of a channel at once, without a word to the device."""
        self._channels.discard(channel)
        await channel.abandon()

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Bytes of a file from `offset`, at most `limit`; an offset past the end gives none."""
        result = await self.script(
            transfer.READ, args=[path, str(offset + 1), "" if limit is None else str(limit)], timeout_s=120.0
        )
        if not result.ok:
            raise RemoteFileError(f"Cannot read {path!r} on the device", detail=result.error_text.strip())
        return result.stdout

    async def push(
        self, local: Path, remote: str, *, mode: int = 0o644, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Copy a file to the device; a cut transfer is resumed by the next call with the same file."""
        return await transfer.push(self, local, remote, mode=mode, progress=progress, verify=verify)

    async def pull(
        self, remote: str, local: Path, *, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Copy a file from the device; a cut transfer is resumed by the next call with the same names."""
        return await transfer.pull(self, remote, local, progress=progress, verify=verify)

    @contextlib.asynccontextmanager
    async def forward(self, port: int) -> AsyncIterator[int]:
        """A loopback port here whose every connection is dialled anew to the device.

        The listener is ours, so the port stays the same over a lost and regained link, works with a remote adb
        server, and leaves nothing behind in anybody's server.
        """
        async with relay.listen(lambda: self._dial(port)) as local_port:
            yield local_port

    async def spawn(self, argv: Sequence[str], *, directory: str, stdout: str, stderr: str) -> Job:
        """Start a detached process in a session of its own; all three descriptors are redirected."""
        result = await self.script(jobs.SPAWN, args=[directory, stdout, stderr, *argv])
        job = jobs.parse_spawned(result.text)
        if not result.ok or job is None:
            raise RemoteFileError(f"Could not start {argv[0]!r} on the device", detail=result.error_text.strip())
        return job

    async def alive(self, job: Job) -> bool:
        """True while exactly that process lives and is not a zombie."""
        return jobs.is_alive((await self.script(jobs.LOOK, args=[str(job.pid)])).text, job)

    async def signal(self, job: Job, number: int) -> bool:
        """Send a signal; the device itself compares boot id and start time right before."""
        args = [str(job.pid), job.boot_id, str(job.start_time_ticks), str(number)]
        return (await self.script(jobs.SIGNAL, args=args)).ok
