"""From what the runner left behind to tidy rows: a pure function of plan, journal events and raw output files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from entity_tui.analysis.summary import ttft_derived_ms
from entity_tui.engine.bench_output import OK, BenchResult
from entity_tui.experiments.arms import Arm
from entity_tui.experiments.beside import outcome_beside, with_surroundings
from entity_tui.experiments.cell_power import CellPower, GaugeReading, Window, clock_nodes, read_power
from entity_tui.experiments.counter_rows import counter_rows
from entity_tui.experiments.judge import PhaseResult, judge_launch, setting_of
from entity_tui.experiments.launches import mask_text
from entity_tui.experiments.plan import Plan, cell_key
from entity_tui.experiments.server_bench import INSTRUMENT
from entity_tui.experiments.states import state
from entity_tui.experiments.surroundings import surroundings
from entity_tui.experiments.sustained_rows import PASS_METRIC, SUSTAINED, retention_rows
from entity_tui.records.journal_events import CellEvent, GateOutcome, LaunchEnd
from entity_tui.records.schema import Metric, Phase, Role, Row, Usability, metric_row


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every row of a run carries besides its cell."""

    session_id: str
    plan: Plan
    device_id_hash: str = ""
    os_build: str = ""
    boot_id: str = ""
    transport: str = ""
    simulated: bool = False
    clock_factor: float = 1.0
    host_version: str = ""
    launch_context: str = ""
    """`adb shell`, `ssh`, `termux`, `local`: cells of different contexts are never compared."""
    boot_wall_s: float | None = None
    """Host time, seconds since 1970, at which the device's boot clock read 0; None when it was not measured."""
    cpu_class: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    """Cluster label and index by CPU (`PERF_0`), for times and clocks by class."""
    online_mask: str = ""
    cpuset: str = ""
    gauge: GaugeReading | None = None
    """How this device's battery gauge is read; None where it cannot be."""
    plan_hash: str = field(init=False, default="")
    """The plan's own, computed once for all rows."""

    def __post_init__(self) -> None:
        """Hash the plan."""
        object.__setattr__(self, "plan_hash", self.plan.plan_hash)


def _usability(found: str, event: CellEvent, tainted: bool) -> Usability:
    row = state(found)
    usability = row.usability_when_run if event.launches else row.usability
    return Usability.TAINTED if usability is Usability.USABLE and tainted else usability


def taints(context: RunContext, event: CellEvent) -> tuple[str, ...]:
    """Why a cell that ended well is marked all the same, in words; empty when nothing speaks against it."""
    plan = context.plan
    found: list[str] = []
    gate = event.gate
    if event.tainted and gate is not None and gate.outcome in (GateOutcome.TIMEOUT, GateOutcome.UNAVAILABLE):
        found.append(f"{gate.outcome.value}: it ran all the same, as the plan says")
    elif event.tainted:
        found.append("the runner marked it")
    if plan.gate.weakened:
        found.append(f"the plan's gate waits only {plan.gate.minimum_s:g} s")
    if any(launch.mask_ok is None for launch in event.launches):
        found.append("a mask was not read back")
    if context.launch_context == "termux":
        found.append("launched from an app")
    return tuple(found)


def cell_rows(context: RunContext, event: CellEvent, files: Mapping[str, bytes]) -> tuple[Row, ...]:
    """The rows of one finished cell, one a metric; a cell without a number has one row that says why.

    `files` are the cell's own files by name (`decode.out`, `decode.err`, `samples` …). Raises KeyError for an arm the
    plan does not have, which is a foreign cell.
    """
    plan = context.plan
    arm = plan.arm(event.arm)
    phases = [(launch, judge_launch(plan, arm, launch, files, event.role)) for launch in event.launches]
    found, detail = _cell_state(event, [result for _, result in phases])
    reasons = taints(context, event)
    whole, decode = _windows(context, arm, phases)
    power = read_power(context.gauge, _samples(files, event), whole, decode)
    around = surroundings(files.get("before.txt", b""), files.get("after.txt", b""), event)
    if found == OK:
        found, detail = outcome_beside(plan, event, [result for _, result in phases], power, around)
    usability = _usability(found, event, bool(reasons))
    if usability is Usability.TAINTED and not detail:
        detail = "; ".join(reasons)
    base = replace(
        with_surroundings(base_row(context, event, arm, power), around),
        state=found,
        state_detail=_detail(event, detail) or None,
        usability=usability,
    )
    rows: list[Row] = []
    values: dict[str, float] = {}
    for launch, result in phases:
        row = _phase_row(base, context, arm, launch, result)
        if row is not None and row.value is not None:
            rows.append(row)
            values[launch.phase] = row.value
            text = files.get(f"{launch.phase}.out", b"").decode("utf-8", "replace")
            rows += counter_rows(row, text, plan.options, row.n_tokens or 0)
    if usability is not Usability.VOID and {Phase.PREFILL, Phase.DECODE} <= set(values):
        ttft = ttft_derived_ms(values[Phase.PREFILL], values[Phase.DECODE], plan.n_prompt)
        rows.append(metric_row(replace(base, phase=Phase.CELL), Metric.TTFT_DERIVED_MS, ttft))
    if plan.experiment == SUSTAINED and usability is not Usability.VOID:
        rows += retention_rows(base, phases)
    if Phase.DECODE in values and usability is not Usability.VOID and not arm.command:
        rows += power.rows(base, plan.n_gen, values.get(Phase.DECODE))
    if not rows or (usability is Usability.VOID and found != "warmup"):
        rows.append(_reason_row(base, context, arm, phases))
    # A file knows no empty text: what is empty is missing, so that a row read back equals the row written.
    return tuple(replace(row, unit=row.unit or None, better=row.better or None) for row in rows)


def _samples(files: Mapping[str, bytes], event: CellEvent) -> bytes:
    """The recorder's lines of every launch of the cell, in their order."""
    return b"".join(files.get(f"{launch.phase}.samples", b"") for launch in event.launches)


def _windows(
    context: RunContext, arm: Arm, phases: list[tuple[LaunchEnd, PhaseResult]]
) -> tuple[Window | None, Window | None]:
    """(all launches, the decode measurement itself): llama-bench measures last, so its seconds end with the launch."""
    if not phases or context.gauge is None:
        return None, None
    mask = arm.decode.mask if arm.decode.mask is not None else frozenset(context.plan.online)
    labels = list(dict.fromkeys(context.cpu_class[cpu] for cpu in sorted(mask) if cpu in context.cpu_class))
    # A server stands idle before it is asked and after: clocks that fall then say nothing.
    clocks = () if context.plan.instrument == INSTRUMENT else clock_nodes(context.gauge.nodes, labels)
    spans = tuple((item.t_start_s, item.t_end_s) for item, _ in phases)
    whole = Window(min(start for start, _ in spans), max(end for _, end in spans), clocks, spans)
    for launch, result in phases:
        if launch.phase == Phase.DECODE and result.result is not None:
            seconds = result.result.seconds or 0.0
            return whole, Window(max(launch.t_start_s, launch.t_end_s - seconds), launch.t_end_s, clocks)
    return whole, None


def _cell_state(event: CellEvent, phases: list[PhaseResult]) -> tuple[str, str]:
    """The cell's state: what the runner said unless that is `ok` or too general, then the first phase that failed."""
    failed = next((item for item in phases if item.state != OK), None)
    if event.role == Role.WARMUP and failed is None and event.state in (OK, "warmup", ""):
        return "warmup", ""
    if event.state not in (OK, "", "workload_error", "warmup"):
        detail = event.detail or (failed.detail if failed else "")
        if failed is not None and failed.state == event.state:
            detail = failed.detail or detail
        return event.state, detail
    if failed is not None:
        return failed.state, failed.detail
    return (OK, "") if event.state in (OK, "", "warmup") else (event.state, event.detail)


def _detail(event: CellEvent, detail: str) -> str:
    """The reason as it stands, or what a reader of a cell that a blind gate kept from running should do."""
    blind = event.gate is not None and event.gate.outcome is GateOutcome.UNAVAILABLE and not event.launches
    if blind and not detail:
        return "not run; --gate sensorless_dwell_s=60 runs it after a fixed wait, tainted"
    return detail


def base_row(context: RunContext, event: CellEvent, arm: Arm, power: CellPower) -> Row:
    """Everything a row of this cell carries besides its metric."""
    plan = context.plan
    gate = event.gate
    starts = [launch.t_start_s for launch in event.launches]
    ends = [launch.t_end_s for launch in event.launches]
    start = min(starts, default=event.t_boot_s)
    temps = [launch.temp_max_c for launch in event.launches if launch.temp_max_c is not None]
    return Row(
        session_id=context.session_id,
        plan_hash=context.plan_hash,
        plan_seed=plan.seed,
        device_id_hash=context.device_id_hash or None,
        os_build=context.os_build or None,
        boot_id=context.boot_id or None,
        transport=context.transport or None,
        simulated=context.simulated,
        clock_factor=context.clock_factor if context.simulated else None,
        host_version=context.host_version or None,
        experiment=plan.experiment,
        instrument=plan.instrument,
        block=event.block,
        position=event.position,
        arm=event.arm,
        role=event.role,
        cell_key=event.key or cell_key(plan, arm),
        attempt=event.attempt,
        metric=Metric.OUTCOME,
        t_start_boot_s=start,
        t_end_boot_s=max(ends, default=event.t_boot_s),
        wall_start_utc=_wall(context, start),
        engine=plan.engine.name,
        engine_build=arm.engine_build or plan.engine.build,
        model_sha256=(arm.model_sha256 if arm.model_path else plan.model.sha256) or None,
        model_name=arm.model_name or plan.model.name,
        model_quant=(arm.model_quant if arm.model_path else plan.model.quant) or None,
        n_prompt=plan.n_prompt,
        n_gen=plan.n_gen,
        n_depth=plan.n_depth,
        load_mode=plan.load_mode or None,
        launch_context=context.launch_context or None,
        cpuset_allowed=context.cpuset or None,
        online_mask=context.online_mask or None,
        gate_state=gate.outcome.value if gate is not None and gate.outcome is not None else None,
        gate_wait_s=gate.wait_s if gate else None,
        temp_source=(gate.temp_source or None) if gate else None,
        temp_start_c=gate.temp_c if gate else None,
        temp_max_c=max(temps, default=None),
        thermal_status_start=gate.throttle_status if gate else None,
        freq_mean_mhz_by_class=power.clocks or None,
        freq_cap_hit_pct=power.below_cap_pct,
        gauge_flag=power.flag or None,
        power_coverage_pct=power.coverage_pct,
        power_source=power.source or None,
        charging_state=power.charging or None,
        raw_ref=event.directory or None,
    )


def _wall(context: RunContext, boot_s: float) -> str | None:
    if context.boot_wall_s is None:
        return None
    from datetime import UTC, datetime

    return datetime.fromtimestamp(context.boot_wall_s + boot_s, UTC).isoformat(timespec="milliseconds")


def by_class(ticks: Mapping[int, int], labels: Mapping[int, str], ticks_per_s: float = 100.0) -> str:
    """CPU seconds by cluster label, such as `PERF=12.5 LITTLE=0.3`; empty when nothing was read."""
    totals: dict[str, float] = {}
    for cpu, count in ticks.items():
        label = labels.get(cpu, f"cpu{cpu}_").rpartition("_")[0]
        totals[label] = totals.get(label, 0.0) + count / ticks_per_s
    return " ".join(f"{label}={seconds:.2f}" for label, seconds in totals.items())


def _launched(base: Row, context: RunContext, arm: Arm, launch: LaunchEnd, phase: PhaseResult) -> Row:
    """The row with what was asked for and what the kernel did in one launch, whether or not it gave a number."""
    setting = setting_of(arm, launch.phase)
    length = launch.t_end_s - launch.t_start_s
    own = launch.recorder_ticks / length if launch.recorder_ticks is not None and length > 0 else None
    return replace(
        base,
        phase=launch.phase,
        t_start_boot_s=launch.t_start_s,
        t_end_boot_s=launch.t_end_s,
        engine_build=_build_of(phase.result) or base.engine_build,
        variant_loaded=phase.log.variant or None,
        threads_requested=setting.threads,
        threads_seen=launch.threads_seen,
        mask_requested=mask_text(setting.mask),
        mask_applied=launch.mask_applied or None,
        mask_ok=launch.mask_ok,
        migrations=launch.migrations,
        cpu_time_by_class=by_class(launch.cpu_ticks_by_cpu, context.cpu_class) or None,
        temp_max_c=launch.temp_max_c if launch.temp_max_c is not None else base.temp_max_c,
        sampler_cpu_pct=None if own is None else round(own, 3),
    )


def _reason_row(base: Row, context: RunContext, arm: Arm, phases: list[tuple[LaunchEnd, PhaseResult]]) -> Row:
    """The one row of a cell without a number: what was asked for, and what was applied where it got that far."""
    failed = next(((launch, result) for launch, result in phases if result.state != OK), None)
    if failed is not None:
        row = _launched(base, context, arm, *failed)
    else:
        asked = arm.decode
        row = replace(base, threads_requested=asked.threads, mask_requested=mask_text(asked.mask))
    return metric_row(replace(row, phase=Phase.CELL), Metric.OUTCOME, None)


def _phase_row(base: Row, context: RunContext, arm: Arm, launch: LaunchEnd, phase: PhaseResult) -> Row | None:
    result = phase.result
    row = _launched(base, context, arm, launch, phase)
    if phase.measure is not None:
        found = phase.measure
        return replace(
            row,
            metric=found.metric,
            value=found.value,
            unit=found.unit or None,
            better=found.better or None,
            n_tokens=found.n_tokens,
            duration_s=found.seconds,
        )
    if result is None:
        return None
    tokens = result.tokens * max(1, len(result.samples_ns))
    metric: str = Metric.PROMPT_TOK_S if launch.phase == Phase.PREFILL else Metric.DECODE_TOK_S
    if context.plan.experiment == SUSTAINED:
        metric = PASS_METRIC
        row = replace(row, phase=Phase.DECODE, unit="tok/s", better="higher")
    return metric_row(row, metric, result.rate_tok_s, n_tokens=tokens, duration_s=result.seconds)


def _build_of(result: BenchResult | None) -> str:
    return f"b{result.build_number}" if result is not None and result.build_number else ""
