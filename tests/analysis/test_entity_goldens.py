"""ENTITY's published bench, energy, ablation, predicate and dataset numbers, recomputed from its own files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from entity_tui.analysis.dataset import (
    ContributedRun,
    high_variance,
    isa_tier,
    median_of,
    pin_multiplier,
    soc_code,
    thread_multiplier,
    unique,
)
from entity_tui.analysis.energy import entity_pass_seconds
from entity_tui.analysis.silicon_constants import compute_rate, decode_gbs, held_out
from entity_tui.analysis.summary import median, population_sd, ttft_derived_ms
from entity_tui.records.contributed import read_contributed, read_model_sizes
from entity_tui.records.entity_bench import read_entity_bench, theirs
from entity_tui.records.schema import Role, Row
from tests.fixtures.tools import need_shared

LLAMA, QWEN = "Llama-3.2-1B-Instruct-Q4_0", "Qwen2.5-0.5B-Instruct-Q8_0"
EXPORTS = {
    "cmf": "entity_1b-q4_0_unplugged_5run_cmf_20260718.extract.csv",
    "oppo": "entity_1b-q4_0_unplugged_5run_oppo_20260718.extract.csv",
    "0715b": "entity_1b-q4_0_unplugged_3run_20260715b.extract.csv",
    "charging": "entity_1b-q4_0_charging_3run_20260714.extract.csv",
}


@pytest.fixture(scope="module")
def entity() -> Path:
    return need_shared("seed_data", "entity")


@pytest.fixture(scope="module")
def golden(entity: Path) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in json.loads((entity / "golden.json").read_text())}


@pytest.fixture(scope="module")
def exports(entity: Path) -> dict[str, tuple[Row, ...]]:
    folder = entity / "bench_exports"
    return {name: read_entity_bench((folder / file).read_text()).rows for name, file in EXPORTS.items()}


@pytest.fixture(scope="module")
def contributed(entity: Path) -> tuple[ContributedRun, ...]:
    return read_contributed(entity / "contributed_runs.csv", entity / "contributed_arms.csv")


def agrees(golden: dict[str, dict[str, Any]], name: str, found: float) -> None:
    entry = golden[name]
    assert found == pytest.approx(entry["recomputed"], abs=entry["tolerance"] + 6e-5), name


def table(entity: Path, name: str) -> list[dict[str, str]]:
    lines = (entity / "bench_exports" / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def carried(rows: tuple[Row, ...], arm: str, metric: str, kind: str = "median") -> float:
    """A median or SD that the export printed itself."""
    for row in rows:
        if (row.role, row.arm, row.state_detail) == (Role.AGGREGATE, arm, kind) and theirs(row.metric) == metric:
            assert row.value is not None
            return row.value
    raise AssertionError(f"{arm} has no {kind} of {metric}")


def first_pass(rows: tuple[Row, ...], arm: str) -> dict[str, float]:
    return {theirs(row.metric): row.value or 0.0 for row in rows if row.arm == arm and row.block == 1}


def percent(above: float, below: float) -> float:
    return 100.0 * (above / below - 1.0)


def test_arm_factors_of_the_published_table(golden: dict[str, dict[str, Any]], entity: Path) -> None:
    for device, key in (("cmf_dimensity7300", "cmf"), ("oppo_sm6650", "oppo")):
        rows = {r["arm"]: r for r in table(entity, "arms_20260718_published.csv") if r["device"] == device}
        decode = {arm: float(row["decode_tok_s"]) for arm, row in rows.items()}
        agrees(golden, f"arms.{key}.thread_gain_pct", percent(decode["threads_only"], decode["naive"]))
        agrees(golden, f"arms.{key}.pin_gain_pct", percent(decode["optimized"], decode["threads_only"]))
        for arm, row in rows.items():
            if f"arms.{key}.{arm}.ttft_from_medians" in golden:
                ttft = ttft_derived_ms(float(row["prompt_tok_s"]), float(row["decode_tok_s"]))
                agrees(golden, f"arms.{key}.{arm}.ttft_from_medians", ttft)
            if f"arms.{key}.{arm}.tokw_from_medians" in golden:
                agrees(golden, f"arms.{key}.{arm}.tokw_from_medians", decode[arm] / float(row["power_w"]))
        if key == "oppo":
            tok_per_w = {arm: float(row["tok_per_w"]) for arm, row in rows.items()}
            agrees(golden, "arms.oppo.tokw_gain_pct", percent(tok_per_w["optimized"], tok_per_w["threads_only"]))


def test_the_rounded_factors_multiply_to_the_total(golden: dict[str, dict[str, Any]]) -> None:
    agrees(golden, "arms.cmf.identity", 1.39 * 1.21)


def test_per_run_decode_medians_and_population_sd(golden: dict[str, dict[str, Any]], entity: Path) -> None:
    runs = {
        row["arm"]: [float(row[f"run{number}"]) for number in range(1, 6)]
        for row in table(entity, "per_run_decode_cmf_20260718.csv")
    }
    agrees(golden, "arms.cmf.threads_only.decode_median", median(runs["threads_only"]))
    agrees(golden, "arms.cmf.threads_only.decode_sd", population_sd(runs["threads_only"]))
    agrees(golden, "arms.cmf.optimized.decode_median", median(runs["optimized"]))
    assert (min(runs["optimized"]) > max(runs["threads_only"])) is golden["arms.cmf.non_overlap"]["recomputed"]


@pytest.mark.parametrize("key", ["cmf", "oppo", "0715b"])
def test_a_pass_derives_its_ttft_and_tok_per_watt(
    golden: dict[str, dict[str, Any]], exports: dict[str, tuple[Row, ...]], key: str
) -> None:
    found = first_pass(exports[key], "naive")
    agrees(golden, f"csv.{key}.naive1.ttft", ttft_derived_ms(found["pp"], found["tg"]))
    agrees(golden, f"csv.{key}.naive1.tok_per_w", found["tg"] / found["power"])


def test_carried_aggregates_are_the_files_own(
    golden: dict[str, dict[str, Any]], exports: dict[str, tuple[Row, ...]]
) -> None:
    for name in golden:
        parts = name.split(".")
        if parts[0] == "csv" and parts[2] == "efficiency":
            agrees(golden, name, carried(exports[parts[1]], "efficiency", parts[3]))
    agrees(golden, "charging.invalid_tokw", carried(exports["charging"], "optimized", "tok_per_w"))


def test_a_pass_covers_prefill_and_decode(
    golden: dict[str, dict[str, Any]], exports: dict[str, tuple[Row, ...]]
) -> None:
    found = first_pass(exports["0715b"], "naive")
    seconds = entity_pass_seconds(found["pp"], found["tg"])
    agrees(golden, "energy.naive_seconds", seconds)
    agrees(golden, "energy.naive_j", found["power"] * seconds)


def test_unrounded_aggregates_give_the_same_story(
    golden: dict[str, dict[str, Any]], exports: dict[str, tuple[Row, ...]]
) -> None:
    oppo, july = exports["oppo"], exports["0715b"]
    for metric, name, arms in (
        ("tg", "arms2.oppo.thread_gain_unrounded_pct", ("threads_only", "naive")),
        ("pp", "arms2.oppo.prompt_change_pct", ("threads_only", "naive")),
        ("tok_per_w", "arms2.oppo.tokw_gain_unrounded_pct", ("optimized", "threads_only")),
    ):
        agrees(golden, name, percent(*(carried(oppo, arm, metric) for arm in arms)))
    power = [carried(oppo, arm, "power") for arm in ("efficiency", "optimized")]
    agrees(golden, "arms2.oppo.efficiency_power_over_optimized", round(power[0] / power[1], 3))
    july_decode = {arm: carried(july, arm, "tg") for arm in ("naive", "threads_only", "optimized")}
    agrees(golden, "arms2.july_b.thread_gain_pct", percent(july_decode["threads_only"], july_decode["naive"]))
    agrees(golden, "arms2.july_b.pin_gain_pct", percent(july_decode["optimized"], july_decode["threads_only"]))
    spread = [carried(july, arm, "tg", "stddev") for arm in ("threads_only", "optimized")]
    agrees(golden, "arms2.july_b.threads_sd_over_optimized_sd", round(spread[0] / spread[1], 1))


def test_the_published_table_is_the_exports_rounding(
    golden: dict[str, dict[str, Any]], entity: Path, exports: dict[str, tuple[Row, ...]]
) -> None:
    columns = {
        "decode_tok_s": ("tg", "median"),
        "decode_sd": ("tg", "stddev"),
        "prompt_tok_s": ("pp", "median"),
        "prompt_sd": ("pp", "stddev"),
        "ttft_ms": ("ttft_pp512_derived", "median"),
        "power_w": ("power", "median"),
        "power_sd": ("power", "stddev"),
        "tok_per_w": ("tok_per_w", "median"),
        "tok_per_w_sd": ("tok_per_w", "stddev"),
    }
    gaps = []
    for row in table(entity, "arms_20260718_published.csv"):
        if row["device"] == "cmf_dimensity7300":
            for column, (metric, kind) in columns.items():
                half_digit = 0.5 * 10 ** -len(row[column].partition(".")[2])
                ours = carried(exports["cmf"], row["arm"], metric, kind)
                gaps.append(abs(ours - float(row[column])) / half_digit)
    assert len(gaps) == 36
    agrees(golden, "arms2.cmf.table_vs_export_max_gap", max(gaps))


def test_start_temperatures_show_the_fixed_order(
    golden: dict[str, dict[str, Any]], exports: dict[str, tuple[Row, ...]]
) -> None:
    arms = ("naive", "threads_only", "optimized", "efficiency")
    found = [carried(exports["cmf"], arm, "start_temp") for arm in arms]
    assert found == golden["protocol.cmf_start_temp_by_arm"]["recomputed"]


def test_clocks_show_a_throttle_the_status_hides(golden: dict[str, dict[str, Any]], entity: Path) -> None:
    samples = table(entity, "silent_throttle_0715b_threads_pass3.csv")
    perf = [name for name in samples[0] if name.startswith("cpu") and name.endswith("_mhz")]
    first = next(s for s in samples if max(float(s[name]) for name in perf) < 2500)
    agrees(golden, "throttle.silent_first_elapsed_ms", float(first["elapsed_ms"]))


def test_the_contributed_dataset(golden: dict[str, dict[str, Any]], contributed: tuple[ContributedRun, ...]) -> None:
    agrees(golden, "data.rows_snapshot", len(contributed))
    published = [run for run in contributed if run.run_id <= 28]
    agrees(golden, "data.rows_upto_id28", len(published))
    agrees(golden, "data.socs", len({soc_code(run.soc) for run in published}))
    single = unique(published)
    assert len(single) == 22
    steady = [run for run in single if not high_variance(run)]
    agrees(golden, "data.m_threads_min", min(value for run in steady if (value := thread_multiplier(run))))
    agrees(golden, "data.m_pin_max", max(value for run in steady if (value := pin_multiplier(run))))
    unplugged = median_of([run for run in single if not run.charging], pin_multiplier)
    assert unplugged is not None
    agrees(golden, "data.m_pin_median_26", unplugged)


def test_isa_tiers(golden: dict[str, dict[str, Any]], contributed: tuple[ContributedRun, ...]) -> None:
    runs = [run for run in unique([r for r in contributed if r.run_id <= 28]) if run.model_file == LLAMA]
    for tier in ("no_extensions", "dotprod", "dotprod_i8mm"):
        mine = [run for run in runs if isa_tier(run.cpu_flags) == tier]
        agrees(golden, f"isa_tiers.{tier}.n", len(mine))
        decode = median_of(mine, lambda run: run.decode("optimized"))
        assert decode is not None
        if f"isa_tiers.{tier}.decode" in golden:
            agrees(golden, f"isa_tiers.{tier}.decode", decode)
        if f"isa_tiers.{tier}.prompt" in golden:
            agrees(
                golden,
                f"isa_tiers.{tier}.prompt",
                median([a.prompt_tok_s or 0 for r in mine if (a := r.arm("optimized"))]),
            )
    rates = [rate for run in runs if (rate := run.decode("optimized"))]
    agrees(golden, "isa_tiers.end_to_end_x", max(rates) / min(rates))


def test_a_constant_fitted_on_one_model_predicts_another(
    golden: dict[str, dict[str, Any]], entity: Path, contributed: tuple[ContributedRun, ...]
) -> None:
    sizes = read_model_sizes(entity / "catalog.csv")
    runs = unique([run for run in contributed if run.run_id <= 28])
    found = held_out(runs, sizes, "MT6897", QWEN, LLAMA)
    assert found is not None
    agrees(golden, "cross.MT6897.predicted", found.predicted_tok_s)
    agrees(golden, "cross.MT6897.error_pct", 100 * found.error)
    nearer = held_out(runs, sizes, "MT6878", QWEN, LLAMA)
    back = held_out(runs, sizes, "MT6878", LLAMA, QWEN)
    assert nearer is not None
    assert back is not None
    agrees(golden, "cross.MT6878.measured", nearer.measured_tok_s)
    agrees(golden, "cross.MT6878.reverse_error_pct", 100 * back.error)
    with pytest.raises(ValueError, match="same model"):
        held_out(runs, sizes, "MT6878", LLAMA, LLAMA)
    chip = [run for run in runs if soc_code(run.soc) == "MT6878"]
    bandwidth = median([value for run in chip if (value := decode_gbs(run, sizes[run.model_file]))])
    compute = median([value for run in chip if (value := compute_rate(run, sizes[run.model_file]))])
    agrees(golden, "field.anchor_bandwidth", bandwidth / 14.07 * 26.2)
    agrees(golden, "field.anchor_compute", compute / (128.2 * 1.24))
    chip = [
        value for run in runs if soc_code(run.soc) == "MT6897" and (value := decode_gbs(run, sizes[run.model_file]))
    ]
    agrees(golden, "cross.MT6897.spread_pct", 100 * (max(chip) - min(chip)) / median(chip))


def test_another_app_is_compared_within_its_matched_session_only(
    golden: dict[str, dict[str, Any]], entity: Path
) -> None:
    lines = [line for line in (entity / "competitors_published.csv").read_text().splitlines() if line[:1] != "#"]
    session = {row["app"]: row for row in csv.DictReader(lines) if row["session"] == "2026-07-20"}
    ours, other = (float(session[app]["decode_tok_s"]) for app in ("ENTITY", "Arm AI Chat"))
    agrees(golden, "comp.arm.decode_pct", percent(ours, other))
