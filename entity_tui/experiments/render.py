"""From a plan and one device's first probe to the flat plan the runner on the device works through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.digits import whole
from entity_tui.engine.log_lines import stderr_states
from entity_tui.experiments.flatplan import (
    MAX_NODES,
    ClockCap,
    FileCheck,
    GatePlan,
    GateSensor,
    OnTimeout,
    RunnerCell,
    RunnerPlan,
    SampleNode,
)
from entity_tui.experiments.launches import cell_launches
from entity_tui.experiments.order import appended_block
from entity_tui.experiments.plan import Gate, Plan, PlannedCell, cell_key
from entity_tui.experiments.server_bench import ENDED_BY_US, INSTRUMENT, RUN_FOLDER
from entity_tui.experiments.states import exit_states, states
from entity_tui.silicon.masks import format_mask

BATTERY = "/sys/class/power_supply/battery"
SUPPLY_NODES = ("current_now", "voltage_now", "status", "temp")
MB = 1_000_000


def start_temperature_c(facts: Facts) -> float | None:
    """The temperature the gate compares with: the battery's at the first probe."""
    return facts.battery.temperature_c


def gate_limit_c(gate: Gate, start_c: float | None) -> float:
    """max(start + margin, floor), in °C; the floor alone when the start is unknown."""
    return gate.floor_c if start_c is None else max(start_c + gate.margin_c, gate.floor_c)


def gate_sensors(gate: Gate, snapshot: Snapshot) -> tuple[GateSensor, ...]:
    """What the gate may watch, best first: the battery node, then the battery service, or what the plan names.

    A sensor that could not be read in the probe is left in: the runner tries it again and says what it used.
    """
    if gate.sensor == "battery":
        found = [GateSensor(f"{BATTERY}/temp", 10), GateSensor("dumpsys battery", 10)]
        return tuple(item for item in found if not _absent(snapshot, item.source))
    if gate.sensor.startswith("/"):
        return (GateSensor(gate.sensor, 1000),)
    return (GateSensor(f"dumpsys thermalservice {gate.sensor}", 1),)


def _absent(snapshot: Snapshot, source: str) -> bool:
    reading = snapshot.command(source) if source.startswith("dumpsys") else snapshot.file(source)
    return reading.outcome.value == "absent"


def clock_caps(snapshot: Snapshot) -> tuple[ClockCap, ...]:
    """Every `scaling_max_freq` the first probe could read, at its value then."""
    caps: dict[str, int] = {}
    for path, reading in sorted(snapshot.files.items()):
        if path.endswith("/scaling_max_freq") and reading.ok and (khz := whole(reading.text.strip())) is not None:
            caps[path] = khz
    policies = {path for path in caps if "/policy" in path}
    return tuple(ClockCap(path, khz) for path, khz in caps.items() if not policies or path in policies)


def sample_nodes(snapshot: Snapshot, facts: Facts) -> tuple[SampleNode, ...]:
    """At most eight small files for every tick: the battery's, then one clock per cluster, fastest first."""
    nodes = [SampleNode(name, f"{BATTERY}/{name}") for name in SUPPLY_NODES if snapshot.file(f"{BATTERY}/{name}").ok]
    for cluster in facts.topology.clusters:
        cpu = min(cluster.cpus, default=None)
        if cpu is None or len(nodes) >= MAX_NODES:
            continue
        path = f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
        policy = f"/sys/devices/system/cpu/cpufreq/policy{cluster.policy}/scaling_cur_freq"
        readable = next((item for item in (policy, path) if snapshot.file(item).ok), None)
        if readable is not None:
            nodes.append(SampleNode(f"clock_{cluster.label}_{cluster.index}", readable))
    return tuple(nodes[:MAX_NODES])


def gate_plan(plan: Plan, snapshot: Snapshot, facts: Facts) -> GatePlan:
    """The gate with this device's sensors, caps and start temperature in it."""
    gate = plan.gate
    return GatePlan(
        limit_c=round(gate_limit_c(gate, start_temperature_c(facts)), 3),
        sensors=gate_sensors(gate, snapshot),
        minimum_s=gate.minimum_s,
        timeout_s=gate.limit_s,
        on_timeout=OnTimeout.RUN if gate.run_on_timeout else OnTimeout.SKIP,
        sensorless_dwell_s=gate.sensorless_dwell_s,
        throttle_status=gate.throttle_none,
        caps=clock_caps(snapshot),
        skip=gate.skip,
    )


def render_cell(plan: Plan, number: int, cell: PlannedCell, *, reserve: bool = False, attempt: int = 1) -> RunnerCell:
    """One cell of the order as the runner gets it, under its number."""
    arm = plan.arm(cell.arm)
    return RunnerCell(
        number=number,
        key=cell_key(plan, arm),
        arm=cell.arm,
        block=cell.block,
        position=cell.position,
        launches=cell_launches(plan, arm, cell.role),
        role=cell.role,
        attempt=attempt,
        reserve=reserve,
    )


def runner_cells(plan: Plan) -> tuple[RunnerCell, ...]:
    """Every cell in its order, numbered from 1, then the spare blocks for blocks lost before treatment."""
    cells = [render_cell(plan, number, cell) for number, cell in enumerate(plan.cells, start=1)]
    number = len(plan.cells)
    for spare in range(1, plan.spare_blocks + 1):
        for cell in appended_block(plan.runnable, plan.blocks + spare, plan.seed):
            number += 1
            cells.append(render_cell(plan, number, cell, reserve=True))
    return tuple(cells)


def file_checks(plan: Plan) -> tuple[FileCheck, ...]:
    """The model as it must be on the device: its size, and its checksum where that was known beforehand.

    A checksum that was computed on the device a moment ago would only be computed once more.
    """
    model = plan.model
    if not model.path:
        return ()
    return (FileCheck(model.path, model.size_bytes, model.sha256 if model.declared else ""),)


def runner_plan(
    plan: Plan,
    snapshot: Snapshot,
    facts: Facts,
    *,
    session_id: str,
    boot_id: str = "",
    cells: Sequence[RunnerCell] = (),
    recorder_cpu: int | None = None,
    folder: str = "",
) -> RunnerPlan:
    """The flat plan of a whole run. `recorder_cpu` puts the recorder on one CPU (the observer experiment does);
    `folder` is the run's folder on the device, where a server finds its key."""
    by_code = dict(exit_states())
    todo = tuple(cells) or runner_cells(plan)
    if plan.instrument == INSTRUMENT:
        by_code[ENDED_BY_US] = "ok"
        todo = tuple(_placed(cell, folder) for cell in todo)
    return RunnerPlan(
        session_id=session_id,
        plan_hash=plan.plan_hash,
        boot_id=boot_id or facts.identity.boot_id,
        cells=todo,
        gate=gate_plan(plan, snapshot, facts),
        nodes=sample_nodes(snapshot, facts),
        battery_min_pct=plan.limits.battery_pct,
        free_min_mb=math.ceil(plan.limits.free_bytes / MB),
        safety_temp_c=plan.limits.safety_c,
        safety_status=plan.limits.safety_status,
        files=file_checks(plan),
        recorder_mask=None if recorder_cpu is None else format_mask({recorder_cpu}),
        exit_states=by_code,
        stderr_states=stderr_states(),
        replace_states=tuple(name for name, found in states().items() if found.replace),
    )


def _placed(cell: RunnerCell, folder: str) -> RunnerCell:
    """The cell with the run's folder filled into its command lines."""
    return replace(
        cell,
        launches=tuple(
            replace(launch, argv=tuple(word.replace(RUN_FOLDER, folder, 1) for word in launch.argv))
            for launch in cell.launches
        ),
    )
