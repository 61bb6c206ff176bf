"""Flat plans: what is rendered reads back equal, and what one line cannot carry is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entity_tui.errors import UsageError
from entity_tui.experiments.flatplan import (
    MAX_NODES,
    ClockCap,
    FileCheck,
    GatePlan,
    GateSensor,
    Launch,
    OnTimeout,
    RunnerCell,
    RunnerPlan,
    SampleNode,
    mask_cpus,
    render,
)
from entity_tui.experiments.flatplan_reader import parse_plan

words = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:=+-]{0,12}", fullmatch=True)
texts = st.text(st.characters(min_codepoint=32, blacklist_characters="\x7f", blacklist_categories=["Cs"]), max_size=20)
paths = texts.map(lambda text: "/" + text)
hundredths = st.integers(0, 10**6).map(lambda number: number / 100)
masks = st.integers(1, 2**70).map(lambda number: format(number, "x"))
gates = st.builds(
    GatePlan,
    limit_c=st.integers(-5000, 90000).map(lambda number: number / 1000),
    sensors=st.lists(st.builds(GateSensor, paths, st.sampled_from([1, 10, 100, 1000])), max_size=3).map(tuple),
    minimum_s=hundredths,
    timeout_s=hundredths,
    poll_s=st.integers(5, 1000).map(lambda number: number / 100),
    on_timeout=st.sampled_from(list(OnTimeout)),
    sensorless_dwell_s=st.none() | hundredths,
    throttle_status=st.booleans(),
    caps=st.lists(st.builds(ClockCap, paths, st.integers(0, 4_000_000)), max_size=2).map(tuple),
)
launches = st.builds(
    Launch,
    phase=words,
    argv=st.tuples(paths, texts, texts),
    threads=st.integers(1, 64),
    mask=st.none() | masks,
    env=st.lists(st.tuples(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), texts), max_size=2).map(tuple),
    wall_limit_s=hundredths,
    directory=paths,
)


@st.composite
def plans(draw: st.DrawFn) -> RunnerPlan:
    """Any plan that can be rendered."""
    numbers = draw(st.lists(st.integers(1, 999), min_size=1, max_size=4, unique=True))
    cells = tuple(
        RunnerCell(
            number=number,
            key=draw(words),
            arm=draw(words),
            block=draw(st.integers(0, 99)),
            position=draw(st.integers(0, 9)),
            launches=tuple(draw(st.lists(launches, min_size=1, max_size=2))),
            role=draw(st.sampled_from(["measure", "warmup"])),
            attempt=draw(st.integers(1, 9)),
            reserve=draw(st.booleans()),
            gate=draw(st.none() | gates | st.just(GatePlan(skip=True))),
        )
        for number in numbers
    )
    return RunnerPlan(
        session_id=draw(words),
        plan_hash=draw(words),
        boot_id=draw(st.just("") | words),
        cells=cells,
        gate=draw(gates),
        nodes=tuple(draw(st.lists(st.builds(SampleNode, words, paths), max_size=MAX_NODES))),
        period_ms=draw(st.integers(1, 500)) * 10,
        heartbeat_s=draw(hundredths),
        battery_min_pct=draw(st.none() | st.integers(0, 100)),
        free_min_mb=draw(st.none() | st.integers(0, 10**6)),
        safety_temp_c=draw(st.none() | st.integers(30000, 60000).map(lambda number: number / 1000)),
        safety_status=draw(st.none() | st.integers(0, 6)),
        files=tuple(
            draw(st.lists(st.builds(FileCheck, paths, st.integers(0, 2**40), st.just("") | words), max_size=2))
        ),
        recorder_mask=draw(st.none() | masks),
        owed_blocks=draw(st.integers(0, 3)),
    )


@settings(max_examples=50)
@given(plans())
def test_a_plan_reads_back_as_it_was_written(plan: RunnerPlan) -> None:
    assert parse_plan(render(plan)) == plan


@settings(max_examples=30)
@given(plans(), st.data())
def test_a_plan_that_lost_its_tail_is_refused(plan: RunnerPlan, data: st.DataObject) -> None:
    lines = render(plan).split("\n")[:-1]
    kept = data.draw(st.integers(0, len(lines) - 1))
    with pytest.raises(UsageError):
        parse_plan("\n".join(lines[:kept]))


def one(**changes: object) -> RunnerPlan:
    """A plan of one cell; `changes` go to its only launch."""
    launch = replace(Launch("decode", ("/bin/true",), 1), **changes)  # type: ignore[arg-type]
    return RunnerPlan("s", "h", "", (RunnerCell(1, "k", "a", 1, 1, (launch,)),))


@pytest.mark.parametrize(
    "changes",
    [
        {"argv": ("/bin/echo", "two\nlines")},
        {"argv": ("/bin/echo", "tab\there")},
        {"argv": ("echo",)},
        {"argv": ()},
        {"mask": "xyz"},
        {"mask": "0"},
        {"phase": "two words"},
        {"directory": "relative"},
        {"env": (("BAD NAME", "x"),)},
        {"env": (("OK", "a\rb"),)},
    ],
)
def test_what_a_line_cannot_carry_is_refused_before_anything_starts(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        render(one(**changes))


def test_numbers_nodes_and_sensors_are_checked() -> None:
    good = one()
    cell = good.cells[0]
    bad = [
        replace(good, cells=(cell, cell)),
        replace(good, cells=(replace(cell, number=0),)),
        replace(good, cells=(replace(cell, launches=()),)),
        replace(good, nodes=tuple(SampleNode(f"n{index}", "/x") for index in range(MAX_NODES + 1))),
        replace(good, gate=GatePlan(sensors=(GateSensor("/x", 7),))),
        replace(good, gate=GatePlan(sensors=(GateSensor("dumpsys wifi", 1),))),
        replace(good, session_id="../../etc"),
    ]
    for plan in bad:
        with pytest.raises(UsageError):
            render(plan)


def test_a_mask_names_its_cpus() -> None:
    assert mask_cpus("f0") == (4, 5, 6, 7)
    assert mask_cpus("0xFF00000001")[0] == 0
