"""Public reports about engines, recreated: what dies, what is cut, what is another file, what is another metric."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.engine.bench_output import OK, TRUNCATED, parse_bench
from entity_tui.experiments import follow as loop
from entity_tui.experiments.plan import ModelRef
from entity_tui.experiments.run import resume
from entity_tui.experiments.states import state
from entity_tui.records.schema import UNITS, Metric, Row
from tests.experiments.live_bed import Bench
from tests.experiments.paper_engine import arms, make_model
from tests.fixtures.tools import need_shared, until

RAN = {"ok", "foreign_load"}
"""How a healthy cell ends here; another engine of the test machine may run beside it."""


def in_a_measured_launch(bench: Bench) -> bool:
    """True once the newest view is inside a launch that counts."""
    current = bench.views[-1].current if bench.views else None
    return current is not None and current.role == "measure" and current.phase.value in ("prefill", "decode")


def measured(rows: tuple[Row, ...]) -> list[Row]:
    return [row for row in rows if row.role == "measure"]


async def test_devlib_86_deaths_have_four_names_and_partial_tokens_are_never_averaged(paper: Bench) -> None:
    plan = paper.own(arms(whole="MODE=ok", oom="MODE=oom", ill="MODE=ill", segv="MODE=segv", error="MODE=error"))
    result = await paper.run(plan)
    states = {row.arm: row.state for row in measured(result.rows)}
    assert states.pop("whole") in RAN
    assert states == {
        "oom": "killed_oom",
        "ill": "crashed_sigill",
        "segv": "crashed_segv",
        "error": "workload_error",
    }
    for row in measured(result.rows):
        if row.arm != "whole":
            assert (row.value, row.usability, row.metric) == (None, "void", Metric.OUTCOME)
    table = {row.arm: row for row in result.view.arms}
    assert table["oom"].decode_tok_s is None
    assert table["oom"].word == "killed_oom"


async def test_llama_cpp_15554_a_banner_is_skipped_and_a_cut_line_is_no_number(paper: Bench) -> None:
    result = await paper.run(paper.own(arms(noise="MODE=noise", cut="MODE=cut", silent="MODE=silent")))
    found = {row.arm: row for row in measured(result.rows) if row.metric in (Metric.DECODE_TOK_S, Metric.OUTCOME)}
    assert found["noise"].state in RAN
    assert found["noise"].value == pytest.approx(16 / 0.05)
    assert (found["cut"].state, found["cut"].value) == ("output_truncated", None)
    assert (found["silent"].state, found["silent"].value) == ("output_malformed", None)


@pytest.mark.parametrize("form", ["jsonl_p64_n16", "json_p64_n16", "csv_p64_n16"])
def test_llama_cpp_13671_a_real_output_inside_other_text_is_read_and_a_cut_one_is_not(form: str) -> None:
    text = need_shared("recordings", "llama_cpp", "bench", f"{form}.stdout").read_text()
    assert parse_bench("banner\n" + text + "warning: late\n").state == OK
    assert parse_bench("banner\n" + text.rstrip("]\n")[:-20] + "\nwarning: late\n").state == TRUNCATED


async def test_missing_libraries_say_nothing_about_the_cpu(paper: Bench) -> None:
    result = await paper.run(paper.own(arms(link="MODE=link", load="MODE=load")))
    states = {row.arm: row for row in measured(result.rows)}
    assert states["link"].state == "library_missing"
    assert "libomp.so" in (states["link"].state_detail or "")
    assert states["load"].state == "model_load_failed"


async def test_an_engine_that_hangs_is_ended_at_the_limit(paper: Bench) -> None:
    plan = paper.own(arms(hang="MODE=hang"), limits={"launch_s": 1.0, "foreign_cpu_pct": 1e6})
    result = await paper.run(plan)
    (row,) = measured(result.rows)
    assert (row.state, row.value) == ("timeout", None)


@pytest.mark.long
async def test_iree_6521_a_runner_killed_while_writing_leaves_no_half_row(paper: Bench) -> None:
    session = "20260101-000000-dead"
    plan = paper.own(arms(one="MODE=ok SPIN=400000", two="MODE=ok SPIN=400000"))
    task = asyncio.create_task(paper.run(plan, session_id=session))
    await until(lambda: task.done() or in_a_measured_launch(paper), within_s=60)
    run = await loop.attach(paper.transport, session)
    assert run.job is not None
    await paper.transport.signal(run.job, 9)
    assert (await task).outcome == "link_lost"
    before = paper.store.find(session).rows()
    assert all(row.value is None or row.state in RAN | {"warmup"} for row in before)
    result = await resume(paper.transport, paper.store, session)
    assert result.outcome == "done"
    usable = [row for row in measured(result.rows) if row.metric == Metric.DECODE_TOK_S and row.countable]
    assert sorted(row.arm or "" for row in usable) == ["one", "two"]
    assert {row.attempt for row in usable} == {2}, "the open block came back as a unit"
    assert len({row.block for row in usable}) == 1


async def test_pocketpal_172_a_model_of_the_right_size_and_a_wrong_hash_is_never_run(
    paper: Bench, tmp_path: Path
) -> None:
    plan = paper.own(arms(one="MODE=ok"))
    good = "0" * 64
    declared = ModelRef(plan.model.path, plan.model.name, plan.model.size_bytes, good, declared=True)
    make_model(tmp_path / "model", b"GGUF raper")
    result = await paper.run(replace(plan, model=declared))
    assert result.outcome == "model_hash_mismatch"
    assert {(row.state, row.value) for row in result.rows} == {("model_hash_mismatch", None)}
    assert "sha256" in (result.rows[0].state_detail or "")
    assert state("model_hash_mismatch").next_step == "Push the model again."


def test_llama_cpp_25121_chat_speed_and_bench_speed_are_two_metrics() -> None:
    assert Metric.CHAT_TOK_S != Metric.DECODE_TOK_S
    assert UNITS[Metric.CHAT_TOK_S] == UNITS[Metric.DECODE_TOK_S]
    assert {Metric.TTFT_DERIVED_MS, Metric.TTFT_PREDICTED_MS, Metric.FIRST_TOKEN_MS} == {
        "ttft_pp512_derived",
        "ttft_predicted",
        "first_token_observed",
    }
