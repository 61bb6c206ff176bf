"""A plan as flat text: everything the runner on the device decides by, one word and one value a line, nothing to parse twice.

The shell on a phone has no JSON, 32-bit arithmetic and an expensive `printf`. So the host does every sum beforehand:
masks arrive as the kernel prints them, temperatures as thousandths of a degree, times as hundredths of a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from entity_tui.errors import UsageError

PLAN_VERSION = 1
"""Version of the flat plan; runner.sh refuses one it does not know."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+-]*")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class OnTimeout(StrEnum):
    """What happens to a cell whose gate never opened."""

    SKIP = "skip"
    """Not run, no number: state `gate_timeout`."""
    RUN = "run"
    """Run all the same, tainted (the seeds' `--runs` protocol)."""


@dataclass(frozen=True, slots=True)
class GateSensor:
    """One temperature the gate may watch; the first of several that can be read is the one that is used.

    `source` is an absolute path of a one-number file, `dumpsys battery`, or `dumpsys thermalservice NAME` (a sensor of
    the block "Current temperatures from HAL"). `per_degree` is how many raw units make 1 °C: 10 for a battery node,
    1000 for most zones, 1 for thermalservice.
    """

    source: str
    per_degree: int = 10


@dataclass(frozen=True, slots=True)
class ClockCap:
    """A `scaling_max_freq` node that must not read below `khz` (its value in the plan's first probe)."""

    path: str
    khz: int


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The wait before a cell. All times in seconds of the device clock; `limit_c` is already max(start + 0.5, 37.5)."""

    limit_c: float = 37.5
    sensors: tuple[GateSensor, ...] = ()
    minimum_s: float = 15.0
    timeout_s: float = 90.0
    poll_s: float = 2.0
    on_timeout: OnTimeout = OnTimeout.SKIP
    sensorless_dwell_s: float | None = None
    """With no readable sensor: wait this long and run tainted; None means the cell is not run."""
    throttle_status: bool = True
    """Ask `dumpsys thermalservice` for the throttle status where the device has it."""
    caps: tuple[ClockCap, ...] = ()
    skip: bool = False
    """No gate at all (`gate_skipped`), as the sustained experiment wants it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of the workload. `argv[0]` is an absolute path on the device; no argument may hold a line break."""

    phase: str
    """`prefill`, `decode` or any other word; names the files `<phase>.out` and `<phase>.err` of the cell."""
    argv: tuple[str, ...]
    threads: int
    mask: str | None = None
    """Bare hex (`f0`) for taskset; None inherits the runner's own mask."""
    env: tuple[tuple[str, str], ...] = ()
    wall_limit_s: float = 600.0
    directory: str = "/"
    """Working directory of the workload."""


@dataclass(frozen=True, slots=True)
class RunnerCell:
    """One gate and its launches. `number` is the position in the run, from 1, and never used again."""

    number: int
    key: str
    """cell_key: hash of everything that makes two cells the same measurement."""
    arm: str
    block: int
    position: int
    launches: tuple[Launch, ...]
    role: str = "measure"
    """`measure` or `warmup`."""
    attempt: int = 1
    reserve: bool = False
    """Part of a spare block: run only in place of a block that lost a cell before treatment."""
    gate: GatePlan | None = None
    """None takes the plan's gate."""


@dataclass(frozen=True, slots=True)
class SampleNode:
    """One small file that is read in every tick, and the name its value has in the stream."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class FileCheck:
    """A file of the plan as it must be on the device when the run starts; the runner refuses the run otherwise."""

    path: str
    size_bytes: int
    sha256: str = ""
    """Empty: only the size is compared."""


DEFAULT_EXIT_STATES: Mapping[int, str] = MappingProxyType(
    {126: "workload_error", 127: "library_missing", 132: "crashed_sigill", 137: "killed_oom", 139: "crashed_segv"}
)
"""State of a launch by its exit code; any other code that is not 0 is `workload_error`."""

DEFAULT_STDERR_STATES: tuple[tuple[str, str], ...] = (
    ("CANNOT LINK EXECUTABLE", "library_missing"),
    ("error while loading shared libraries", "library_missing"),
    ("No space left on device", "storage_full"),
    ("failed to load model", "model_load_failed"),
    ("unable to load model", "model_load_failed"),
)
"""Words on the standard error of a *failed* launch that name its state better than the exit code does."""


@dataclass(frozen=True, slots=True)
class RunnerPlan:
    """Everything one runner does on one device: cells in their order, gate, limits, what is sampled."""

    session_id: str
    plan_hash: str
    boot_id: str
    """The boot the plan was made for; the runner stops with `boot_mismatch` on any other. Empty: not compared."""
    cells: tuple[RunnerCell, ...]
    gate: GatePlan = field(default_factory=GatePlan)
    nodes: tuple[SampleNode, ...] = ()
    """At most 8: current, voltage, status and a few clocks, read every `period_ms` during a cell."""
    period_ms: int = 150
    heartbeat_s: float = 5.0
    battery_min_pct: int | None = 15
    free_min_mb: int | None = 1500
    safety_temp_c: float | None = 45.0
    safety_status: int | None = 3
    """Throttle status that ends the run (3 = severe), compared between cells and every 10 s in long cells."""
    files: tuple[FileCheck, ...] = ()
    recorder_mask: str | None = None
    """Hex mask the runner puts itself on; launches without a mask then get the runner's original one."""
    exit_states: Mapping[int, str] = field(default_factory=lambda: DEFAULT_EXIT_STATES)
    stderr_states: tuple[tuple[str, str], ...] = DEFAULT_STDERR_STATES
