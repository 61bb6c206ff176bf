"""What an audit of the raw LITTLETai arms shows beside the published numbers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from entity_tui.analysis.counters import parse_counters
from entity_tui.analysis.summary import median, quantile
from entity_tui.records.littletai_arm import Arm, decimal, key_values, whole
from tests.records.littletai_data import RUNS, Run, agrees, spread
from tests.records.littletai_derived import derived


def _frequencies(run: Run) -> Iterator[float]:
    for arm in run.arms:
        if arm.meta["pass"] == "sweep":
            for row in arm.telemetry:
                yield from (float(row[name]) for name in ("policy0_khz", "policy6_khz") if row.get(name))


def test_what_the_sampler_really_recorded(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    agrees(golden, "clamp.khz", [max(_frequencies(runs[name])) for name in ("llama-bench", "llama-bench-kai")])
    header = runs["presets_stock"].arm("presets.tg_default.b0").telemetry[0]
    zones = [name for name in header if name.endswith("_mC")]
    agrees(golden, "zones.count", len(zones))
    readable = sum(
        any(row.get(zone) for zone in zones) for run in runs.values() for arm in run.arms for row in arm.telemetry
    )
    agrees(golden, "zones.readable_rows", readable)
    gaps, worst, coverage = [], 0.0, []
    for run in runs.values():
        for arm in run.arms:
            stamps = [t for row in arm.telemetry if (t := decimal(row.get("boottime_s"))) is not None]
            inside = np.array([t for t in stamps if arm.start_s <= t <= arm.end_s])
            if inside.size > 1:
                gaps.append(float(np.median(np.diff(inside))))
                worst = max(worst, float(np.diff(inside).max()))
                coverage.append(float(inside[-1] - inside[0]) / (arm.end_s - arm.start_s))
    agrees(golden, "cadence", spread(gaps))
    agrees(golden, "cadence.worst", worst)
    agrees(golden, "coverage.min", min(coverage))


def test_the_pinning_probes_show_who_honours_a_mask(golden: dict[str, dict[str, Any]], littletai_folder: Path) -> None:
    def big_share(little: int, big: int) -> float:
        return 100.0 * big / (little + big)

    evidence = json.loads((littletai_folder / "evidence" / "pinning_from_historical_passB.json").read_text())
    cycles = evidence["per_config"]["tg_t2_A55"]
    agrees(golden, "mask_flag_ignored.history", big_share(cycles["a55_cycles"], cycles["a75_cycles"]))
    failed = key_values((littletai_folder / "evidence" / "preflight_failed_pinning.kv").read_text())
    agrees(
        golden,
        "mask_flag_ignored.preflight",
        big_share(whole(failed["pin_little_cycles"]), whole(failed["pin_big_cycles"])),
    )
    probes = [key_values((littletai_folder / "runs" / name / "preflight.kv").read_text()) for name in RUNS]
    shares = [big_share(whole(item["pin_little_cycles"]), whole(item["pin_big_cycles"])) for item in probes]
    agrees(golden, "taskset_honoured", max(shares))


def test_power_floor_and_background_prefill(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    lowest, mean = [], {}
    for arm in runs["llama-bench"].arms:
        inside = (arm.power.t_s >= arm.start_s) & (arm.power.t_s <= arm.end_s)
        if inside.any():
            lowest.append(float(arm.power.watts[inside].min()))
            mean[arm.arm_id] = float(arm.power.watts[inside].mean())
    agrees(golden, "platform_floor", quantile(lowest, 0.10))

    def power(config: str) -> float:
        return median([watts for arm_id, watts in mean.items() if arm_id.startswith(f"sweep.{config}.")])

    run = runs["llama-bench"]
    rates = [median(run.batch_medians(f"sweep.{config}.")) for config in ("pp_t6_A55", "pp_t8_free")]
    shares = [100 * rates[0] / rates[1], 100 * power("pp_t6_A55") / power("pp_t8_free")]
    agrees(golden, "criterion4.background_prefill", shares)


def test_the_upstream_throttle_rule_flags_the_wrong_arms(
    golden: dict[str, dict[str, Any]], runs: dict[str, Run]
) -> None:
    flagged: list[Arm] = []
    held: list[str] = []
    for name in ("prefill_kai", "prefill_stock", "presets_kai", "presets_stock"):
        for arm in sorted(runs[name].arms, key=lambda arm: arm.arm_id):
            clocks = {policy: _clocks(arm, policy) for policy in ("policy0_khz", "policy6_khz")}
            if any(sum(f < 0.9 * max(seen) for f in seen) > 0.15 * len(seen) for seen in clocks.values() if seen):
                flagged.append(arm)
            if name.startswith("prefill") and clocks["policy0_khz"] and median(clocks["policy0_khz"]) < 1.2e6:
                held.append(f"{name}/{arm.arm_id}")
    agrees(golden, "audit.throttle_flags", [len(flagged), sum(arm.meta["mask"] == "0x3F" for arm in flagged)])
    assert held == golden["audit.little_cluster_held_down"]["recomputed_public_arms_only"]


def _clocks(arm: Arm, policy: str) -> list[float]:
    rows = (row for row in arm.telemetry if arm.start_s <= (decimal(row.get("boottime_s")) or 0.0) <= arm.end_s)
    return [float(row[policy]) for row in rows if row.get(policy)]


def test_derived_counters_equal_the_published_table(golden: dict[str, dict[str, Any]], runs: dict[str, Run]) -> None:
    differing = rows = 0
    for name in ("llama-bench", "llama-bench-kai"):
        run = runs[name]
        published = list(csv.DictReader((run.folder / "derived.csv").read_text().splitlines()))
        ours = {(line["config"], line["mode"]): line for line in map(derived, run.arms) if line}
        for line in published:
            mine = ours[(line["config"], line["mode"])]
            rows += 1
            differing += sum(mine.get(column, "") != value for column, value in line.items())
    assert rows > 0
    agrees(golden, "derived_csv", differing)


def test_a_32_bit_shell_wraps_the_sum_that_python_keeps(golden: dict[str, dict[str, Any]]) -> None:
    total = 949_244_217 + 6_491_805_586
    agrees(golden, "wrap32", (total + 2**31) % 2**32 - 2**31)
    text = "949,244,217  cpu-cycles:u  #\n6,491,805,586  cpu-cycles:u  #\n"
    assert parse_counters(text).total("cpu-cycles") == total


def test_the_cost_of_a_terminal_apps_cgroup_is_relative_to_the_slower_value(golden: dict[str, dict[str, Any]]) -> None:
    agrees(golden, "termux_penalty", 100 * (13.96 / 11.58 - 1))
