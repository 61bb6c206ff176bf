"""One LITTLETai arm as its phone delivered it: read, and judged by a ladder in which the first match wins."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from entity_tui.analysis.counters import CounterReport, parse_counters
from entity_tui.analysis.energy import PowerTrace, trace
from entity_tui.engine.bench_output import BenchResult, result_of

SUSPEND_S = 60.0
"""A hole in the samples strictly longer than this is a suspend."""

BRIDGED_S = 30.0
"""Their trapezoid bridges a gap of up to this, 30 s included."""

GATE_MILLI_C = 42_000
UNPLUGGED_WORD = "discharging"
PLAUSIBLE_MEAN_W = 25.0


@dataclass(frozen=True, slots=True)
class ArmFiles:
    """The raw texts of one arm; None where the file is absent. `folder` is the arm's path below the run."""

    folder: str
    meta_text: str
    bench_text: str | None = None
    telemetry_text: str | None = None
    perf_text: str | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the run says its arms must be: its plan's rows by arm id, its boot and its binary. Empty means unknown."""

    plan: Mapping[str, Mapping[str, str]]
    boot_id: str = ""
    bench: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm, read. `state` is LITTLETai's word (or the one recommended for a case it had none for)."""

    arm_id: str
    folder: str
    meta: Mapping[str, str]
    state: str
    results: tuple[BenchResult, ...]
    power: PowerTrace
    start_s: float
    end_s: float
    counters: CounterReport | None
    telemetry: tuple[Mapping[str, str], ...]

    @property
    def tokens_planned(self) -> int:
        """Tokens by the plan's repetitions, as LITTLETai divides energy by."""
        return whole(self.meta.get("reps")) * (128 if self.meta.get("test") == "tg" else 512)

    @property
    def measured_s(self) -> float:
        """Seconds inside the timed repetitions."""
        return sum(result.seconds or 0.0 for result in self.results)

    @property
    def charging(self) -> bool:
        """True unless the battery said it was discharging at both ends: full and idle chargers are chargers."""
        ends = (self.meta.get("battery_status_start", ""), self.meta.get("battery_status_end", ""))
        return any(word.strip().lower() != UNPLUGGED_WORD for word in ends if word.strip())


def key_values(text: str) -> dict[str, str]:
    """`key=value` lines; comments and lines without `=` are left out."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def whole(text: str | None) -> int:
    """The whole number in a text, 0 where there is none."""
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text.strip()) else 0


def decimal(text: str | None) -> float | None:
    """The number in a text, None where there is none: an unreadable value is never 0."""
    try:
        found = float(text) if text else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def telemetry_rows(text: str | None) -> tuple[Mapping[str, str], ...]:
    """The sampler's rows by column; a short last row keeps the cells it has."""
    rows: list[Mapping[str, str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(csv.DictReader((text or "").splitlines(), restval=""))
    return tuple(rows)


def power_trace(rows: tuple[Mapping[str, str], ...]) -> PowerTrace:
    """|current| × voltage over the rows, W, with the fixed scale of that phone: milliamps and millivolts."""
    times = [decimal(row.get("boottime_s")) for row in rows]
    watts = []
    for row in rows:
        current, voltage = decimal(row.get("current_now")), decimal(row.get("voltage_now"))
        watts.append(None if current is None or voltage is None else abs(current) * voltage * 1e-6)
    return trace(times, watts)


def bench_rows(text: str | None) -> tuple[str, list[Mapping[str, Any]]]:
    """(`ok`, `missing`, `invalid`) and the objects of a bench.json; a log line around the array is tolerated."""
    if text is None or not text.strip():
        return "missing", []
    for candidate in (text, text[text.find("[") : text.rfind("]") + 1]):
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(found, list):
            return "ok", [item for item in found if isinstance(item, dict)]
    return "invalid", []


def read_arm(files: ArmFiles, run: RunFacts) -> Arm:
    """Read and judge one arm. Never raises for what a file holds."""
    meta = key_values(files.meta_text)
    rows = telemetry_rows(files.telemetry_text)
    power = power_trace(rows)
    status, items = bench_rows(files.bench_text)
    usable = [item for item in items if item.get("samples_ts") or item.get("avg_ts") is not None]
    results = tuple(result for item in usable if (result := result_of(item)) is not None)
    events = [name for name in meta.get("events", "-").split(",") if name not in ("", "-")]
    counters = parse_counters(files.perf_text or "", events) if events else None
    arm = Arm(
        arm_id=meta.get("arm_id", ""),
        folder=files.folder,
        meta=meta,
        state="valid",
        results=results,
        power=power,
        start_s=decimal(meta.get("t_start_boottime")) or 0.0,
        end_s=decimal(meta.get("t_end_boottime")) or 0.0,
        counters=counters,
        telemetry=rows,
    )
    state = _identity(arm, run) or _workload(arm, status) or _clock(arm) or _counters(arm, files) or _energy(arm)
    return Arm(**{**{name: getattr(arm, name) for name in Arm.__slots__}, "state": state or "valid"})


def _identity(arm: Arm, run: RunFacts) -> str:
    if not arm.arm_id:
        return "rejected_no_identity"
    own = run.boot_id == arm.meta.get("boot_id") and run.bench == arm.meta.get("bench")
    planned_passes = {row.get("pass") for row in run.plan.values()}
    if run.plan and arm.arm_id not in run.plan and (arm.meta.get("pass") in planned_passes or not own):
        # A resumed run's plan holds only its last session: an arm of another pass is its own if boot and binary are.
        return "rejected_foreign_arm"
    if run.bench and arm.meta.get("bench", run.bench) != run.bench:
        return "rejected_foreign_arm"
    if run.boot_id and arm.meta.get("boot_id") != run.boot_id:
        repetitions = sum(max(1, len(result.samples_ns)) for result in arm.results)
        return "boot_mismatch" if repetitions == whole(arm.meta.get("reps")) else "rejected_foreign_arm"
    return ""


def _workload(arm: Arm, bench_status: str) -> str:
    meta = arm.meta
    if meta.get("cool_timeout") == "1":
        return "thermal_gate_timeout"
    if meta.get("timed_out") == "1":
        return "benchmark_timeout"
    if meta.get("rc") != "0":
        return "benchmark_failed"
    if bench_status != "ok":
        return f"bench_json_{bench_status}"
    if not arm.results:
        return "bench_no_samples"
    if len(arm.results) > 1:
        return "bench_shape_mismatch"
    result = arm.results[0]
    wanted = (whole(meta.get("threads")), whole(meta.get("n_prompt")), whole(meta.get("n_gen")))
    if (result.n_threads, result.n_prompt, result.n_gen) != wanted:
        return "config_mismatch"
    return ""


def _clock(arm: Arm) -> str:
    stamps = [t for row in arm.telemetry if (t := decimal(row.get("boottime_s"))) is not None]
    inside = sorted(t for t in stamps if arm.start_s <= t <= arm.end_s)
    if not inside:
        return ""
    marks = [arm.start_s, *inside, arm.end_s]
    longest = max(later - earlier for earlier, later in pairwise(marks))
    return "suspend_during_measurement" if longest > SUSPEND_S + 1e-6 else ""


def _counters(arm: Arm, files: ArmFiles) -> str:
    if arm.counters is None:
        return ""
    if not (files.perf_text or "").strip():
        return "counter_report_missing"
    if not arm.counters.complete:
        return "counter_report_truncated"
    if arm.counters.missing:
        return "counter_missing"
    return "valid_counts_scaled" if arm.counters.scaled else ""


def _energy(arm: Arm) -> str:
    entry = whole(arm.meta.get("entry_temp_mC"))
    if entry <= 0:
        return "thermal_unreadable"
    if entry > GATE_MILLI_C:
        return "valid_entry_above_gate"
    if arm.results[0].aggregate_only:
        return "valid_aggregate_only"
    if arm.meta.get("telemetry") != "1":
        return ""
    if arm.charging:
        return "valid_energy_invalid"
    inside = (arm.power.t_s >= arm.start_s) & (arm.power.t_s <= arm.end_s)
    times, watts = arm.power.t_s[inside], arm.power.watts[inside]
    if times.size < 2:
        return "valid_energy_missing"
    if float(watts.mean()) > PLAUSIBLE_MEAN_W:
        return "energy_unit_unverified"
    longest = float((times[1:] - times[:-1]).max())
    return "valid_energy_degraded" if longest > BRIDGED_S + 1e-6 else ""
