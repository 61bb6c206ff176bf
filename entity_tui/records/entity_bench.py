"""The CSV of ENTITY Bench, read into our rows and written from them: `config,run_index,metric,value,unit`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from entity_tui.analysis.summary import seed_summary
from entity_tui.analysis.usable import contributes
from entity_tui.device.cpu_lists import format_mask
from entity_tui.errors import UsageError
from entity_tui.records.export import read_csv, write_csv
from entity_tui.records.imported import CARRIED, Imported, session_id_of
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row, metric_row

HEADER = ("config", "run_index", "metric", "value", "unit")
META_FILE = "entity_meta.csv"
SAMPLES_FILE = "entity_samples.csv"

OURS = {
    "pp": Metric.PROMPT_TOK_S,
    "tg": Metric.DECODE_TOK_S,
    "power": Metric.PASS_POWER_W,
    "tok_per_w": Metric.PASS_TOK_PER_W,
    "ttft_pp512_derived": Metric.TTFT_DERIVED_MS,
}
"""Their metric names in our words; the others keep their name behind `entity_`."""

UNITS_OF_THEIRS = {
    "pp": "tok/s",
    "tg": "tok/s",
    "power": "W",
    "tok_per_w": "tok/W",
    "ttft_pp512_derived": "ms",
    "start_temp": "C",
    "average_process_cpu": "% one core",
    "minimum_free_ram": "GiB",
    "peak_battery_temp": "C",
    "peak_thermal_status": "Android PowerManager status",
    "mean_perf_core_clock": "MHz",
    "mean_little_core_clock": "MHz",
}
"""Every pass metric with its unit, in the order of the export."""

ORDER_OF_THEIRS = {name: place for place, name in enumerate(UNITS_OF_THEIRS)}

WHOLE_NUMBERS = frozenset({"peak_thermal_status", "sample_elapsed", "sample_thermal_status"})
AGGREGATES = ("median", "stddev")

QUANT = re.compile(
    r"(?<![A-Za-z0-9])(I?Q\d+_[0-9KMSL](?:_[A-Z]+)?|BF16|F16|F32)(?![A-Za-z0-9])",
    re.IGNORECASE,
)

AFFINITY_CORES = {
    "pinned_fast_cores": ("perf_cores",),
    "pinned_efficiency_cores": ("little_cores",),
    "mask_all_cores_effectively_unpinned": ("perf_cores", "little_cores"),
}
"""Which of the meta lines name the CPUs of an affinity label; `none_scheduler_placed` has none."""


def _whole(metric: str) -> bool:
    return metric in WHOLE_NUMBERS or metric.endswith("_freq")


def number_text(metric: str, value: float) -> str:
    """A value as ENTITY prints it: three decimals, or whole where the metric is a count, a clock or a status."""
    return f"{value:.0f}" if _whole(metric) else f"{value:.3f}"


def is_entity_bench(text: str) -> bool:
    """True when the text begins with the export's header."""
    return text.removeprefix("\ufeff").lstrip().startswith(",".join(HEADER))


def read_entity_bench(text: str, origin: str = "") -> Imported:
    """Read an export. Passes become rows, aggregates rows that are carried and marked, samples a file of their own.

    Older exports lack some meta rows; none is required. Raises UsageError for another header or a value that is no
    number.
    """
    header, lines = read_csv(text)
    if header[: len(HEADER)] != HEADER:
        raise UsageError("this is not an ENTITY Bench export", detail=",".join(header[:6]))
    meta = [line for line in lines if line["config"] == "meta" and len(line) >= len(HEADER) - 1]
    known = {line["metric"]: line["value"] for line in meta}
    info = _info(known, session_id_of("entity", text), origin)
    base = _base(known, info)
    rows: list[Row] = []
    samples: list[list[str]] = []
    for line in lines:
        if line["config"] == "meta" or len(line) < len(HEADER) - 1:
            continue  # a cut last line holds no value
        if ":" in line["run_index"]:
            samples.append([line.get(name, "") for name in HEADER])
        else:
            rows.append(_row(base, line, known))
    files = {META_FILE: write_csv(HEADER, ([line.get(name, "") for name in HEADER] for line in meta))}
    if samples:
        files[SAMPLES_FILE] = write_csv(HEADER, samples)
    notes = _notes(rows, known)
    return Imported(replace(info, note=" ".join(notes)), tuple(rows), files, notes)


def _info(known: dict[str, str], session_id: str, origin: str) -> RunInfo:
    started = _utc(known.get("benchmark_completed_at_epoch_ms") or known.get("exported_at_epoch_ms") or "")
    model = known.get("model", "")
    return RunInfo(
        session_id=session_id,
        started_utc=started,
        kind="bench",
        experiment=known.get("benchmark_type", known.get("test", "ablation")),
        state="done",
        device_name=known.get("device", ""),
        os_build=f"Android {known['android']}" if known.get("android") else "",
        transport="imported",
        model_name=model,
        model_quant=quant_of(model),
        engine=known.get("app", "ENTITY"),
        engine_build=known.get("app_version", ""),
        source=f"entity-bench {origin}".strip(),
    )


def _utc(epoch_ms: str) -> str:
    """A time stamp as ISO 8601 in UTC; empty for one that is none."""
    try:
        return datetime.fromtimestamp(int(epoch_ms) / 1000.0, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def quant_of(name: str) -> str:
    """The quantisation in a model's file name, by ENTITY's rule; empty when there is none."""
    found = QUANT.search(name)
    return found[1].upper() if found else ""


def _base(known: dict[str, str], info: RunInfo) -> Row:
    charging = known.get("charging", "")
    return Row(
        session_id=info.session_id,
        metric=Metric.OUTCOME,
        os_build=info.os_build or None,
        transport="imported",
        experiment=info.experiment,
        instrument="entity-bench",
        role=Role.MEASURE,
        phase="cell",
        engine=info.engine,
        engine_build=info.engine_build or None,
        model_name=info.model_name or None,
        model_quant=info.model_quant or None,
        n_prompt=_int(known.get("pp")),
        n_gen=_int(known.get("tg")),
        charging_state={"true": "charging", "false": "discharging"}.get(charging),
        launch_context="app",
    )


def _int(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text.strip()) else None


def mask_of(affinity: str, known: Mapping[str, str]) -> str | None:
    """The hex mask of an affinity label, from the cores that the file lists; None for a label without cores."""
    listed = [cpu for name in AFFINITY_CORES.get(affinity, ()) for cpu in known.get(name, "").split()]
    cpus = {int(cpu) for cpu in listed if re.fullmatch(r"[0-9]{1,3}", cpu)}
    return format_mask(cpus) if cpus else None


def _row(base: Row, line: dict[str, str], known: dict[str, str]) -> Row:
    arm, index, metric = line["config"], line["run_index"], line["metric"]
    try:
        value = float(line["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{metric} of {arm} is not a number", detail=line["value"])
    of_arm = replace(
        base,
        arm=arm,
        threads_requested=_int(known.get(f"threads_{arm}")),
        mask_requested=mask_of(known.get(f"affinity_{arm}", ""), known),
        phase={"pp": "prefill", "tg": "decode"}.get(metric, "cell"),
        n_tokens={"pp": base.n_prompt, "tg": base.n_gen}.get(metric),
    )
    ours = OURS.get(metric)
    if index in AGGREGATES:
        of_arm = replace(of_arm, role=Role.AGGREGATE, excluded_by=CARRIED, state_detail=index)
    else:
        of_arm = replace(of_arm, block=_int(index), attempt=1)
    if ours is not None:
        return metric_row(of_arm, ours, value)
    return replace(of_arm, metric=f"entity_{metric}", value=value, unit=line.get("unit", ""), better="")


def _notes(rows: Sequence[Row], known: dict[str, str]) -> tuple[str, ...]:
    notes = []
    passes = {(row.arm, row.block) for row in rows if row.role != Role.AGGREGATE}
    planned = _int(known.get("runs_per_config"))
    arms = (
        known.get("configuration_order", "").split("_then_")
        if known.get("configuration_order")
        else {row.arm for row in rows}
    )
    if planned and len(passes) < planned * len(arms):
        notes.append(f"{len(passes)} of {planned * len(arms)} passes are in the file; its own aggregates are carried.")
    if known.get("charging") == "true":
        notes.append("The phone was charging: its power and tok/W are never used.")
    return tuple(notes)


def write_entity_bench(
    rows: Sequence[Row],
    meta: Sequence[Sequence[str]],
    samples: Sequence[Sequence[str]] = (),
    *,
    compute: bool = True,
) -> str:
    """An export from rows, meta lines and sample lines (each config, run_index, metric, value, unit).

    Per arm: the metrics of each pass and that pass's samples, then the aggregates. Aggregates that were imported are
    printed as they came; `compute` makes those of a run of ours by the seeds' rule, which a cut file cannot have.
    """
    lines: list[Sequence[str]] = [list(line) for line in meta]
    measured = [row for row in rows if row.role != Role.WARMUP]
    arms = dict.fromkeys([*(row.arm or "" for row in measured), *(line[0] for line in samples)])
    for arm in arms:
        mine = [row for row in measured if row.arm == arm]
        passes = [row for row in mine if row.role != Role.AGGREGATE and row.value is not None and theirs(row.metric)]
        if compute:
            passes.sort(key=lambda row: ORDER_OF_THEIRS.get(theirs(row.metric), len(ORDER_OF_THEIRS)))
        taken = [line for line in samples if line[0] == arm]
        numbers = {str(row.block) for row in passes if row.block is not None}
        numbers |= {line[1].partition(":")[0] for line in taken}
        for number in sorted(numbers, key=int):
            lines += [_line(arm, number, row) for row in passes if str(row.block) == number]
            lines += [line for line in taken if line[1].partition(":")[0] == number]
        carried = [row for row in mine if row.role == Role.AGGREGATE]
        lines += [_line(arm, row.state_detail or "", row) for row in carried]
        if compute and not carried:
            lines += computed(arm, mine)
    return write_csv(HEADER, lines)


def theirs(metric: str) -> str:
    """Our metric in their words; empty for one their export does not have."""
    for name, ours in OURS.items():
        if metric == ours:
            return name
    return metric.removeprefix("entity_") if metric.startswith("entity_") else ""


def _line(arm: str, index: str, row: Row) -> list[str]:
    name = theirs(row.metric)
    text = f"{row.value:.3f}" if index in AGGREGATES else number_text(name, row.value or 0.0)
    return [arm, index, name, text, UNITS_OF_THEIRS.get(name, row.unit or "")]


def computed(arm: str, rows: Sequence[Row]) -> list[list[str]]:
    """Median and population SD rows of an arm's passes, values ≤ 0 dropped first."""
    lines = []
    for name, unit in UNITS_OF_THEIRS.items():
        mine = [row.value for row in rows if theirs(row.metric) == name and contributes(row) and row.value is not None]
        summary = seed_summary(mine)
        if summary is not None and name != "peak_thermal_status":
            lines.append([arm, "median", name, f"{summary.median:.3f}", unit])
            lines.append([arm, "stddev", name, f"{summary.sd or 0.0:.3f}", unit])
    return lines
