"""The plan: everything decided before the first cell, as one value with a canonical form and a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from typing import Any

from entity_tui.analysis.comparison import Comparison, Rules
from entity_tui.experiments.arms import Arm

PLAN_SCHEMA = 1
SERVER = "server"
"""The instrument that asks a llama-server; see `server_bench`."""
LEAST_WAIT_S = 15.0
"""The shortest wait the method asks for before a cell; a plan may wait less, visibly and tainted."""


class Protocol(StrEnum):
    """How a run is shaped: our blocks, or the seeds' fixed number of runs (no verdict)."""

    BLOCKS = "blocks"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Gate:
    """The wait before every cell. Temperatures in °C, times in seconds of the phone's own clock."""

    minimum_s: float = 15.0
    limit_s: float = 90.0
    margin_c: float = 0.5
    floor_c: float = 37.5
    sensor: str = "battery"
    throttle_none: bool = True
    """The system's throttle status must be none."""
    run_on_timeout: bool = False
    """True runs the cell all the same, tainted, as the seeds do."""
    sensorless_dwell_s: float | None = None
    """How long to wait where no sensor can be read; None means such a device is not measured."""
    skip: bool = False
    """True for experiments that want the heat (sustained)."""

    @property
    def weakened(self) -> bool:
        """True when the plan waits less than the method asks for, which taints its cells."""
        return self.skip or self.minimum_s < LEAST_WAIT_S


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends or prevents a cell."""

    launch_s: float = 600.0
    battery_pct: int = 15
    free_bytes: int = 1_500_000_000
    safety_c: float = 45.0
    safety_status: int = 3
    """Thermal status at which the workload is stopped: 3 is severe."""
    foreign_cpu_pct: float = 25.0


@dataclass(frozen=True, slots=True)
class EngineRef:
    """The engine the plan was made for; `directory` is on the device."""

    name: str
    build: str
    directory: str
    bench: str
    """Path of the executable on the device."""
    variants: tuple[str, ...] = ()
    variant_list: str = "unknown"
    perplexity: str = ""
    completion: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class ModelRef:
    """The model file the plan was made for; `sha256` is empty where it was never computed."""

    path: str
    name: str
    size_bytes: int
    sha256: str = ""
    quant: str = ""
    declared: bool = False
    """True when the checksum was known before the file was looked at: then the runner checks it on the device."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One cell of the order: block 0 is the warm-up, positions count from 1."""

    block: int
    position: int
    arm: str
    role: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, decided. `cells` is the execution order; two plans with one hash ask for exactly the same thing."""

    experiment: str
    title: str
    preset: str
    protocol: Protocol
    arms: tuple[Arm, ...]
    blocks: int
    seed: int
    cells: tuple[PlannedCell, ...]
    comparisons: tuple[Comparison, ...]
    rules: Rules
    gate: Gate
    limits: Limits
    engine: EngineRef
    model: ModelRef
    n_prompt: int = 512
    n_gen: int = 128
    n_depth: int = 0
    repetitions: int = 1
    load_mode: str = ""
    online: tuple[int, ...] = ()
    """CPUs online when the plan was made; what `all` means in a mask."""
    sessions: int = 1
    order: str = "seeded"
    """`seeded` or `fixed` (the seeds' grouped order)."""
    instrument: str = "llama-bench"
    exclude: tuple[str, ...] = ()
    """Names of the exclusion predicates, decided before the run."""
    notes: tuple[str, ...] = ()
    """What the reader must know of this plan, such as a dwell of 0."""
    options: Mapping[str, str] | None = None
    """What only this experiment needs, by name, already text."""
    schema: int = PLAN_SCHEMA

    def arm(self, arm_id: str) -> Arm:
        """The arm called `arm_id`. Raises KeyError when the plan has none."""
        for arm in self.arms:
            if arm.arm_id == arm_id:
                return arm
        raise KeyError(arm_id)

    @property
    def runnable(self) -> tuple[Arm, ...]:
        """The arms that really run here: capable, and not a second name of another one."""
        return tuple(arm for arm in self.arms if not arm.incapable and not arm.same_as)

    @property
    def measured_cells(self) -> int:
        """How many cells there are without warm-up."""
        return sum(1 for cell in self.cells if cell.role != "warmup")

    @property
    def spare_blocks(self) -> int:
        """How many blocks may be appended for blocks that lost a cell before treatment: ⌈B/4⌉."""
        return -(-self.blocks // 4) if self.protocol is Protocol.BLOCKS else 0

    @property
    def plan_hash(self) -> str:
        """sha256 of the canonical form, in hex."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()


def plain(value: Any) -> Any:
    """A dataclass tree as JSON values: sets sorted, enums by value, mappings by sorted key."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def canonical(plan: Plan) -> str:
    """The plan as JSON with sorted keys and no spaces: what the hash is taken of."""
    return json.dumps(plain(plan), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def cell_key(plan: Plan, arm: Arm) -> str:
    """What is measured, without when: command, model, build, masks, widths and prompt set; 16 hex digits."""
    parts = {
        "engine": asdict(plan.engine),
        "arm_engine": arm.engine_dir,
        "model": [plan.model.sha256 or plan.model.size_bytes, arm.model_path],
        "prefill": plain(arm.prefill),
        "decode": plain(arm.decode),
        "flags": arm.flags,
        "env": plain(arm.env),
        "command": arm.command,
        "marks": arm.marks,
        "tokens": [plan.n_prompt, plan.n_gen, plan.n_depth, plan.repetitions],
        "load": plan.load_mode,
        "options": plain(plan.options),
    }
    if plan.instrument == SERVER:  # the keys of older runs stay what they are
        parts["instrument"] = plan.instrument
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
