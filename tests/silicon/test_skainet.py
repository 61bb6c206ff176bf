"""SKaiNET's gate, load cascade, smoke outcome and per-format kernels, as recorded."""

from __future__ import annotations

import json
from typing import Any

from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.isa import IsaFeatures, from_cpuinfo
from entity_tui.profiles.library import shipped
from entity_tui.silicon.skainet import (
    BASELINE,
    V82,
    formats_of,
    judge_features,
    judge_skainet,
    loaded_tier,
    published_gate,
    safe_gate,
    smoke_passes,
)
from tests.fixtures.tools import need_shared


def recorded() -> dict[str, Any]:
    """The recorded cases."""
    found: dict[str, Any] = json.loads(
        need_shared("seed_data", "skainet", "tier_gate.json").read_text(encoding="utf-8")
    )
    return found


def test_all_gate_cases_as_published_and_as_recommended() -> None:
    cases = recorded()["gate_cases"]
    assert len(cases) == 15
    for case in cases:
        assert published_gate(case["cpuinfo"]) is case["gate_v82"], case["id"]
        assert safe_gate(case["cpuinfo"]) is case["recommended_gate"], case["id"]


def test_a_mixed_listing_takes_the_baseline_and_says_the_published_gate_is_unsafe() -> None:
    mixed = next(case for case in recorded()["gate_cases"] if case["id"] == "first_core_only_yes")
    verdict = judge_skainet(mixed["cpuinfo"])
    assert verdict.tier == BASELINE
    assert verdict.unsafe


def test_features_that_were_read_already_give_the_same_tier() -> None:
    for case in recorded()["gate_cases"]:
        if not case["cpuinfo"]:
            continue
        isa = from_cpuinfo(parse_cpuinfo(case["cpuinfo"]))
        verdict = judge_features(isa)
        assert verdict.gate_published is case["gate_v82"], case["id"]
        assert verdict.gate_safe is case["recommended_gate"], case["id"]
    assert judge_features(IsaFeatures(dotprod=True, fp16=True)).tier == V82
    assert judge_features(IsaFeatures()).tier == BASELINE


def test_all_load_cases() -> None:
    for case in recorded()["load_cases"]:
        tier = loaded_tier(case["gate"], v82_loads=case["v82_loads"], baseline_loads=case["baseline_loads"])
        assert tier == case["variant"], case


def test_all_smoke_cases() -> None:
    for case in recorded()["smoke_cases"]:
        output = None if case["smoke_output"] == "throws" else case["smoke_output"]
        assert smoke_passes(case["variant"], output) is case["available"], case


def test_per_format_kernels_in_both_tiers() -> None:
    data = recorded()["formats"]
    for tier, key in ((BASELINE, "baseline"), (V82, "v82")):
        rows = {row.name: row for row in formats_of(tier)}
        assert set(rows) == set(data)
        for name, entry in data.items():
            row = rows[name]
            assert entry["android_provider"].startswith(row.provider), name
            body = entry[key].split(" (")[0]
            assert row.body.startswith(body), (tier, name)
            if entry["block"] is not None:
                assert [row.block_elements, row.block_bytes] == entry["block"], name


def test_providers_and_priorities() -> None:
    ours = {row["name"]: row["priority"] for row in shipped("runtimes.yaml")["skainet"]["providers"]}
    for row in recorded()["providers"]:
        if row.get("on_android", True):
            assert ours[row["name"]] == row["priority"]
        else:
            assert row["name"] not in ours
