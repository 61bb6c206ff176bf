"""The live view: what a screen shows is what the journal said, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from entity_tui.experiments.ablation import design_preset
from entity_tui.experiments.build import Choices, assemble
from entity_tui.experiments.collect import cell_rows
from entity_tui.experiments.estimate import duration_words, estimate
from entity_tui.experiments.live import CellPhase
from entity_tui.experiments.not_run import incapable_rows
from entity_tui.experiments.placement import placement_plan
from entity_tui.experiments.plan import Plan, cell_key
from entity_tui.experiments.progress import RunProgress
from entity_tui.experiments.tables import arm_rows
from entity_tui.records.journal_events import CellEvent, Event, EventKind
from tests.experiments.bed import cell, context, four_plus_four, good_files, launch, setting

PHONE = setting(four_plus_four())


@pytest.fixture
def plan() -> Plan:
    return assemble(design_preset("full"), PHONE, Choices(seed=1))


def start(number: int, arm: str, block: int) -> Event:
    fields = {"n": str(number), "attempt": "1", "arm": arm, "block": str(block), "pos": "1"}
    return Event(number, 100.0 * number, EventKind.CELL_START, fields)


def ended(plan: Plan, number: int, arm: str, block: int) -> CellEvent:
    event = cell(arm, launch("prefill"), launch("decode"), block=block, key=cell_key(plan, plan.arm(arm)))
    return replace(event, fields={"n": str(number), "attempt": "1"}, t_boot_s=100.0 * number + 30.0)


def test_before_the_first_cell_every_arm_is_queued_without_a_number(plan: Plan) -> None:
    view = RunProgress(plan, "s", estimate=estimate(plan, PHONE.facts)).view
    assert {row.word for row in view.arms} == {"queued"}
    assert all(row.decode_tok_s is None and row.provisional for row in view.arms)
    assert (view.cells_done, view.cells_planned, view.blocks_planned) == (0, 41, 8)
    assert view.eta_s
    assert view.verdicts == ()


def test_the_gate_counts_down_and_names_what_blocks_it(plan: Plan) -> None:
    progress = RunProgress(plan, "s", start_c=36.0)
    progress.apply(start(2, "naive", 1))
    beat = {"n": "2", "phase": "gate", "waited": "600", "temp": "38.100", "blocked": "temp"}
    view = progress.apply(Event(3, 206.0, EventKind.BEAT, beat))
    assert view.current is not None
    assert (view.current.phase, view.current.gate_waited_s, view.current.gate_left_s) == (CellPhase.GATE, 6.0, 9.0)
    heat = view.gates[0]
    assert (heat.name, heat.holds) == ("temperature", False)
    assert "38.1 > 37.5" in heat.text


def test_a_launch_names_its_phase_and_the_readback_its_threads(plan: Plan) -> None:
    progress = RunProgress(plan, "s")
    progress.apply(start(2, "optimized", 1))
    view = progress.apply(Event(4, 210.0, EventKind.LAUNCH, {"n": "2", "phase": "decode"}))
    assert view.current is not None
    assert view.current.phase is CellPhase.DECODE
    assert {row.arm for row in view.arms if row.word == "running"} == {"optimized"}
    assert progress.apply(launch("decode")).readback == "decode: 4 of 4 threads on f0, as asked"
    wrong = progress.apply(launch("decode", applied="ff", mask_ok=False))
    assert wrong.readback == "decode: 0 of 4 threads on ff, asked for f0"
    assert wrong.log[-1].level == "error"


def test_rows_fill_the_table_and_the_first_block_is_provisional(plan: Plan) -> None:
    progress = RunProgress(plan, "s")
    for number, arm in ((2, "naive"), (3, "optimized")):
        event = ended(plan, number, arm, 1)
        progress.apply(start(number, arm, 1))
        progress.apply(event)
        progress.add_rows(cell_rows(context(plan), event, good_files(plan, arm)))
    rows = {row.arm: row for row in progress.view.arms}
    assert rows["naive"].decode_tok_s == pytest.approx(32.0)
    assert rows["naive"].decode_sd is None, "a single pass has no ±"
    assert (rows["naive"].done, rows["naive"].planned, rows["naive"].provisional) == (1, 8, True)
    assert progress.view.cells_done == 2
    assert not any("faster" in line or "slower" in line for line in progress.view.verdicts)


def test_every_change_is_a_new_view(plan: Plan) -> None:
    progress = RunProgress(plan, "s")
    before = progress.view
    progress.log("a line")
    assert progress.view is not before
    assert progress.view.sequence == before.sequence + 1
    assert before.log == ()


@pytest.mark.parametrize(("seconds", "words"), [(40, "40 s"), (720, "12 min"), (4800, "80 min"), (7200, "2 h 00 min")])
def test_durations_are_told_as_people_tell_them(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_an_estimate_lies_between_open_gates_and_closed_ones(plan: Plan) -> None:
    found = estimate(plan, PHONE.facts)
    assert found.high_s - found.low_s == pytest.approx(41 * (90 - 15))
    assert found.needs_confirmation
    assert estimate(plan, PHONE.facts, clock_factor=20).low_s == pytest.approx(found.low_s / 20)


def test_an_arm_that_is_not_run_counts_no_cells() -> None:
    plan = placement_plan(PHONE, Choices(seed=1))
    rows = incapable_rows(context(plan))
    row = {item.arm: item for item in arm_rows(plan, rows)}["auto"]
    assert (row.done, row.planned, row.void, row.word) == (0, 0, 0, "skipped_incapable")
    assert row.detail == "= perf_cores"
