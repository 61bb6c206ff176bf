"""LITTLETai's run folders, read from their raw arms into rows of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from entity_tui.analysis.counters import instructions_per_token
from entity_tui.analysis.energy import EndRule, Energy, PowerTrace, integrate, measure
from entity_tui.errors import UsageError
from entity_tui.records.files import read_text
from entity_tui.records.imported import Imported, session_id_of
from entity_tui.records.littletai_arm import BRIDGED_S, Arm, ArmFiles, RunFacts, decimal, key_values, read_arm, whole
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Better, Metric, Role, Row, Usability, metric_row

Translate = Callable[[str], tuple[str, Usability, str]]
"""From their word for how an arm ended to our state, its usability and a flag (empty when there is none)."""

SEED_ENERGY_J = "littletai_energy_j"
SEED_ENERGY_CLOSED_J = "littletai_energy_closed_j"
SEED_ENERGY_BENCH_J = "littletai_energy_bench_only_j"
INSTRUCTIONS_PER_TOKEN = "instructions_per_token"

STOP_STATES = {"battery": "not_run:battery", "storage": "not_run:storage"}


def is_littletai(folder: Path) -> bool:
    """True for a run folder (it has arms and a manifest) or the folder of a single arm."""
    return (folder / "meta.kv").exists() or (folder / "arms").is_dir() or (folder / "runner.stopped").exists()


def read_littletai(folder: Path, translate: Translate) -> Imported:
    """Read a run folder or one arm's folder.

    Every attempt is kept, also one inside the folder of another. Raises UsageError when there is no arm at all and no
    word that the run was stopped, RecordError when a file cannot be read.
    """
    facts = run_facts(folder)
    arms = [read_arm(files, facts) for files in arm_files(folder)]
    stopped = (folder / "runner.stopped").exists() and read_text(folder / "runner.stopped").strip()
    if not arms and not stopped:
        raise UsageError(f"{folder.name} holds no arms", fix="name a run folder, the one that holds arms/")
    info = _info(folder, arms, facts)
    rows = [row for index, arm in enumerate(arms) for row in arm_rows(info, arm, _attempt(arms, index), translate)]
    rows += _not_run(info, facts, arms, str(stopped or ""), translate)
    counted = _counts(arms)
    notes = (", ".join(f"{count} {state}" for state, count in counted.items()),) if counted else ()
    return Imported(replace(info, note="; ".join(notes)), tuple(rows), {}, notes)


def run_facts(folder: Path) -> RunFacts:
    """The run's plan, boot and binary; empty where a file is absent."""
    plan: dict[str, Mapping[str, str]] = {}
    path = folder / "plan.tsv"
    if path.exists():
        lines = read_text(path).splitlines()
        header = lines[0].lstrip("#").split("\t") if lines else []
        for line in lines[1:]:
            row = dict(zip(header, line.split("\t"), strict=False))
            plan[row.get("arm_id", "")] = row
    manifest = key_values(read_text(folder / "manifest.kv")) if (folder / "manifest.kv").exists() else {}
    preflight = key_values(read_text(folder / "preflight.kv")) if (folder / "preflight.kv").exists() else {}
    return RunFacts(plan, preflight.get("boot_id", ""), manifest.get("bench", ""))


def arm_files(folder: Path) -> Iterator[ArmFiles]:
    """The raw texts of every attempt below a folder, in the order of their paths."""
    for meta in sorted(folder.rglob("meta.kv")):
        yield ArmFiles(
            folder=meta.parent.relative_to(folder).as_posix(),
            meta_text=read_text(meta),
            bench_text=_optional(meta.parent / "bench.json"),
            telemetry_text=_optional(meta.parent / "telemetry.csv"),
            perf_text=_optional(meta.parent / "perf.txt"),
        )


def _optional(path: Path) -> str | None:
    return read_text(path) if path.exists() else None


def _attempt(arms: Sequence[Arm], index: int) -> int:
    return 1 + sum(1 for other in arms[:index] if other.arm_id == arms[index].arm_id)


def _counts(arms: Sequence[Arm]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for arm in arms:
        counts[arm.state] = counts.get(arm.state, 0) + 1
    return dict(sorted(counts.items()))


def _info(folder: Path, arms: Sequence[Arm], facts: RunFacts) -> RunInfo:
    preflight = key_values(read_text(folder / "preflight.kv")) if (folder / "preflight.kv").exists() else {}
    identity = "\n".join(f"{arm.folder} {arm.meta.get('attempt_id', '')}" for arm in arms)
    first = next((arm.results[0] for arm in arms if arm.results), None)
    bench = facts.bench or (arms[0].meta.get("bench", "") if arms else "")
    return RunInfo(
        session_id=session_id_of("littletai", f"{folder.name}\n{identity}"),
        started_utc=(first.test_time_utc if first else preflight.get("preflight_utc", "")).replace("Z", "+00:00"),
        kind="bench",
        experiment="+".join(dict.fromkeys(arm.meta.get("pass", "") for arm in arms)),
        state="done",
        device_name=preflight.get("model_name", ""),
        os_build=f"Android {preflight['android']}" if "android" in preflight else "",
        transport="imported",
        model_name=first.model_type if first else "",
        model_quant=(first.model_type.rsplit(" ", 1)[-1] if first else ""),
        engine=bench,
        engine_build=f"b{first.build_number} ({first.build_commit})" if first else "",
        source=f"littletai {folder.name}",
    )


def _base(info: RunInfo, arm: Arm, attempt: int, translate: Translate) -> Row:
    meta = arm.meta
    state, usability, flag = translate(arm.state)
    mask = meta.get("mask", "free")
    variant = meta.get("variant", "-")
    name = meta.get("config", "") if variant in ("-", "") else f"{meta.get('config', '')}.{variant}"
    entry = whole(meta.get("entry_temp_mC"))
    result = arm.results[0] if arm.results else None
    return Row(
        session_id=info.session_id,
        metric=Metric.OUTCOME,
        os_build=info.os_build or None,
        boot_id=meta.get("boot_id"),
        transport="imported",
        experiment=meta.get("pass"),
        instrument="llama-bench",
        block=whole(meta.get("rep_batch")) + 1,
        arm=name,
        role=Role.MEASURE,
        cell_key=arm.arm_id or None,
        attempt=attempt,
        phase="decode" if meta.get("test") == "tg" else "prefill",
        t_start_boot_s=arm.start_s or None,
        t_end_boot_s=arm.end_s or None,
        wall_start_utc=result.test_time_utc if result else None,
        engine=info.engine or None,
        engine_build=info.engine_build or None,
        model_name=info.model_name or None,
        model_quant=info.model_quant or None,
        n_prompt=whole(meta.get("n_prompt")),
        n_gen=whole(meta.get("n_gen")),
        threads_requested=whole(meta.get("threads")),
        mask_requested=None if mask == "free" else mask.removeprefix("0x").lower(),
        gate_state="gate_timeout" if meta.get("cool_timeout") == "1" else "passed",
        gate_wait_s=decimal(meta.get("cool_wait_s")),
        temp_source="thermalservice",
        temp_start_c=entry / 1000.0 if entry > 0 else None,
        charging_state="charging" if arm.charging else "discharging",
        battery_pct=decimal(meta.get("battery_capacity_start")),
        state=state,
        state_detail="; ".join(part for part in (arm.state if arm.state != "valid" else "", flag) if part) or None,
        usability=usability,
        raw_ref=arm.folder,
    )


def arm_rows(info: RunInfo, arm: Arm, attempt: int, translate: Translate) -> list[Row]:
    """The rows of one arm: one per repetition, its energies, its counters; an arm without a number has one row."""
    base = _base(info, arm, attempt, translate)
    rows: list[Row] = []
    if base.usability != Usability.VOID:
        metric = Metric.DECODE_TOK_S if base.phase == "decode" else Metric.PROMPT_TOK_S
        for result in arm.results:
            for number, sample in enumerate(result.samples_ns, start=1):
                repetition = f"{base.raw_ref}#{number}"
                timed = replace(base, raw_ref=repetition, n_tokens=result.tokens, duration_s=sample / 1e9)
                rows.append(metric_row(timed, metric, result.tokens * 1e9 / sample))
            if result.aggregate_only:
                rows.append(metric_row(base, metric, result.rate_tok_s))
        rows += _energy_rows(base, arm) + _counter_rows(base, arm)
    return rows or [metric_row(base, Metric.OUTCOME, None)]


def energies(arm: Arm) -> dict[str, Energy]:
    """The seeds' three energies of an arm by metric: open ends, ends held to the window, the timed part only."""
    inside = _within(arm.power, arm.start_s, arm.end_s)
    gap = BRIDGED_S + 1e-6
    return {
        SEED_ENERGY_J: integrate(inside, arm.start_s, arm.end_s, longest_gap_s=gap, ends=EndRule.OPEN),
        SEED_ENERGY_CLOSED_J: integrate(inside, arm.start_s, arm.end_s, longest_gap_s=gap),
        SEED_ENERGY_BENCH_J: integrate(
            inside, arm.end_s - arm.measured_s, arm.end_s, longest_gap_s=gap, ends=EndRule.OPEN
        ),
    }


def _within(power: PowerTrace, start_s: float, end_s: float) -> PowerTrace:
    inside = (power.t_s >= start_s) & (power.t_s <= end_s)
    return PowerTrace(power.t_s[inside], power.watts[inside], power.discarded)


def _energy_rows(base: Row, arm: Arm) -> list[Row]:
    if arm.meta.get("telemetry") != "1" or arm.power.t_s.size == 0 or arm.state == "energy_unit_unverified":
        return []
    whole_cell = replace(base, n_tokens=arm.tokens_planned, duration_s=arm.end_s - arm.start_s, phase="cell")
    rows = [
        metric_row(whole_cell, name, found.energy_j, unit="J", better=Better.LOWER)
        for name, found in energies(arm).items()
        if found.energy_j is not None and not arm.charging
    ]
    period = float(np.median(np.diff(arm.power.t_s))) if arm.power.t_s.size > 1 else 0.0
    ours = measure(arm.power, arm.start_s, arm.end_s, charging=arm.charging, period_s=period)
    detail = "; ".join(part for part in (base.state_detail, ours.reason) if part) or None
    row = replace(
        whole_cell,
        state_detail=detail,
        power_source="battery",
        energy_j=ours.energy_j,
        power_coverage_pct=100.0 * ours.coverage,
        gauge_flag=ours.flag.value or None,
    )
    return [*rows, metric_row(row, Metric.CELL_ENERGY_J, ours.energy_j)]


def _counter_rows(base: Row, arm: Arm) -> list[Row]:
    if arm.counters is None or not arm.counters.complete or not arm.results:
        return []
    result = arm.results[0]
    tokens = result.tokens * max(1, len(result.samples_ns))
    found = instructions_per_token(arm.counters, tokens)
    if found is None:
        return []
    row = replace(base, n_tokens=tokens, phase="cell")
    return [metric_row(row, INSTRUCTIONS_PER_TOKEN, found, unit="instructions/token", better=Better.LOWER)]


def _not_run(info: RunInfo, facts: RunFacts, arms: Sequence[Arm], stopped: str, translate: Translate) -> list[Row]:
    """A row for every arm that a stopped run never tried; one row for the run where the plan is not there."""
    if stopped not in STOP_STATES:
        return []
    state, usability, flag = translate(STOP_STATES[stopped])
    tried = {arm.arm_id for arm in arms}
    left = [arm_id for arm_id in facts.plan if arm_id not in tried] or [""]
    return [
        Row(
            session_id=info.session_id,
            metric=Metric.OUTCOME,
            transport="imported",
            arm=facts.plan.get(arm_id, {}).get("config"),
            cell_key=arm_id or None,
            attempt=1,
            role=Role.MEASURE,
            state=state,
            usability=usability,
            state_detail="; ".join(part for part in (STOP_STATES[stopped], flag) if part),
        )
        for arm_id in left
    ]
