"""What a runner reports, as values: one class per kind of journal line that is more than a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from entity_tui.digits import whole


class GateOutcome(StrEnum):
    """How the wait before a cell ended."""

    PASSED = "passed"
    TIMEOUT = "gate_timeout"
    UNAVAILABLE = "gate_unavailable"
    SKIPPED = "gate_skipped"


class EventKind(StrEnum):
    """What a journal line reports."""

    RUN_START = "run_start"
    REFUSED = "refused"
    CELL_START = "cell_start"
    GATE = "gate"
    LAUNCH = "launch"
    LAUNCH_END = "launch_end"
    CELL = "cell"
    BEAT = "beat"
    RESERVE = "reserve"
    STOP = "stop"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ThreadReadback:
    """One thread of the workload when it was last seen alive."""

    tid: int
    mask: str
    """Hex, lower case, without commas or leading zeros."""
    cpu_ticks: int
    """utime + stime, in clock ticks, since the thread began."""
    grew: bool
    """Its CPU time grew while it was watched: it did work and counts in `threads_seen`."""
    last_cpu: int | None = None
    migrations: int | None = None
    """From /proc/PID/task/TID/sched where the kernel has it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Any journal line. `fields` holds every `key=value`; `cell`, `attempt` are None for lines about the run."""

    sequence: int
    t_boot_s: float
    kind: EventKind
    fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    detail: str = ""

    @property
    def cell(self) -> int | None:
        """Number of the cell this line is about."""
        return whole(self.fields.get("n"))

    @property
    def attempt(self) -> int | None:
        """Attempt of that cell."""
        return whole(self.fields.get("attempt"))


@dataclass(frozen=True, slots=True)
class GateEvent(Event):
    """A gate that ended. `temp_c` is the reading that passed (or the last one); None when no sensor could be read."""

    outcome: GateOutcome | None = None
    """None when the wait was broken off: the cell's state says why (`cancelled`, `safety_stop`)."""
    ran: bool = False
    """The cell was run after it, be it tainted."""
    wait_s: float = 0.0
    temp_c: float | None = None
    temp_source: str = ""
    throttle_status: int | None = None
    tainted: bool = False


@dataclass(frozen=True, slots=True)
class LaunchEnd(Event):
    """One launch that ended, with everything the kernel said about it."""

    phase: str = ""
    state: str = ""
    exit_code: int | None = None
    t_start_s: float = 0.0
    t_end_s: float = 0.0
    mask_requested: str = ""
    mask_applied: str = ""
    """Hex mask of all threads that worked; empty when they differ or nothing could be read."""
    mask_ok: bool | None = None
    threads_requested: int = 0
    threads_seen: int | None = None
    threads: tuple[ThreadReadback, ...] = ()
    migrations: int | None = None
    migrations_source: str = ""
    """`sched` (kernel counter) or `sampled` (changes of the last CPU between readings)."""
    cpu_ticks_by_cpu: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """CPU ticks seen on each CPU while the threads were watched; their sum lacks the last moments."""
    cpu_ticks: int | None = None
    """User and system time of the whole workload in clock ticks, from the kernel's account of ended children."""
    temp_start_c: float | None = None
    temp_max_c: float | None = None
    recorder_ticks: int | None = None
    """CPU ticks the runner itself used during the launch."""


@dataclass(frozen=True, slots=True)
class CellEvent(Event):
    """The one line that makes a cell finished. Its files lie in `directory` below the run directory."""

    key: str = ""
    arm: str = ""
    block: int = 0
    position: int = 0
    role: str = "measure"
    state: str = ""
    directory: str = ""
    tainted: bool = False
    foreign: tuple[str, ...] = ()
    """Engines of somebody else that ran beside it, as `PID:NAME`."""
    launches: tuple[LaunchEnd, ...] = ()
    gate: GateEvent | None = None
