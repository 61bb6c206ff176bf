"""The runner killed at every line of its loop: the journal parses, no row is half, and a resume completes the plan."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from entity_tui.agent import PARTS, script
from entity_tui.experiments.flatplan import RunnerPlan
from entity_tui.experiments.resume import remaining
from entity_tui.records.journal import EventKind
from tests.agent.runs import Bench, Ran, cell, plan, sh
from tests.fixtures.tools import until

_NOT_AFTER = re.compile(r"(?:\\|;;|\bdo|\bthen|\belse|\bin|\{|\(|&&|\|\||^\s*#.*)$")
POINT = """
kill_point() {
	_kept=$?
	[ -z "$KILL_TRACE" ] || [ "${number:-0}" -ge "$KILL_FROM" ] || [ "${number:-0}" = 0 ] || return $_kept
	[ -z "$KILL_TRACE" ] || echo "$1 ${number:-0}" >>"$KILL_TRACE"
	[ "$KILL_AT" != "$1" ] || [ "${number:-0}" -lt "$KILL_FROM" ] || kill -9 $$
	return $_kept
}
"""


def with_kill_points() -> tuple[str, int]:
    """The runner with a numbered place to die after every statement of its own, and how many there are."""
    common = script("runner")[: len(_part("common"))]
    lines = [common, POINT]
    points = 0
    for line in script("runner")[len(common) :].splitlines():
        lines.append(line)
        bare = line.rstrip()
        opens_case = bare.endswith(")") and "$(" not in bare and "=" not in bare.split(")")[0]
        if bare.strip() and not _NOT_AFTER.search(bare) and not opens_case:
            points += 1
            lines.append(f"kill_point {points}")
    return "\n".join(lines) + "\n", points


def _part(name: str) -> str:
    from importlib.resources import files

    assert name in PARTS["runner"]
    return files("entity_tui.agent").joinpath(f"{name}.sh").read_text("utf-8")


def whole_plan() -> RunnerPlan:
    """A warm-up and two blocks of two arms."""
    cells = [cell(1, block=0, arm="a", role="warmup")]
    for block in (1, 2):
        for position, arm in enumerate("ab", 1):
            cells.append(
                cell(len(cells) + 1, sh("echo", phase="prefill"), sh("echo"), block=block, position=position, arm=arm)
            )
    return plan(*cells)


def accepted(ran: Ran) -> dict[int, Counter[str]]:
    """Arms by block, of the blocks that are complete."""
    blocks: dict[int, Counter[str]] = {}
    for event in ran.cells:
        if event.role != "warmup":
            blocks.setdefault(event.block, Counter())[event.arm] += 1
    return {block: arms for block, arms in blocks.items() if len(arms) == 2}


def check_no_half_row(ran: Ran) -> None:
    """Every cell the journal counts has all its files, under its final name and with its own identity."""
    for event in ran.cells:
        directory = ran.directory / event.directory
        assert f"cell={event.cell} attempt={event.attempt} key={event.key}" in (directory / "cell.kv").read_text()
        assert (directory / "after.txt").read_text().rstrip().endswith("@cell end")
        assert all((directory / f"{launch.phase}.out").exists() for launch in event.launches)
        assert len(event.launches) == (1 if event.role == "warmup" else 2)
    numbers = [event.cell for event in ran.cells]
    assert len(numbers) == len(set(numbers)), "no cell twice"


def check_resumed(bench: Bench, what: RunnerPlan, before: Ran) -> None:
    """A resume ends the plan with two complete blocks, and no more than one was lost."""
    check_no_half_row(before)
    left = remaining(what, before.events, seed=7)
    after = before if left is None else bench.run(left)
    check_no_half_row(after)
    assert after.last().kind is EventKind.DONE
    complete = accepted(after)
    assert len(complete) == 2, complete
    assert all(arms == {"a": 1, "b": 1} for arms in complete.values())
    lost = [event for event in after.cells if event.role != "warmup" and event.block not in complete]
    assert len(lost) <= 1
    assert left is None or not (bench.root / "lock").exists()
    for path in (after.directory / "cells").iterdir():
        if path.suffix == ".tmp":
            assert path.stem not in {event.directory.removeprefix("cells/") for event in after.cells}


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_killed_after_every_statement_nothing_is_half_and_resume_completes(phone_bench: Bench, tmp_path: Path) -> None:
    text, points = with_kill_points()
    assert points > 250
    trace = tmp_path / "reached"
    bench = Bench(phone_bench.toolset, phone_bench.root / "whole")
    bench.run(whole_plan(), text=text, KILL_AT="", KILL_FROM="4", KILL_TRACE=str(trace))
    reached = {int(point): int(number) for point, number in map(str.split, reversed(trace.read_text().splitlines()))}
    assert len(reached) > 200, "the statements of the loop and of the start"
    missed = []
    for point, number in sorted(reached.items()):
        bench = Bench(phone_bench.toolset, phone_bench.root / str(point))
        what = whole_plan()
        ran = bench.run(what, text=text, KILL_AT=str(point), KILL_FROM=str(min(number, 4)))
        if ran.code != -signal.SIGKILL:
            missed.append(point)  # a branch that hangs on the moment: a stranger's engine ran then and does not now
            assert ran.code == 0, point
        check_resumed(bench, what, ran)
    assert len(missed) < len(reached) / 10, missed


@pytest.mark.parametrize("fraction", [0.15, 0.4, 0.6, 0.8, 0.97])
def test_killed_somewhere_in_the_second_block_it_is_run_again_as_a_fresh_one(
    phone_bench: Bench, fraction: float
) -> None:
    text, points = with_kill_points()
    what = whole_plan()
    ran = phone_bench.run(what, text=text, KILL_AT=str(round(points * fraction)), KILL_FROM="4")
    check_resumed(phone_bench, what, ran)


def test_killed_between_the_last_cell_and_the_last_line_only_that_line_is_written(phone_bench: Bench) -> None:
    what = whole_plan()
    ran = phone_bench.run(what)
    journal = ran.directory / "journal"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    check_resumed(phone_bench, what, phone_bench.read(what))
    assert remaining(what, phone_bench.read(what).events, seed=7) is None


def test_a_second_runner_is_refused_and_leaves_the_first_journal_alone(phone_bench: Bench) -> None:
    first = plan(cell(1, sh("sleep 1")))
    process = phone_bench.start(first)
    asyncio.run(until(lambda: (phone_bench.root / "lock/workload").exists()))
    for session in ("s1", "s2"):
        second = phone_bench.run(plan(cell(1), session=session))
        assert second.code == 3
        assert second.said.startswith("locked ")
    process.communicate(timeout=20)
    ran = phone_bench.read(first)
    assert ran.states == ["ok"]
    assert sum(event.kind is EventKind.RUN_START for event in ran.events) == 1


@pytest.mark.parametrize(
    "owner",
    ["another-boot 1 5", "{boot} 1 999999999", "{boot} 4194303 5", "garbage", ""],
    ids=["other boot", "number used again", "process gone", "damaged", "killed before its first line"],
)
def test_a_dead_lock_is_taken_over(phone_bench: Bench, owner: str) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (phone_bench.root / "lock").mkdir(parents=True)
    if owner:
        (phone_bench.root / "lock/owner").write_text(owner.format(boot=boot) + "\n")
    assert phone_bench.run(plan(cell(1))).states == ["ok"]
    assert not (phone_bench.root / "lock").exists()


def test_a_workload_that_outlived_its_runner_is_ended_and_nobody_elses_process_is(phone_bench: Bench) -> None:
    what = plan(cell(1, sh("exec sleep 60")))
    process = phone_bench.start(what)
    note = phone_bench.root / "lock/workload"
    asyncio.run(until(lambda: note.exists() and len(note.read_text().split()) == 3))
    process.kill()
    process.communicate()
    boot, pid, start = note.read_text().split()
    assert Path(f"/proc/{pid}").exists(), "the workload lives on without its runner"
    assert phone_bench.run(plan(cell(1), session="s2")).states == ["ok"]
    asyncio.run(until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text()))
    (phone_bench.root / "lock").mkdir()
    (phone_bench.root / "lock/owner").write_text(f"{boot} 4194303 5\n")
    note.write_text(f"{boot} {os.getpid()} {start}\n")
    assert phone_bench.run(plan(cell(1), session="s3")).states == ["ok"]
