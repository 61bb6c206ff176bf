"""The same arms measured on a llama-server: real servers here and on a demo phone, and answers that are none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments.ablation import design_preset
from entity_tui.experiments.arm_specs import shipped_arms
from entity_tui.experiments.build import Choices, Design, assemble
from entity_tui.experiments.launches import cell_launches
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.readings import Measure
from entity_tui.experiments.recorded import rows_of_record
from entity_tui.experiments.render import runner_plan
from entity_tui.experiments.server_bench import NOTE, read_answer
from entity_tui.experiments.server_drive import ServerDriver
from entity_tui.experiments.sustained import sustained_plan
from entity_tui.records.schema import Metric, Usability
from entity_tui.transport.adb_server import AdbServer
from tests.experiments.bed import ENGINE, SHORT_ARMS
from tests.experiments.live_bed import Bench, on_phone, on_this_computer
from tests.fixtures.phone import PhoneFactory


@pytest.mark.long
async def test_a_real_server_is_pinned_read_back_asked_and_ended(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        plan = bench.own(SHORT_ARMS, runs=1, server=True)
        result = await bench.run(plan)
        key = tmp_path / "device" / "runs" / result.session_id / "key"
    assert result.outcome == "done"
    assert NOTE in plan.notes
    assert not key.exists(), "the key goes with the last server"
    decode = {row.arm: row for row in result.rows if row.metric == Metric.DECODE_TOK_S and row.role == "measure"}
    assert set(decode) == {"free", "pinned"}
    for row in decode.values():
        assert row.instrument == "server"
        assert (row.n_depth, row.n_tokens) == (32, 16)
        assert row.mask_ok
        assert row.mask_applied == row.mask_requested
        assert row.variant_loaded in bench.ready.engine.variants
        assert row.usability == Usability.TAINTED
    assert decode["pinned"].mask_applied == "2"
    assert {row.metric for row in result.rows} >= {"prompt_tok_s", "decode_tok_s"}
    assert rows_of_record(result.directory) == result.rows, "the answers are part of the record"
    assert bench.views[-1].rates_tok_s, "only a server streams a rate"


@pytest.mark.long
async def test_a_demo_phones_server_is_measured_over_adb_and_leaves_no_key(
    phones: PhoneFactory, adb_server: AdbServer, x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    phone = await phones("cmf-phone-1", speed=1.0, engine=x86_engine)
    async with on_phone(phone, adb_server, tmp_path, model=smollm2) as bench:
        result = await bench.run(bench.runs(1, ["efficiency", "optimized"], server=True))
        left = await bench.transport.run(["find", f"{bench.transport.root}/runs/{result.session_id}", "-name", "key"])
    assert result.outcome == "done"
    masks = {row.arm: row.mask_applied for row in result.rows if row.metric == Metric.DECODE_TOK_S and row.block}
    assert masks == {"efficiency": "f", "optimized": "f0"}
    assert left.text == ""


async def test_a_server_nobody_asks_ends_by_its_wall_limit(
    x86_engine: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServerDriver, "see", lambda self, event: None)
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        limits = {"foreign_cpu_pct": 1e6, "launch_s": 3.0}
        result = await bench.run(bench.own(ONE_ARM, runs=1, server=True, limits=limits))
    assert {row.state for row in result.rows if row.role == "measure"} == {"timeout"}
    assert all(row.value is None for row in result.rows)


ONE_ARM = """
arms:
  one: {threads: 1, placement: all}
gate: {minimum_s: 0, limit_s: 0, sensorless_dwell_s: 0}
prompt: 16
generate: 8
"""


@pytest.fixture
def plan(paper: Bench) -> Plan:
    setting = paper.ready.setting
    setting = replace(setting, engine=replace(setting.engine, server="/e/llama-server"))
    return assemble(naive_only(), setting, Choices(seed=1, n_prompt=32, n_gen=16, server=True))


def naive_only() -> Design:
    return replace(design_preset("quick"), specs=(shipped_arms()["naive"],))


def answer(**timings: Any) -> bytes:
    return json.dumps({"timings": timings}).encode()


async def test_the_rate_is_tokens_over_the_seconds_of_the_phase(plan: Plan) -> None:
    data = answer(prompt_n=32, prompt_ms=500.0, predicted_n=17, predicted_ms=800.0)
    assert read_answer(plan, "decode", "measure", data) == Measure(
        "decode_tok_s", pytest.approx(20.0), "tok/s", "higher", 16, 0.8
    )
    data = answer(prompt_n=32, prompt_ms=500.0, predicted_n=1, predicted_ms=0.001)
    assert read_answer(plan, "prefill", "measure", data) == Measure("prompt_tok_s", 64.0, "tok/s", "higher", 32, 0.5)


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"", "output_malformed"),
        (b"\xff{", "output_malformed"),
        (b"[1]", "output_malformed"),
        (b'{"timings": 3}', "config_mismatch"),
        (answer(prompt_n=31, prompt_ms=500.0, predicted_n=17, predicted_ms=800.0), "config_mismatch"),
        (answer(prompt_n=32, prompt_ms=500.0, predicted_n=9, predicted_ms=800.0), "config_mismatch"),
        (answer(prompt_n=32, prompt_ms=500.0, predicted_n=17, predicted_ms=0), "output_malformed"),
        (answer(prompt_n=32, prompt_ms=500.0, predicted_n=17, predicted_ms="800"), "output_malformed"),
        (b'{"timings": {"prompt_n": 32, "predicted_n": 17, "predicted_ms": Infinity}}', "output_malformed"),
        (b'{"error": "the request exceeds the context"}', "workload_error"),
    ],
)
async def test_an_answer_that_is_none_gives_a_state_and_no_number(plan: Plan, data: bytes, state: str) -> None:
    found = read_answer(plan, "decode", "measure", data)
    assert isinstance(found, tuple)
    assert found[0] == state


async def test_the_command_line_holds_no_key_and_only_loopback(plan: Plan, paper: Bench) -> None:
    for launch in cell_launches(plan, plan.arms[0], "measure"):
        words = launch.argv
        assert words[0].endswith("/llama-server")
        assert words[words.index("--host") + 1] == "127.0.0.1"
        assert words[words.index("--api-key-file") + 1] == "{run}/key"
        assert "taskset" not in words
    flat = runner_plan(plan, paper.ready.snapshot, paper.ready.facts, session_id="s", folder="/d/runs/s")
    for cell in flat.cells:
        for launch in cell.launches:
            assert "/d/runs/s/key" in launch.argv
            assert not any("{run}" in word for word in launch.argv)


async def test_a_plan_that_no_server_can_measure_is_refused(paper: Bench) -> None:
    with pytest.raises(UsageError, match="no llama-server"):
        paper.runs(1, server=True)
    setting = replace(paper.ready.setting, engine=replace(ENGINE, server="/e/llama-server"))
    with pytest.raises(UsageError, match="cannot be measured on a server"):
        sustained_plan(setting, Choices(server=True), minutes=2, decode_tok_s=20)
    with pytest.raises(UsageError, match="--counters"):
        assemble(naive_only(), setting, Choices(server=True, options={"counters": "instructions:u"}))
    with pytest.raises(UsageError, match="no energy"):
        assemble(naive_only(), setting, Choices(server=True, energy=True))
