"""The observer inside one launch: what counts, what is left out, and a runner that is never left suspended."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from entity_tui.experiments.observer import BARE, RECORDED, observer_plan
from entity_tui.experiments.observer_within import LET_GO, observe_within, rates_of, schedule
from tests.experiments.live_bed import on_this_computer


def test_every_block_holds_each_state_equally_often_in_an_order_of_its_own() -> None:
    order = schedule(40, 7)
    blocks = [order[start : start + 2] for start in range(0, len(order), 2)]
    assert all(set(block) == {BARE, RECORDED} for block in blocks)
    assert 10 < Counter(blocks)[BARE, RECORDED] < 30
    assert schedule(40, 7) == order != schedule(40, 8)


def test_the_repetition_that_holds_the_change_does_not_count() -> None:
    order = (BARE, RECORDED)
    samples = [9_000_000_000, *[100_000_000] * 3, 9_000_000_000, *[200_000_000] * 3]
    rates = rates_of(samples, order, set(), 16)
    assert rates[BARE] == {1: (pytest.approx(160.0),)}
    assert rates[RECORDED] == {1: (pytest.approx(80.0),)}


def test_windows_that_came_late_or_have_no_time_are_left_out() -> None:
    order = (BARE, RECORDED, RECORDED, BARE)
    samples = [100_000_000] * 16
    one = (pytest.approx(160.0),)
    assert rates_of(samples, order, set(), 16) == {BARE: {1: one, 2: one}, RECORDED: {1: one, 2: one}}
    assert rates_of(samples, order, {0}, 16) == {BARE: {2: one}, RECORDED: {1: one, 2: one}}
    samples[6] = 0
    assert rates_of(samples, order, set(), 16) == {BARE: {1: one, 2: one}, RECORDED: {2: one}}
    assert rates_of(samples[:15], order, set(), 16) == {BARE: {1: one}, RECORDED: {2: one}}


@pytest.mark.long
async def test_a_real_launch_gives_both_states_and_leaves_nothing_suspended(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        plan = observer_plan(bench.ready.setting, threads=1, cpu=1, n_gen=4, repetitions=1)
        found = await observe_within(
            bench.transport, plan, bench.ready.snapshot, bench.ready.facts, recorder_cpu=0, blocks=2, seed=5
        )
        assert (await bench.transport.run(["ls", f"{bench.transport.root}/runs"])).text == ""
    assert {name: sorted(values) for name, values in found.rates.items()} == {BARE: [1, 2], RECORDED: [1, 2]}
    assert all(rate > 1 for values in found.rates.values() for (rate,) in values.values())


async def test_a_suspended_process_goes_on_when_this_computer_is_gone() -> None:
    sleeper = await asyncio.create_subprocess_exec("sleep", "30")
    guard = await asyncio.create_subprocess_exec(
        "sh", "-c", LET_GO, "let-go", str(sleeper.pid), stdin=asyncio.subprocess.PIPE
    )
    try:
        sleeper.send_signal(19)
        while _state(sleeper.pid) != "T":
            await asyncio.sleep(0.01)
        assert guard.stdin is not None
        guard.stdin.close()  # as a laptop that lost its link or its life
        await asyncio.wait_for(guard.wait(), 10)
        assert _state(sleeper.pid) == "S"
    finally:
        sleeper.kill()
        await sleeper.wait()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
