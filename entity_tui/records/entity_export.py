"""A run of ours, or an imported one, as an ENTITY Bench export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from entity_tui.records.entity_bench import META_FILE, SAMPLES_FILE, write_entity_bench
from entity_tui.records.export import read_csv
from entity_tui.records.run_directory import RunDirectory, RunInfo
from entity_tui.records.schema import Metric, Role, Row

EXTRA_METRICS = (
    ("temp_start_c", "entity_start_temp"),
    ("temp_max_c", "entity_peak_battery_temp"),
    ("thermal_status_max", "entity_peak_thermal_status"),
)
"""Columns of our rows that are metrics of their own in the export."""


def entity_bench_of(run: RunDirectory) -> str:
    """The export of a stored run. An imported one gets back the meta and sample lines that came with it.

    UsageError or RecordError when the run cannot be read.
    """
    rows = run.rows()
    meta, samples = lines_of(run.text(META_FILE)), lines_of(run.text(SAMPLES_FILE))
    if meta or samples:
        return write_entity_bench(rows, meta, samples, compute=False)
    return write_entity_bench(own_passes(rows), own_meta(run.info(), rows))


def lines_of(text: str) -> list[list[str]]:
    """The five cells of each line of a stored meta or sample file."""
    header, lines = read_csv(text) if text else ((), [])
    return [[line.get(name, "") for name in header] for line in lines]


def own_passes(rows: Sequence[Row]) -> list[Row]:
    """Our rows with the metrics the export has beside them; power keeps its own name and is left out.

    ENTITY's watts are whole-pass means; ours are those of the decode window, and the two are never mixed.
    """
    found: list[Row] = []
    for row in rows:
        found.append(row)
        if row.metric == Metric.DECODE_TOK_S and row.value is not None:
            for column, metric in EXTRA_METRICS:
                value = getattr(row, column)
                if value is not None:
                    found.append(replace(row, metric=metric, value=float(value), unit="", better=""))
    return found


def own_meta(info: RunInfo, rows: Sequence[Row]) -> list[list[str]]:
    """The meta lines of a run of ours, in the order of the export."""
    measured = [row for row in rows if row.role != Role.WARMUP and row.arm]
    arms = list(dict.fromkeys(row.arm or "" for row in measured))
    first = measured[0] if measured else None
    epoch_ms = str(int(datetime.fromisoformat(info.started_utc).timestamp() * 1000)) if info.started_utc else ""
    charging = "true" if any((row.charging_state or "").lower() == "charging" for row in measured) else "false"
    values = [
        ("app", "entity-tui", ""),
        ("benchmark_type", info.experiment, ""),
        ("app_version", (first.host_version if first else "") or "", ""),
        ("benchmark_completed_at_epoch_ms", epoch_ms, "ms"),
        ("model", info.model_name, ""),
        ("device", info.device_name, ""),
        ("charging", charging, ""),
        ("pp", str(first.n_prompt or "") if first else "", "tokens"),
        ("tg", str(first.n_gen or "") if first else "", "tokens"),
        ("runs_per_config", str(len({row.block for row in measured})), ""),
        ("configuration_order", "_then_".join(arms), ""),
        *((f"threads_{arm}", _threads(measured, arm), "") for arm in arms),
        *((f"affinity_{arm}", _affinity(measured, arm), "") for arm in arms),
        ("simulated", "true" if info.simulated else "false", ""),
    ]
    return [["meta", "", name, value, unit] for name, value, unit in values if value]


def _threads(rows: Sequence[Row], arm: str) -> str:
    found = {row.threads_requested for row in rows if row.arm == arm and row.metric == Metric.DECODE_TOK_S}
    return str(found.pop()) if len(found) == 1 else ""


def _affinity(rows: Sequence[Row], arm: str) -> str:
    """The label by the mask that was really applied, never by what was asked for."""
    mine = [row for row in rows if row.arm == arm and row.metric == Metric.DECODE_TOK_S and row.mask_applied]
    if not mine:
        return ""
    mask, online = int(mine[0].mask_applied or "0", 16), int(mine[0].online_mask or "0", 16)
    if online and mask & online == online:
        return "mask_all_cores_effectively_unpinned"
    return "pinned_efficiency_cores" if arm == "efficiency" else "pinned_fast_cores"
