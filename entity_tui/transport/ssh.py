"""A phone or board behind sshd: Termux, a Linux board, a Mac; asyncssh underneath, raw bytes throughout."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entity_tui.errors import UsageError
from entity_tui.transport import ssh_keys
from entity_tui.transport.base import DeviceState, HostKeyUnknown, LinkLost, NotReady, TransportError
from entity_tui.transport.channel import Channel
from entity_tui.transport.device_text import quote
from entity_tui.transport.shell import OPEN_TIMEOUT_S, ShellTransport
from entity_tui.transport.ssh_channel import open_channel

if TYPE_CHECKING:
    import asyncssh

SESSION_LIMIT = 8
URGENT_LIMIT = 2
"""sshd allows ten sessions on a connection and refuses the eleventh; two are kept for ending commands."""
KEEPALIVE_INTERVAL_S = 3
KEEPALIVE_COUNT = 3
CONNECT_TIMEOUT_S = 10
_DESTINATION = re.compile(
    r"^(?:(?P<user>[^@\s]+)@)?(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^:\s@/\[\]]+))(?::(?P<port>\d{1,5}))?$"
)


@dataclass(frozen=True, slots=True)
class Destination:
    """`[user@]host[:port]`; what is not given comes from the OpenSSH configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{f'{self.user}@' if self.user else ''}{host}{f':{self.port}' if self.port else ''}"


def parse_destination(text: str) -> Destination:
    """Read `[user@]host[:port]`, IPv6 in brackets. Raises UsageError."""
    found = _DESTINATION.match(text.removeprefix("ssh:").strip())
    if found is None or int(found["port"] or 1) > 65_535 or (found["host"] or "").startswith("-"):
        raise UsageError(f"{text!r} is no SSH destination", fix="Write it as ssh:[user@]host[:port].")
    return Destination(found["six"] or found["host"], found["user"], int(found["port"]) if found["port"] else None)


class SshTransport(ShellTransport):
    """One host over one SSH connection.

    `config` is a list of OpenSSH configuration files (default: the user's own), `client_keys` names key files
    (default: agent and ~/.ssh), `jump` is another destination to go through (default: ProxyJump of the configuration).
    """

    kind = "ssh"
    command_limit_bytes = 120_000

    def __init__(
        self,
        destination: str,
        *,
        root: str | None = None,
        config: Sequence[Path] | None = None,
        client_keys: Sequence[Path] | None = None,
        jump: str | None = None,
        trust_file: Path | None = None,
        simulated: bool = False,
    ) -> None:
        super().__init__()
        self.destination = parse_destination(destination)
        self.spec = f"ssh:{self.destination}"
        self.root = root or ""
        self.simulated = simulated
        self._config = config
        self._client_keys = client_keys
        self._jump = SshTransport(jump, config=config, client_keys=client_keys, trust_file=trust_file) if jump else None
        self._trust_file = trust_file or ssh_keys.default_trust_file()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._count_anew()
        self._connecting = asyncio.Lock()
        self._trouble = DeviceState.OFFLINE

    async def connect(self) -> None:
        """Open the connection. Raises HostKeyUnknown (ask, then `trust`), NotReady (no key fits) or LinkLost."""
        await self._reopen()
        await self.greet()
        self.root = self.root or f"{self.home}/.cache/entity"

    def trust(self, question: HostKeyUnknown) -> None:
        """Keep the key the user has compared and confirmed, in a file of our own."""
        ssh_keys.confirm(question.line, self._trust_file)

    async def _reopen(self) -> None:
        async with self._connecting:
            if self._connection is not None and not self._connection.is_closed():
                return
            if self._jump is not None:
                await self._jump._reopen()
            try:
                self._connection = await self._connect()
            except HostKeyUnknown:
                self._trouble = DeviceState.WRONG_KEY
                raise
            except NotReady as error:
                self._trouble = error.state
                raise
            except TransportError:
                self._trouble = DeviceState.OFFLINE
                raise
            self._count_anew()

    def _count_anew(self) -> None:
        self._sessions = asyncio.Semaphore(SESSION_LIMIT)
        self._urgent = asyncio.Semaphore(URGENT_LIMIT)

    async def _connect(self) -> asyncssh.SSHClientConnection:
        import asyncssh

        options = self._options()
        seen: list[ssh_keys.SeenKey] = []
        trust_file = self._trust_file

        class Client(asyncssh.SSHClient):
            def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
                question = ssh_keys.judge(key, host, addr, port, trust_file, options.known_hosts)
                if question is not None:
                    seen.append(question)
                return question is None

        name = str(self.destination)
        tunnel = {"tunnel": self._jump._connection} if self._jump is not None else {}
        try:
            connection = await asyncio.wait_for(
                asyncssh.connect(self.destination.host, options=options, client_factory=Client, **tunnel),
                CONNECT_TIMEOUT_S * 2,
            )
        except asyncssh.HostKeyNotVerifiable as error:
            if seen:
                raise seen[-1].error(name) from error
            raise HostKeyUnknown(
                f"The host key of {name} or of its jump host could not be checked",
                fingerprint="",
                changed=False,
                detail=str(error),
                fix="Connect to each of them once with `ssh`, compare the fingerprints, then try again.",
            ) from error
        except asyncssh.PermissionDenied as error:
            raise NotReady(
                f"{name} accepted none of your keys",
                state=DeviceState.UNAUTHORIZED,
                detail=str(error),
                fix=f"Load the key into the agent (ssh-add), or install it there: ssh-copy-id {name}",
            ) from error
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise LinkLost(
                f"{name} cannot be reached over SSH",
                detail=str(error) or "timed out",
                fix="Check that the device is on and sshd runs there (Termux: run `sshd`, port 8022).",
            ) from error
        return connection

    def _options(self) -> asyncssh.SSHClientConnectionOptions:
        import asyncssh

        given: dict[str, Any] = {"host": self.destination.host}
        if self.destination.user:
            given["username"] = self.destination.user
        if self.destination.port:
            given["port"] = self.destination.port
        if self._config is not None:
            given["config"] = [str(path) for path in self._config]
        if self._client_keys is not None:
            given["client_keys"] = [str(path) for path in self._client_keys]
        given.update(
            connect_timeout=CONNECT_TIMEOUT_S,
            login_timeout=CONNECT_TIMEOUT_S,
            keepalive_interval=KEEPALIVE_INTERVAL_S,
            keepalive_count_max=KEEPALIVE_COUNT,
        )
        options = asyncssh.SSHClientConnectionOptions(**given)
        if options.known_hosts is None:
            # `UserKnownHostsFile none` would switch checking off without a word; the default file is used instead.
            options = asyncssh.SSHClientConnectionOptions(options, known_hosts=b"")
        return options

    def _live(self) -> asyncssh.SSHClientConnection:
        if self._connection is None or self._connection.is_closed():
            raise LinkLost(
                f"{self.destination} is not connected", fix="Check the network; entity-tui connects again by itself."
            )
        return self._connection

    async def _close_link(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            with contextlib.suppress(TimeoutError, OSError):
                await asyncio.wait_for(connection.wait_closed(), 2.0)
        if self._jump is not None:
            await self._jump._close_link()

    async def _open(self, command: str, *, timeout_s: float) -> Channel:
        return await self._open_counted(command, self._sessions, timeout_s)

    async def _open_urgent(self, command: str, *, timeout_s: float) -> Channel:
        return await self._open_counted(command, self._urgent, timeout_s)

    async def _open_counted(self, command: str, sessions: asyncio.Semaphore, timeout_s: float) -> Channel:
        try:
            await asyncio.wait_for(sessions.acquire(), timeout_s)
        except TimeoutError as error:
            raise LinkLost(f"No free session within {timeout_s:g} s", detail="all of them are in use") from error
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                sessions.release()

        try:
            return await self._open_session(command, release, timeout_s)
        except BaseException:
            release()
            raise

    async def _open_session(self, command: str, release: Callable[[], None], timeout_s: float) -> Channel:
        """Start a session. sshd counts one until its process is reaped, a moment after we saw it end: ask again."""
        import asyncssh

        line = f"exec sh -c {quote([command])}"
        pause_s = 0.02
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        return await open_channel(self._live(), line, release)
                    except asyncssh.ChannelOpenError:
                        self._live()
                    await asyncio.sleep(pause_s)
                    pause_s = min(pause_s * 2, 0.5)
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise LinkLost(
                f"{self.destination} did not open a session",
                detail=str(error) or f"no answer within {timeout_s:g} s",
                fix="Check the network; entity-tui connects again by itself.",
            ) from error

    async def _dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """asyncssh's streams quack like asyncio's; the relay uses only what both have."""
        import asyncssh

        try:
            reader, writer = await asyncio.wait_for(
                self._live().open_connection("127.0.0.1", port, encoding=None), OPEN_TIMEOUT_S
            )
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise LinkLost(f"Port {port} on the device did not accept", detail=str(error)) from error
        return reader, writer  # type: ignore[return-value]

    async def listed_state(self) -> DeviceState:
        """Ready while the connection stands; else what the last attempt to open it met."""
        if self._connection is not None and not self._connection.is_closed():
            return DeviceState.READY
        return self._trouble

    async def recover(self) -> None:
        """Open the connection again; a link that stands but does not answer is dropped first."""
        if self._connection is not None and not self._connection.is_closed():
            self._connection.abort()
            with contextlib.suppress(TimeoutError, OSError):
                await asyncio.wait_for(self._connection.wait_closed(), 2.0)
        await self._reopen()
