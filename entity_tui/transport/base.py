"""The Transport contract: how every other room talks to a device, whatever the link is.

EntityError
└── TransportError
    ├── LinkLost            the link went away, before or during a call; retrying can help
    ├── DeadlineExceeded    the call's own deadline passed; the remote command was ended
    ├── NotReady            the device is known but not usable: unauthorized, offline, no permission, recovery ...
    ├── HostKeyUnknown      an SSH host key nobody has confirmed yet, or one that changed
    ├── RemoteFileError     a path is missing, denied, a folder, or there is no space left
    ├── TransferMismatch    the sha256 after a transfer is not the sha256 before it
    └── Unsupported         this link cannot do that at all (replay cannot push)
"""

from __future__ import annotations

import abc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from entity_tui.errors import EntityError, Where


class TransportError(EntityError):
    """A failure on the way to the device."""

    exit_code = 3
    where = Where.TRANSPORT


class LinkLost(TransportError):
    """The link went away; whatever was on the device may still be running there."""

    retry = True


class DeadlineExceeded(TransportError):
    """The deadline of the call passed. `partial` holds what had arrived on stdout until then."""

    retry = True

    def __init__(self, title: str, *, partial: bytes = b"", detail: str = "", fix: str = "") -> None:
        super().__init__(title, detail=detail, fix=fix)
        self.partial = partial


class NotReady(TransportError):
    """The device is listed but cannot be used; `state` says how and `fix` what to tap or type."""

    retry = True

    def __init__(self, title: str, *, state: DeviceState, detail: str = "", fix: str = "") -> None:
        super().__init__(title, detail=detail, fix=fix)
        self.state = state


class HostKeyUnknown(TransportError):
    """The SSH server's key is not in known_hosts (or differs).

    `fingerprint` is what a user must compare, `line` the known_hosts line to keep once it was confirmed.
    """

    def __init__(
        self, title: str, *, fingerprint: str, changed: bool, line: str = "", detail: str = "", fix: str = ""
    ) -> None:
        super().__init__(title, detail=detail, fix=fix)
        self.fingerprint = fingerprint
        self.changed = changed
        self.line = line


class RemoteFileError(TransportError):
    """A path on the device cannot be used; the device's own words are in `detail`."""

    where = Where.DEVICE
    exit_code = 1


class TransferMismatch(TransportError):
    """What arrived is not what was sent; nothing was put under the final name."""

    where = Where.DEVICE
    exit_code = 1


class Unsupported(TransportError):
    """This link has no such ability; trying again cannot help."""

    exit_code = 2


class DeviceState(StrEnum):
    """Every state a device can be in, over any link."""

    ABSENT = "absent"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    AUTHORIZING = "authorizing"
    CONNECTING = "connecting"
    READY = "ready"
    STALE = "stale"
    LOST = "lost"
    REBOOTED = "rebooted"
    RECOVERY = "recovery"
    SIDELOAD = "sideload"
    NO_PERMISSION = "no_permission"
    WRONG_KEY = "wrong_key"


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended on the device. `exit_code` is never None: a lost link raises LinkLost instead.

    A process killed by signal n has `exit_code` 128 + n and `signal` n, over every link.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    duration_s: float
    signal: int | None = None

    @property
    def ok(self) -> bool:
        """True when the command ended with 0."""
        return self.exit_code == 0

    @property
    def text(self) -> str:
        """stdout as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """stderr as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Job:
    """A detached process on the device. All three identities must match before anything signals it."""

    boot_id: str
    pid: int
    start_time_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks since boot; 0 where the system has no /proc (macOS)."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A finished push or pull. `sent_bytes` is less than `size_bytes` when it resumed."""

    size_bytes: int
    sent_bytes: int
    sha256: str
    duration_s: float
    verify_s: float


Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) during a transfer."""


class Transport(abc.ABC):
    """One device over one link.

    Use as an async context manager, or `connect()` and `close()`. All paths on the device are absolute POSIX paths.
    Calls may be made at the same time; each has its own deadline and none of them hangs.
    """

    kind: str
    """"adb", "ssh", "local" or "replay"."""

    spec: str
    """The name that reaches this device again on the command line, such as `adb:0015725` or `local`."""

    simulated: bool = False
    """True for a demo phone: everything measured over it must say so."""

    root: str
    """The one directory on the device that entity-tui may write to."""

    @abc.abstractmethod
    async def connect(self) -> None:
        """Open the link. Raises NotReady, HostKeyUnknown or LinkLost."""

    @abc.abstractmethod
    async def close(self) -> None:
        """Let go of the link and of every command that still runs through it; detached jobs live on."""

    @abc.abstractmethod
    async def run(self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float = 30.0) -> Completed:
        """Run one command; argv is quoted once and reaches the program unchanged."""

    @abc.abstractmethod
    async def script(self, text: str, *, args: Sequence[str] = (), timeout_s: float = 30.0) -> Completed:
        """Run a POSIX sh script in one round trip; `args` become $1, $2 ... Nothing is written on the device."""

    @abc.abstractmethod
    def stream(
        self, argv: Sequence[str], *, stdin: bytes | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """Run a long command and iterate over its lines (without newline) as they arrive.

        Leaving the context ends the command on the device. The buffer is bounded; a line over 1 MiB is cut into
        pieces. The iterator ends when the command ends and raises LinkLost when the link does.
        """

    @abc.abstractmethod
    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Bytes of a file from `offset`, for following a journal. RemoteFileError when it cannot be read."""

    @abc.abstractmethod
    async def push(
        self, local: Path, remote: str, *, mode: int = 0o644, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Copy a file to the device: free space first, temporary name, resumed where a cut left it, sha256, rename."""

    @abc.abstractmethod
    async def pull(
        self, remote: str, local: Path, *, progress: Progress | None = None, verify: bool = True
    ) -> Transfer:
        """Copy a file from the device with the same care; a missing path raises and leaves nothing behind."""

    @abc.abstractmethod
    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """A loopback port on this computer that leads to 127.0.0.1:`port` on the device."""

    @abc.abstractmethod
    def states(self) -> AsyncIterator[DeviceState]:
        """The state now, then every change of it, for as long as somebody iterates."""

    @abc.abstractmethod
    async def spawn(self, argv: Sequence[str], *, directory: str, stdout: str, stderr: str) -> Job:
        """Start a detached process that outlives the link, with its own session and closed stdin."""

    @abc.abstractmethod
    async def alive(self, job: Job) -> bool:
        """True while exactly that process (boot id, pid and start time) lives and is not a zombie."""

    @abc.abstractmethod
    async def signal(self, job: Job, number: int) -> bool:
        """Send a signal if boot id, pid and start time all match; False when that process is gone."""

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
