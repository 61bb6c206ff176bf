"""Every published LITTLETai number, recomputed from the raw public arms by the importer and the analysis."""

from __future__ import annotations

import math
from typing import Any

import pytest

from entity_tui.analysis.observer import observer_cost
from entity_tui.analysis.summary import median, quantile
from entity_tui.records.littletai import (
    INSTRUCTIONS_PER_TOKEN,
    SEED_ENERGY_BENCH_J,
    SEED_ENERGY_CLOSED_J,
    SEED_ENERGY_J,
)
from entity_tui.records.littletai_arm import decimal
from entity_tui.records.schema import Metric
from tests.records.littletai_data import BINARY, Run, agrees, spread

PRESETS = ("tg_throughput", "tg_balanced", "tg_background")


def rate(run: Run, config: str) -> float:
    return median(run.samples(f"presets.{config}."))


def per_thousand_tokens(run: Run, metric: str, config: str) -> float:
    (row,) = run.metric(metric, f"presets.{config}.")
    assert row.value is not None
    assert row.n_tokens is not None
    return row.value * 1000.0 / row.n_tokens


@pytest.mark.parametrize("build", ["stock", "kai"])
def test_decode_medians_and_speedups_of_the_presets(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str
) -> None:
    run = runs[f"presets_{build}"]
    default, presets = rate(run, "tg_default"), [rate(run, name) for name in PRESETS]
    agrees(golden, f"decode.default.{build}", default)
    agrees(golden, f"decode.presets.{build}", spread(presets))
    agrees(golden, f"decode.speedup.{build}", spread(value / default for value in presets))


def test_the_headline_ratios_span_both_binaries(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    speed: list[float] = []
    energy: list[float] = []
    for build in ("stock", "kai"):
        run = runs[f"presets_{build}"]
        speed += [rate(run, name) / rate(run, "tg_default") for name in PRESETS]
        base = per_thousand_tokens(run, SEED_ENERGY_J, "tg_default")
        energy += [base / per_thousand_tokens(run, SEED_ENERGY_J, name) for name in PRESETS]
    agrees(golden, "headline.decode", spread(speed))
    agrees(golden, "headline.energy", spread(energy))


@pytest.mark.parametrize("build", ["stock", "kai"])
@pytest.mark.parametrize(("metric", "suffix"), [(SEED_ENERGY_J, ""), (SEED_ENERGY_CLOSED_J, ".edges")])
def test_energy_of_the_presets_with_open_and_with_closed_ends(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str, metric: str, suffix: str
) -> None:
    run = runs[f"presets_{build}"]
    default = per_thousand_tokens(run, metric, "tg_default")
    presets = [per_thousand_tokens(run, metric, name) for name in PRESETS]
    if f"energy.default.{build}{suffix}" in golden:
        agrees(golden, f"energy.default.{build}{suffix}", default)
    agrees(golden, f"energy.presets.{build}{suffix}", spread(presets))
    agrees(golden, f"energy.ratio.{build}{suffix}", spread(default / value for value in presets))


@pytest.mark.parametrize("build", ["stock", "kai"])
def test_energy_of_the_timed_part_only(golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str) -> None:
    run = runs[f"presets_{build}"]
    found = {name: per_thousand_tokens(run, SEED_ENERGY_BENCH_J, name) for name in ("tg_default", *PRESETS)}
    for name, value in found.items():
        agrees(golden, f"energy.bench_only.{name}.{build}", value)
    ratios = spread(found["tg_default"] / found[name] for name in PRESETS)
    agrees(golden, f"energy.bench_only.ratio.{build}", ratios)


def test_setup_takes_a_share_of_every_window(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    shares, loads = [], {}
    for name in ("presets_stock", "presets_kai"):
        for arm in runs[name].arms:
            window = arm.end_s - arm.start_s
            shares.append(100.0 * (1.0 - arm.measured_s / window))
            if name == "presets_kai" and arm.meta["test"] == "tg":
                loads[arm.meta["config"]] = window - arm.measured_s
    agrees(golden, "setup_share", spread(shares))
    agrees(golden, "load_anomaly.kai", [loads.pop("tg_default"), *spread(loads.values())])


@pytest.mark.parametrize("build", ["stock", "kai"])
def test_instructions_per_token_grow_with_threads(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str
) -> None:
    run = runs[BINARY[build]]
    for threads in (2, 4, 6, 8):
        rows = run.metric(INSTRUCTIONS_PER_TOKEN, f"counters.tg_t{threads}_")
        agrees(golden, f"instructions_per_token.t{threads}.{build}", spread((row.value or 0) / 1e6 for row in rows))
    if build == "kai":
        most = max(row.value or 0 for row in run.metric(INSTRUCTIONS_PER_TOKEN, "counters.tg_t8_"))
        least = min(row.value or 0 for row in run.metric(INSTRUCTIONS_PER_TOKEN, "counters.tg_t2_"))
        agrees(golden, "instructions_ratio", most / least)


@pytest.mark.parametrize("build", ["stock", "kai"])
def test_the_balanced_prefill_preset_wins(golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str) -> None:
    run = runs[f"presets_{build}"]
    change = 100.0 * (rate(run, "pp_balanced") / rate(run, "pp_throughput") - 1.0)
    agrees(golden, f"prefill_win.{build}", change)


@pytest.mark.parametrize("build", ["stock", "kai"])
@pytest.mark.parametrize("config", ["tg_t6_free", "tg_t2_A75"])
@pytest.mark.parametrize("instrument", ["telemetry", "simpleperf"])
def test_the_instruments_cost(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run], build: str, config: str, instrument: str
) -> None:
    def blocks(variant: str) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for row in runs[BINARY[build]].rows:
            if row.metric == Metric.DECODE_TOK_S and row.arm == f"{config}.{variant}" and row.block is not None:
                found.setdefault(row.block, []).append(row.value or 0.0)
        return found

    cost = observer_cost(blocks("bare"), blocks(instrument))
    assert cost is not None
    agrees(golden, f"overhead.{config}.{instrument}.{build}", cost.block_pct.median)
    if (build, config, instrument) == ("stock", "tg_t6_free", "telemetry"):
        agrees(golden, "overhead.headline", cost.block_pct.median)


def test_counts_and_hours_of_the_arms(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    agrees(golden, "arms.total", len({(run.name, row.cell_key) for run in runs.values() for row in run.rows}))
    agrees(golden, "arms.passes", len({row.experiment for run in runs.values() for row in run.rows}))
    agrees(golden, "arms.matrix", [len(runs[name].arms) for name in ("llama-bench", "llama-bench-kai")])
    span = sum(max(a.end_s for a in run.arms) - min(a.start_s for a in run.arms) for run in runs.values())
    windows = sum(arm.end_s - arm.start_s for run in runs.values() for arm in run.arms)
    waits = sum(decimal(arm.meta["cool_wait_s"]) or 0.0 for run in runs.values() for arm in run.arms)
    agrees(golden, "hours", span / 3600)
    agrees(golden, "hours.parts", [span / 3600, windows / 3600, waits / 3600])
    agrees(golden, "audit.entry_above_gate", _count(runs, "valid_entry_above_gate"))
    agrees(golden, "audit.no_suspend_check", sum(not a.telemetry for run in runs.values() for a in run.arms))
    params = {result.model_n_params for run in runs.values() for arm in run.arms for result in arm.results}
    agrees(golden, "audit.model_params", next(iter(params)) if len(params) == 1 else math.nan)


def _count(runs: dict[str, Run], state: str) -> int:
    return sum(arm.state == state for run in runs.values() for arm in run.arms)


def test_pooled_and_batch_medians_are_told_apart(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    for name in golden:
        family, _, rest = name.partition(".")
        config, _, build = rest.partition(".")
        if family == "prefill_sweep":
            agrees(golden, name, median(runs[f"prefill_{build}"].samples(f"prefill.{config}.")))
        elif family == "clamped":
            agrees(golden, name, median(runs[BINARY[build]].batch_medians(f"sweep.{config}.")))
    pooled = runs["prefill_stock"].samples("prefill.pp_t6_free.")
    agrees(golden, "iqr.max", 100 * (quantile(pooled, 0.75) - quantile(pooled, 0.25)) / median(pooled))


def test_the_clock_regime_moves_results_more_than_any_preset(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run]
) -> None:
    changes = []
    for build in ("stock", "kai"):
        clamped, full = _pooled(runs[BINARY[build]], ("sweep",)), {}
        for name in (f"presets_{build}", f"prefill_{build}"):
            for key, values in _pooled(runs[name], ("presets", "prefill")).items():
                full[(name, *key)] = values
        for (_, *key), values in full.items():
            if tuple(key) in clamped:
                changes.append(100 * (median(values) / median(clamped[tuple(key)]) - 1))
    agrees(golden, "regimes.pairs", len(changes))
    agrees(golden, "regimes", spread(changes))


def _pooled(run: Run, passes: tuple[str, ...]) -> dict[tuple[Any, ...], list[float]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in run.rows:
        if row.metric in (Metric.DECODE_TOK_S, Metric.PROMPT_TOK_S) and row.experiment in passes:
            key = (row.threads_requested, row.mask_requested, row.phase)
            found.setdefault(key, []).append(row.value or 0.0)
    return found


def test_masks_and_widths_explain_the_sweep(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    run = runs["llama-bench"]

    def batch(config: str) -> float:
        return median(run.batch_medians(f"sweep.{config}."))

    agrees(golden, "criterion5.mask", 100 * (batch("tg_t4_mix") / batch("tg_t4_free") - 1))
    agrees(golden, "criterion5.threads", 100 * (batch("tg_t4_free") / batch("tg_t8_free") - 1))
