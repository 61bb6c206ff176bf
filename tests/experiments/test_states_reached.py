"""States that need something to happen: each one is reached, and leaves its name in the rows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from entity_tui.device.battery import CurrentUnit
from entity_tui.errors import GateRefused
from entity_tui.experiments import follow as loop
from entity_tui.experiments.ablation import design_preset
from entity_tui.experiments.build import Choices, assemble
from entity_tui.experiments.cell_power import GaugeReading
from entity_tui.experiments.collect import cell_rows
from entity_tui.experiments.preflight import Preflight
from entity_tui.experiments.rebuild import Ending, ending, rows_of_run
from entity_tui.records.journal_events import Event, EventKind
from entity_tui.records.schema import Metric
from tests.experiments.bed import cell, context, four_plus_four, good_files, launch, setting
from tests.experiments.live_bed import Bench
from tests.experiments.paper_engine import arms
from tests.fixtures.tools import until

PLAN = assemble(design_preset("full"), setting(four_plus_four()), Choices(seed=1))
UNCHECKED = Preflight(())


@pytest.fixture
def one_cpu() -> Iterator[None]:
    """This process, and everything it starts, on CPU 0 alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, before)


async def test_a_cpu_this_process_may_not_use_is_denied(paper: Bench, one_cpu: None) -> None:
    text = "arms:\n  other: {threads: 1, cpus: '1'}\ngate: {minimum_s: 0, limit_s: 1, sensorless_dwell_s: 0}\n"
    result = await paper.run(paper.own(text), checked=UNCHECKED)
    (row,) = [row for row in result.rows if row.role == "measure"]
    assert (row.state, row.value, row.mask_requested) == ("cpuset_denied", None, "2")


async def test_too_little_space_is_refused_before_the_run_and_stops_it_when_it_comes_later(paper: Bench) -> None:
    plan = paper.own(arms(one="MODE=ok"), limits={"free_bytes": 10**18})
    with pytest.raises(GateRefused, match="MB are free"):
        await paper.run(plan)
    result = await paper.run(replace(plan, limits=replace(plan.limits, free_bytes=10**15)), checked=UNCHECKED)
    assert result.outcome == "storage_full"
    assert {(row.state, row.value) for row in result.rows} == {("storage_full", None)}


async def test_a_plan_made_in_another_boot_is_not_run(paper: Bench) -> None:
    identity = replace(paper.ready.facts.identity, boot_id="00000000-0000-4000-8000-000000000000")
    paper.ready = replace(paper.ready, facts=replace(paper.ready.facts, identity=identity))
    result = await paper.run(paper.own(arms(one="MODE=ok")))
    assert result.outcome == "boot_mismatch"
    assert {(row.state, row.value) for row in result.rows} == {("boot_mismatch", None)}


async def test_a_run_stopped_at_once_ends_its_cell_and_names_those_that_never_ran(paper: Bench) -> None:
    session = "20260101-000000-stop"
    plan = paper.own(arms(hang="MODE=hang", next="MODE=hang"))
    task = asyncio.create_task(paper.run(plan, session_id=session))

    def measuring() -> bool:
        current = paper.views[-1].current if paper.views else None
        return task.done() or (current is not None and current.phase.value in ("prefill", "decode"))

    await until(measuring, within_s=60)
    await loop.stop(paper.transport, session, now=True)
    result = await task
    assert result.outcome == "cancelled"
    assert {row.state for row in result.rows} == {"cancelled"}
    assert {row.arm for row in result.rows if row.role == "measure"} == {"hang", "next"}
    assert all(row.value is None for row in result.rows)


@pytest.mark.parametrize(
    ("kind", "reason", "outcome"),
    [
        (EventKind.DONE, "end", "done"),
        (EventKind.STOP, "low_battery", "low_battery"),
        (EventKind.STOP, "safety_stop", "safety_stop"),
        (EventKind.STOP, "after_cell", "cancelled"),
        (EventKind.STOP, "signal", "cancelled"),
        (EventKind.REFUSED, "boot_mismatch", "boot_mismatch"),
        (EventKind.REFUSED, "model_hash_mismatch", "model_hash_mismatch"),
    ],
)
def test_the_journals_last_line_names_how_the_run_ended(kind: EventKind, reason: str, outcome: str) -> None:
    events = [Event(1, 1.0, EventKind.RUN_START), Event(2, 2.0, kind, {"reason": reason})]
    assert ending(events).outcome == outcome


def test_a_run_that_still_goes_on_has_no_ending_and_no_missing_rows() -> None:
    events = [Event(1, 1.0, EventKind.RUN_START)]
    assert ending(events) == Ending()
    assert rows_of_run(context(PLAN), events, lambda event: {}, Ending()) == ()


def look(screen: str) -> bytes:
    return (
        f"entity-probe 1 cell\n@cell cmd 0 - dumpsys power | grep mWakefulness\n  mWakefulness={screen}\n@cell end\n"
    ).encode()


def test_a_screen_that_lights_up_marks_the_cell() -> None:
    files = {**good_files(PLAN, "optimized"), "before.txt": look("Asleep"), "after.txt": look("Awake")}
    event = cell("optimized", launch("prefill"), launch("decode"))
    rows = cell_rows(context(PLAN), event, files)
    assert {(row.state, row.usability) for row in rows} == {("screen_changed", "tainted")}
    assert rows[0].screen_state == "asleep"


def test_a_power_no_phone_can_draw_takes_the_watts_away_and_leaves_the_speed() -> None:
    lines = ["entity-samples 1 nodes current_now voltage_now status"]
    lines += [f"p {99.9 + 0.15 * index:.2f}|-{90_000_000 + index}|4000000|Discharging" for index in range(80)]
    files = {**good_files(PLAN, "optimized"), "decode.samples": "\n".join(lines).encode() + b"\n"}
    gauge = GaugeReading(nodes=("current_now", "voltage_now", "status"), unit=CurrentUnit.UA, charging=False)
    event = cell("optimized", launch("prefill"), launch("decode", start=106.0, end=112.0))
    rows = {row.metric: row for row in cell_rows(replace(context(PLAN), gauge=gauge), event, files)}
    assert (rows[Metric.DECODE_POWER_W].state, rows[Metric.DECODE_POWER_W].value) == ("power_implausible", None)
    assert (rows[Metric.DECODE_TOK_S].state, rows[Metric.DECODE_TOK_S].usability) == ("ok", "usable")
