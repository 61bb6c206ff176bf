"""A plan as flat text: everything the runner on the device decides by, one word and one value a line.

The shell on a phone has no JSON, 32-bit arithmetic and an expensive `printf`. So the host does every sum beforehand:
masks arrive as the kernel prints them, temperatures as thousandths of a degree, times as hundredths of a second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from entity_tui.device.cpu_lists import format_mask, parse_mask
from entity_tui.errors import UsageError

PLAN_VERSION = 1
"""Version of the flat plan; runner.sh refuses one it does not know."""

MAX_NODES = 8
"""More would make a tick cost more than the instrument may."""

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
    owed_blocks: int = 0
    """Reserve blocks that blocks lost before a resume have a claim to."""
    replace_states: tuple[str, ...] = ("gate_timeout", "core_offline")
    """States that cost a block through no fault of an arm: each such block gets a reserve block, if one is left."""
    exit_states: Mapping[int, str] = field(default_factory=lambda: DEFAULT_EXIT_STATES)
    stderr_states: tuple[tuple[str, str], ...] = DEFAULT_STDERR_STATES


def render(plan: RunnerPlan) -> str:
    """The plan as the runner reads it. Raises UsageError for a value that one line of text cannot carry."""
    lines = [f"entity-plan {PLAN_VERSION}", f"session {_word(plan.session_id)}", f"plan_hash {_word(plan.plan_hash)}"]
    if plan.boot_id:
        lines.append(f"boot_id {_word(plan.boot_id)}")
    lines += [f"period_cs {max(1, round(plan.period_ms / 10))}", f"heartbeat_cs {_cs(plan.heartbeat_s)}"]
    if plan.battery_min_pct is not None:
        lines.append(f"battery_min_pct {plan.battery_min_pct}")
    if plan.free_min_mb is not None:
        lines.append(f"free_min_mb {plan.free_min_mb}")
    if plan.safety_temp_c is not None:
        lines.append(f"safety_mc {_mc(plan.safety_temp_c)}")
    if plan.safety_status is not None:
        lines.append(f"safety_status {plan.safety_status}")
    if plan.recorder_mask is not None:
        lines.append(f"recorder_mask {format_mask(mask_cpus(plan.recorder_mask))}")
    if plan.owed_blocks:
        lines.append(f"owed {plan.owed_blocks}")
    if len(plan.nodes) > MAX_NODES:
        raise UsageError(f"A plan reads at most {MAX_NODES} nodes in a cell, not {len(plan.nodes)}.")
    lines += [f"node {_word(node.name)} {_path(node.path)}" for node in plan.nodes]
    lines += [f"file {check.size_bytes} {check.sha256 or '-'} {_path(check.path)}" for check in plan.files]
    lines += [f"exit {code} {_word(state)}" for code, state in sorted(plan.exit_states.items())]
    lines += [f"replace {_word(state)}" for state in plan.replace_states]
    lines += [f"stderr {_word(state)} {_text(words)}" for words, state in plan.stderr_states]
    lines += _gate_lines(plan.gate)
    numbers = [cell.number for cell in plan.cells]
    if len(numbers) != len(set(numbers)) or any(number < 1 for number in numbers):
        raise UsageError("The cells of a plan are numbered from 1, each number once.")
    for cell in plan.cells:
        lines += _cell_lines(cell)
    lines.append("end")
    return "\n".join(lines) + "\n"


def _cell_lines(cell: RunnerCell) -> list[str]:
    place = f"{cell.number} {cell.attempt} {cell.block} {cell.position}"
    lines = [f"cell {place} {_word(cell.role)} {int(cell.reserve)} {_word(cell.arm)} {_word(cell.key)}"]
    if cell.gate is not None:
        lines += _gate_lines(cell.gate)
    if not cell.launches:
        raise UsageError(f"Cell {cell.number} launches nothing.")
    for launch in cell.launches:
        if not launch.argv or not launch.argv[0].startswith("/"):
            raise UsageError(f"Cell {cell.number} must start its program by an absolute path.")
        lines.append(f"launch {_word(launch.phase)} {launch.threads} {_cs(launch.wall_limit_s)}")
        if launch.mask is not None:
            cpus = mask_cpus(launch.mask)
            if not cpus:
                raise UsageError(f"Cell {cell.number} has a mask without a CPU.")
            lines.append(f"mask {format_mask(cpus)} {' '.join(map(str, cpus))}")
        lines.append(f"dir {_path(launch.directory)}")
        for name, value in launch.env:
            if not _ENV_NAME.fullmatch(name):
                raise UsageError(f"{name!r} is not a name an environment variable can have.")
            lines.append(f"env {name} {_text(value)}")
        lines += [f"arg {_text(argument)}" for argument in launch.argv]
    lines.append("go")
    return lines


def _gate_lines(gate: GatePlan) -> list[str]:
    if gate.skip:
        return ["gate skip 0 0 0 0 skip - 0"]
    dwell = "-" if gate.sensorless_dwell_s is None else str(_cs(gate.sensorless_dwell_s))
    times = f"{_cs(gate.minimum_s)} {_cs(gate.timeout_s)} {max(5, _cs(gate.poll_s))}"
    lines = [f"gate wait {_mc(gate.limit_c)} {times} {gate.on_timeout.value} {dwell} {int(gate.throttle_status)}"]
    for sensor in gate.sensors:
        if sensor.per_degree not in (1, 10, 100, 1000):
            raise UsageError(f"{sensor.source} cannot have {sensor.per_degree} units per degree.")
        if not sensor.source.startswith(("/", "dumpsys battery", "dumpsys thermalservice ")):
            raise UsageError(f"The gate cannot watch {sensor.source!r}.")
        lines.append(f"sensor {1000 // sensor.per_degree} {_text(sensor.source)}")
    lines += [f"cap {cap.khz} {_path(cap.path)}" for cap in gate.caps]
    return lines


def mask_cpus(mask: str) -> tuple[int, ...]:
    """CPU numbers of a bare hex mask, lowest first: `f0` is (4, 5, 6, 7)."""
    cpus = parse_mask(mask)
    if cpus is None:
        raise UsageError(f"{mask!r} is not a CPU mask.", fix="Write the mask in hex, such as f0.")
    return cpus


def _cs(seconds: float) -> int:
    """Hundredths of a second; 32-bit shell arithmetic holds 248 days of them."""
    return max(0, round(seconds * 100))


def _mc(celsius: float) -> int:
    return round(celsius * 1000)


def _word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise UsageError(f"{text!r} cannot be used as a name in a plan.", fix="Use letters, digits and . _ : = + -")
    return text


def _text(text: str) -> str:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise UsageError(
            f"{text[:40]!r} holds a line break or another control character.",
            fix="Put such a text in a file on the device and name the file instead.",
        )
    return text


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise UsageError(f"{text!r} is not an absolute path on the device.")
    return _text(text)
