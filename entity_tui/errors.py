"""The one error tree: every failure a user can meet says where it happened, whether trying again helps, and what to do.

EntityError
├── UsageError            the command or a file the user wrote is wrong (exit 2)
├── DeviceUnreachable     the phone cannot be reached right now (exit 3)
├── GateRefused           heat, battery, memory or another gate said no (exit 4)
└── (rooms add their own below these, e.g. transport.base.TransportError)
"""

from __future__ import annotations

from enum import StrEnum


class Where(StrEnum):
    """The side a failure belongs to, so that a reader knows where to look."""

    HOST = "host"
    TRANSPORT = "transport"
    DEVICE = "device"
    WORKLOAD = "workload"


class EntityError(Exception):
    """A failure with words for its reader.

    `title` is one short sentence, `detail` the raw evidence, `fix` what the user can do about it.
    `retry` is true only for transient failures (a cable, a time-out), never for stable ones (denied, missing).
    """

    exit_code: int = 1
    where: Where = Where.HOST
    retry: bool = False

    def __init__(
        self,
        title: str,
        *,
        detail: str = "",
        fix: str = "",
        where: Where | None = None,
        retry: bool | None = None,
    ) -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.fix = fix
        if where is not None:
            self.where = where
        if retry is not None:
            self.retry = retry

    def __str__(self) -> str:
        return " ".join(part for part in (self.title, self.detail, self.fix) if part)


class UsageError(EntityError):
    """What the user asked for cannot be meant: a wrong option, an unreadable plan, an unknown name."""

    exit_code = 2


class DeviceUnreachable(EntityError):
    """No way to the device right now; trying again can help."""

    exit_code = 3
    where = Where.TRANSPORT
    retry = True


class GateRefused(EntityError):
    """A gate of the plan said no before anything ran."""

    exit_code = 4
    where = Where.DEVICE
