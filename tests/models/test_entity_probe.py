"""ENTITY's predictor, named as such, equals its published parity table everywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entity_tui.models.catalog import shipped_catalog
from entity_tui.models.entity_probe import Readings, Subject, assess, pick, ranking, readings_of_chip, verdict
from entity_tui.models.recommend import Workload
from tests.fixtures.tools import need_shared


def parity() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(need_shared("seed_data", "entity", "probe_parity.json").read_text())
    return table


def readings_of(profile: dict[str, Any]) -> Readings:
    flags = profile["flags"]
    return Readings(
        profile["bandwidth_gb_s"],
        profile["compute_score"],
        "dotprod" in flags,
        "i8mm" in flags,
        profile["available_ram_bytes"],
    )


SUBJECTS = [Subject(e.id, e.params_b, e.quant, e.size_bytes) for e in shipped_catalog()]


def test_every_estimate_verdict_and_reason_equals_the_parity_table() -> None:
    compared = 0
    for block in parity()["profiles"]:
        for subject, wanted in zip(SUBJECTS, block["estimates"], strict=True):
            found = assess(subject, readings_of(block["profile"]))
            assert found.subject.id == wanted["model"]
            assert (found.fit, found.reason) == (wanted["fit"], wanted["reason"])
            for name in ("decode_tok_s", "prefill_tok_s", "ttft_s"):
                assert getattr(found, name) == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), wanted
            compared += 1
    assert compared == 6 * 19


def test_every_recommendation_and_ranking_equals_the_parity_table() -> None:
    compared = 0
    for block in parity()["profiles"]:
        assessed = [assess(subject, readings_of(block["profile"])) for subject in SUBJECTS]
        for name, wanted in block["recommend"].items():
            workload = Workload(name)
            assert pick(assessed, workload) == (wanted["pick"], wanted["runner_up"])
            rows = ranking(assessed, workload)
            assert [row.candidate.id for row in rows] == [row[0] for row in wanted["ranking_usable"]]
            assert [row.score for row in rows] == pytest.approx([row[1] for row in wanted["ranking_usable"]], rel=1e-5)
            compared += 1
    assert compared == 18


def test_unknown_memory_is_sized_against_one_and_a_half_gib_and_said_so() -> None:
    unknown = Readings(26.2, 1.0, True, False, 0)
    small, large = Subject("a", 0.5, "Q4_0", 352_972_352), Subject("b", 7.6, "Q4_0", 4_444_121_792)
    assert verdict(small, unknown) == (
        "TIGHT",
        (
            "Q4_0 reaches KleidiAI on this CPU's dotprod kernels · available memory could not be read - "
            "sized against an assumed 1.5 GB free"
        ),
    )
    assert verdict(large, unknown) == (
        "TOO_BIG",
        "available memory could not be read - 4.44 GB is too much to risk on an unknown device",
    )


def test_the_missing_dotprod_penalty_is_not_applied_twice_to_a_measured_chip() -> None:
    _, score = readings_of_chip(6.0064, 14.756, dotprod=False)
    found = assess(Subject("a", 1.24, "Q4_0", 773_025_920), Readings(11.0, score, False, False, 4 << 30))
    assert found.prefill_tok_s == pytest.approx(14.756 / 1.24)
