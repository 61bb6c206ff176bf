"""From journal events and files to rows: a number only where everything fits, a reason everywhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from entity_tui.experiments.ablation import design_preset
from entity_tui.experiments.build import Choices, assemble
from entity_tui.experiments.cell_power import CellSamples, GaugeReading, parse_samples
from entity_tui.experiments.collect import cell_rows
from entity_tui.experiments.not_run import incapable_rows, unreached_rows
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.rebuild import rows_of_cell
from entity_tui.records.journal_events import GateOutcome
from entity_tui.records.schema import Metric, Row, Usability
from tests.experiments.bed import bench_line, cell, context, four_plus_four, good_files, launch, one_class, setting


@pytest.fixture
def plan() -> Plan:
    return assemble(design_preset("full"), setting(four_plus_four()), Choices(seed=1))


def by_metric(rows: tuple[Row, ...]) -> dict[str, Row]:
    return {row.metric: row for row in rows}


def good(plan: Plan, **changes: object) -> tuple[Row, ...]:
    event = cell("optimized", launch("prefill"), launch("decode", start=106.0, end=112.0))
    return cell_rows(context(plan), replace(event, **changes), good_files(plan, "optimized"))  # type: ignore[arg-type]


def test_a_good_cell_has_prompt_decode_and_derived_first_token(plan: Plan) -> None:
    rows = by_metric(good(plan))
    assert rows[Metric.PROMPT_TOK_S].value == pytest.approx(512 / 4)
    assert rows[Metric.DECODE_TOK_S].value == pytest.approx(128 / 4)
    assert rows[Metric.TTFT_DERIVED_MS].value == pytest.approx(1000 * (512 / 128 + 1 / 32))
    assert {row.state for row in rows.values()} == {"ok"}
    assert {row.usability for row in rows.values()} == {Usability.USABLE}


def test_every_row_carries_what_was_asked_and_what_the_kernel_did(plan: Plan) -> None:
    row = by_metric(good(plan))[Metric.DECODE_TOK_S]
    assert (row.mask_requested, row.mask_applied, row.mask_ok, row.threads_seen) == ("f0", "f0", True, 4)
    assert (row.variant_loaded, row.engine_build, row.plan_seed) == ("android_armv8.2_2", "b11434", 1)
    assert (row.gate_state, row.temp_start_c, row.raw_ref) == ("passed", 31.0, "cells/2.1")


def test_power_has_its_rows_even_where_there_is_no_gauge(plan: Plan) -> None:
    rows = by_metric(good(plan))
    assert rows[Metric.DECODE_POWER_W].value is None
    assert rows[Metric.DECODE_TOK_PER_W].value is None


def test_a_mask_that_was_not_applied_voids_the_cell_and_shows_both(plan: Plan) -> None:
    event = cell("optimized", launch("prefill"), launch("decode", applied="ff", mask_ok=False))
    rows = cell_rows(context(plan), event, good_files(plan, "optimized"))
    assert {row.state for row in rows} == {"affinity_mismatch"}
    assert not any(row.countable for row in rows)
    assert "asked for mask f0, the kernel ran ff" in (rows[0].state_detail or "")


def test_a_mask_nobody_could_read_back_taints_the_cell(plan: Plan) -> None:
    event = cell("optimized", launch("prefill", mask_ok=None), launch("decode", mask_ok=None))
    rows = cell_rows(context(plan), event, good_files(plan, "optimized"))
    assert {row.usability for row in rows} == {Usability.TAINTED}
    assert all(row.mask_ok is None for row in rows)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (137, "killed_oom"),
        (132, "crashed_sigill"),
        (139, "crashed_segv"),
        (1, "workload_error"),
        (None, "workload_error"),
    ],
)
def test_a_launch_that_died_has_a_named_state_and_its_tokens_are_never_used(
    plan: Plan, code: int | None, state: str
) -> None:
    event = cell("optimized", launch("prefill"), launch("decode", state="workload_error", code=code))
    rows = cell_rows(context(plan), event, good_files(plan, "optimized"))
    assert {row.state for row in rows} == {state}
    assert not any(row.countable for row in rows)
    assert all(row.metric != Metric.DECODE_TOK_S for row in rows)


def test_output_cut_in_its_last_line_is_no_number(plan: Plan) -> None:
    files = good_files(plan, "optimized")
    files["decode.out"] = b"banner\n" + files["decode.out"][:-30] + b"\nwarning: late\n"
    rows = cell_rows(context(plan), cell("optimized", launch("prefill"), launch("decode")), files)
    assert {row.state for row in rows} == {"output_truncated"}
    assert all(row.metric != Metric.DECODE_TOK_S for row in rows)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (bench_line(n_gen=128, threads=8), "8 threads, asked for 4"),
        (bench_line(n_gen=64, threads=4), "tg64"),
        (bench_line(n_gen=128, threads=4) * 2, "2 tests"),
    ],
)
def test_an_engine_that_ran_something_else_is_a_mismatch(plan: Plan, output: bytes, words: str) -> None:
    files = {**good_files(plan, "optimized"), "decode.out": output}
    rows = cell_rows(context(plan), cell("optimized", launch("prefill"), launch("decode")), files)
    assert {row.state for row in rows} == {"config_mismatch"}
    assert words in (rows[0].state_detail or "")


def test_a_gate_that_never_opened_leaves_one_row_without_a_number(plan: Plan) -> None:
    event = cell("optimized", state="gate_timeout", gate=GateOutcome.TIMEOUT)
    (row,) = cell_rows(context(plan), event, {})
    assert (row.metric, row.value, row.state, row.usability) == (Metric.OUTCOME, None, "gate_timeout", "void")


def test_a_gate_that_timed_out_and_ran_all_the_same_is_tainted(plan: Plan) -> None:
    event = cell("optimized", launch("prefill"), launch("decode"), gate=GateOutcome.TIMEOUT, tainted=True)
    rows = cell_rows(context(plan), event, good_files(plan, "optimized"))
    assert {row.usability for row in rows} == {Usability.TAINTED}
    assert "gate_timeout" in (rows[0].state_detail or "")


def test_the_warm_up_is_stored_and_never_averaged(plan: Plan) -> None:
    files = {
        "prefill.out": bench_line(n_prompt=64, threads=4),
        "decode.out": bench_line(n_gen=16, threads=4),
    }
    event = cell("optimized", launch("prefill"), launch("decode"), state="warmup", role="warmup", block=0)
    rows = cell_rows(context(plan), event, files)
    assert {row.state for row in rows} == {"warmup"}
    assert not any(row.countable for row in rows)


def test_a_cell_launched_from_an_app_is_tainted(plan: Plan) -> None:
    event = cell("optimized", launch("prefill"), launch("decode"))
    rows = cell_rows(replace(context(plan), launch_context="termux"), event, good_files(plan, "optimized"))
    assert {row.usability for row in rows} == {Usability.TAINTED}


def test_a_cell_of_an_arm_nobody_planned_is_foreign(plan: Plan) -> None:
    (row,) = rows_of_cell(context(plan), cell("intruder", launch("decode")), {})
    assert (row.state, row.usability, row.value) == ("foreign_cell", "void", None)


def test_a_cell_with_another_key_is_somebody_elses_measurement(plan: Plan) -> None:
    event = cell("optimized", launch("prefill"), launch("decode"), key="0123456789abcdef")
    (row,) = rows_of_cell(context(plan), event, good_files(plan, "optimized"))
    assert (row.state, row.usability, row.value) == ("foreign_cell", "void", None)


def test_another_engine_beside_the_cell_is_foreign_load(plan: Plan) -> None:
    rows = good(plan, foreign=("4711:llama-server",))
    assert {row.state for row in rows} == {"foreign_load"}
    assert "4711:llama-server" in (rows[0].state_detail or "")


def test_an_engine_that_counts_more_seconds_than_passed_saw_the_clock_jump(plan: Plan) -> None:
    files = {**good_files(plan, "optimized"), "decode.out": bench_line(n_gen=128, threads=4, seconds=60)}
    rows = cell_rows(context(plan), cell("optimized", launch("prefill"), launch("decode")), files)
    assert {row.state for row in rows} == {"clock_jump"}


def test_planned_cells_that_never_ran_have_a_row_each(plan: Plan) -> None:
    rows = unreached_rows(context(plan), {(0, 1, "optimized")}, "low_battery", "12 percent")
    assert len(rows) == plan.measured_cells
    assert {(row.state, row.value, row.usability) for row in rows} == {("low_battery", None, "void")}


def test_an_arm_that_cannot_run_here_is_listed_with_its_reason() -> None:
    plan = assemble(design_preset("full"), setting(one_class(4)), Choices(seed=1))
    (row,) = incapable_rows(context(plan))
    assert (row.arm, row.state) == ("efficiency", "skipped_incapable")
    assert "one class" in (row.state_detail or "")


SAMPLES = b"""entity-samples 1 nodes current_now voltage_now status clock_PERF_0
p 100.00|-900000|4000000|Discharging|2500000
p 100.15|-900000|4000000|Discharging|2500000
p 100.30|-9000
"""


def test_a_sample_line_that_was_cut_is_left_out() -> None:
    found = parse_samples(SAMPLES)
    assert found.t_s == (100.0, 100.15)
    assert found.values["current_now"] == ("-900000", "-900000")


def test_missing_text_stays_missing() -> None:
    found = parse_samples(b"entity-samples 1 nodes a b\np 1.0||5\n")
    assert found == CellSamples((1.0,), {"a": ("",), "b": ("5",)})


def samples(word: str = "Discharging", *, start: float = 99.9, seconds: float = 13.0, khz: int = 2_500_000) -> bytes:
    lines = ["entity-samples 1 nodes current_now voltage_now status clock_PERF_0"]
    for index in range(int(seconds / 0.15)):
        current = 900_000 + 1000 * (index % 7)
        lines.append(f"p {start + 0.15 * index:.2f}|-{current}|4000000|{word}|{khz}")
    return ("\n".join(lines) + "\n").encode()


def powered(plan: Plan, data: bytes) -> dict[str, Row]:
    files = {**good_files(plan, "optimized"), "decode.samples": data}
    nodes = ("current_now", "voltage_now", "status", "clock_PERF_0")
    gauge = GaugeReading(nodes=nodes, charging=False, cap_khz={"clock_PERF_0": 2_500_000})
    classes = {cpu: "PERF_0" if cpu > 3 else "LITTLE_1" for cpu in range(8)}
    event = cell("optimized", launch("prefill"), launch("decode", start=106.0, end=112.0))
    return by_metric(cell_rows(replace(context(plan), gauge=gauge, cpu_class=classes), event, files))


def test_watts_are_the_mean_over_the_decode_window(plan: Plan) -> None:
    rows = powered(plan, samples())
    assert rows[Metric.DECODE_POWER_W].value == pytest.approx(3.61, abs=0.02)
    assert rows[Metric.DECODE_TOK_PER_W].value == pytest.approx(32 / 3.61, abs=0.1)
    assert rows[Metric.DECODE_TOK_S].charging_state == "Discharging"


def test_a_short_cell_claims_no_energy(plan: Plan) -> None:
    assert Metric.TOKEN_ENERGY_J not in powered(plan, samples())


@pytest.mark.parametrize("word", ["Charging", "Full", "Not charging"])
def test_a_charger_leaves_no_watts(plan: Plan, word: str) -> None:
    rows = powered(plan, samples(word))
    assert rows[Metric.DECODE_POWER_W].value is None
    assert rows[Metric.DECODE_TOK_S].value == pytest.approx(32.0)


def test_a_charger_that_moves_inside_a_cell_marks_it(plan: Plan) -> None:
    rows = powered(plan, samples(seconds=6.0) + samples("Charging", start=106.0, seconds=7.0))
    row = rows[Metric.DECODE_TOK_S]
    assert (row.state, row.usability) == ("charging_changed", "tainted")
    assert rows[Metric.DECODE_POWER_W].value is None


def test_clocks_far_below_their_cap_are_throttling_and_stay_in_the_medians(plan: Plan) -> None:
    row = powered(plan, samples(khz=1_500_000))[Metric.DECODE_TOK_S]
    assert (row.state, row.usability) == ("throttled", "tainted")
    assert row.countable


def test_a_hole_of_more_than_a_minute_is_a_phone_that_slept(plan: Plan) -> None:
    files = {**good_files(plan, "optimized"), "decode.samples": samples(start=106.0, seconds=4.0)}
    gauge = GaugeReading(nodes=("current_now",))
    event = cell("optimized", launch("prefill"), launch("decode", start=106.0, end=190.0))
    rows = cell_rows(replace(context(plan), gauge=gauge), event, files)
    assert {row.state for row in rows} == {"suspended"}
    assert not any(row.countable for row in rows)
