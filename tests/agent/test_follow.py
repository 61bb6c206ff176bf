"""Following a run: started detached, read by byte offset, over a link that comes and goes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments import follow
from entity_tui.experiments.flatplan_reader import parse_plan
from entity_tui.experiments.probe import ProbeFailed, probe, sample_stream
from entity_tui.experiments.resume import remaining
from entity_tui.records.journal import CellEvent, Event, EventKind, parse_journal
from entity_tui.transport.base import LinkLost, RemoteFileError, TransportError
from entity_tui.transport.local import LocalTransport
from tests.agent.runs import cell, plan, sh
from tests.fixtures.tools import until


class FlakyTransport(LocalTransport):
    """This computer over a link that loses every third call while `broken` is set, and all of them while `gone` is."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.broken = False
        self.gone = False
        self.calls = 0

    async def _open(self, command: str, *, timeout_s: float) -> Any:
        self.calls += 1
        if self.gone or (self.broken and self.calls % 3 == 0):
            raise LinkLost("the cable was pulled")
        return await super()._open(command, timeout_s=timeout_s)


@pytest.fixture
async def device(tmp_path: Path) -> AsyncIterator[FlakyTransport]:
    """This computer as a device, with a folder of the test's own."""
    async with FlakyTransport(str(tmp_path / "entity")) as transport:
        yield transport


async def all_events(transport: LocalTransport, session: str, **options: Any) -> list[Event]:
    """Every event until the run's last line."""
    return [event async for event in follow.follow(transport, session, poll_s=0.05, **options)]


def facts(events: list[Event]) -> list[tuple[Any, ...]]:
    """What must be the same however a run was followed: cells in their order with key, attempt and state."""
    return [(e.cell, e.key, e.attempt, e.state, len(e.launches)) for e in events if isinstance(e, CellEvent)]


FOUR = [cell(number, sh("echo a", phase="prefill"), sh("sleep 0.1")) for number in (1, 2, 3, 4)]


async def test_a_run_is_started_detached_and_followed_to_its_end(device: FlakyTransport) -> None:
    run = await follow.start(device, plan(*FOUR))
    assert run.state is follow.RunState.RUNNING
    events = await all_events(device, "s1")
    assert facts(events) == [(number, f"key{number}", 1, "ok", 2) for number in (1, 2, 3, 4)]
    (found,) = await follow.runs_on(device)
    assert (found.session_id, found.plan_hash, found.state) == ("s1", "hash1", follow.RunState.FINISHED)
    assert await follow.running(device) is None
    assert (Path(device.root) / "runs/s1/runner.err").read_text() == ""


async def test_a_lost_link_changes_no_row(device: FlakyTransport) -> None:
    await follow.start(device, plan(*FOUR))
    told: list[bool] = []
    device.broken = True

    def on_link(error: TransportError | None) -> None:
        told.append(error is None)

    events = await all_events(device, "s1", on_link=on_link)
    assert facts(events) == [(number, f"key{number}", 1, "ok", 2) for number in (1, 2, 3, 4)]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1)), "no line twice, none lost"
    assert told[:2] == [False, True], "the loss was told, and that it is over"


async def test_a_call_is_made_again_until_the_link_is_back_but_a_missing_file_is_told_at_once(
    device: FlakyTransport, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"whole")
    device.gone = True
    told: list[bool] = []

    def on_link(error: TransportError | None) -> None:
        told.append(error is None)
        device.gone = False

    async def read() -> bytes:
        return await device.read(str(tmp_path / "file"))

    assert await follow.patiently(device, read, on_link) == b"whole"
    assert told == [False, True]
    with pytest.raises(RemoteFileError):
        await follow.patiently(device, lambda: device.read(str(tmp_path / "none")), on_link)


async def test_a_laptop_that_comes_late_sees_the_same(device: FlakyTransport) -> None:
    await follow.start(device, plan(*FOUR))
    first = await all_events(device, "s1")
    async with LocalTransport(device.root) as other:
        assert facts(await all_events(other, "s1")) == facts(first)
        assert (await follow.attach(other, "s1")).state is follow.RunState.FINISHED
        with pytest.raises(UsageError):
            await follow.attach(other, "never-run")


async def test_one_run_at_a_time_and_it_can_be_attached_to_and_stopped(device: FlakyTransport) -> None:
    await follow.start(device, plan(cell(1, sh("sleep 30")), cell(2)))
    with pytest.raises(follow.RunnerBusy) as busy:
        await follow.start(device, plan(cell(1), session="s2"))
    assert busy.value.session_id == "s1"
    found = await follow.running(device)
    assert found is not None
    assert found.session_id == "s1"
    await follow.stop(device, "s1", now=True)
    events = await all_events(device, "s1")
    assert facts(events) == [(1, "key1", 1, "cancelled", 1)]
    assert events[-1].kind is EventKind.STOP


async def test_a_killed_runner_is_reported_and_resumed_without_losing_a_finished_block(device: FlakyTransport) -> None:
    cells = [
        cell(number, sh("sleep 0.2"), block=block, position=place, arm=arm)
        for number, (block, place, arm) in enumerate(
            [(1, 1, "a"), (1, 2, "b"), (2, 1, "b"), (2, 2, "a"), (3, 1, "a"), (3, 2, "b")], 1
        )
    ]
    run = await follow.start(device, plan(*cells))
    assert run.job is not None
    journal = Path(device.root) / "runs/s1/journal"
    await until(lambda: journal.exists() and b" cell n=3 " in journal.read_bytes())
    os.kill(run.job.pid, signal.SIGKILL)
    with pytest.raises(follow.RunnerDied) as died:
        await all_events(device, "s1", silence_s=0.2)
    assert not died.value.rebooted
    flat = parse_plan((Path(device.root) / "runs/s1/plan.flat").read_text())
    left = remaining(flat, parse_journal(journal.read_bytes()), seed=5)
    assert left is not None
    assert [item.block for item in left.cells] == [3, 3, 4, 4]
    assert [(item.attempt, item.number) for item in left.cells if item.block == 4] == [(2, 7), (2, 8)]
    await follow.start(device, left)
    await until(lambda: b" done " in journal.read_bytes())
    cells_done = [event for event in parse_journal(journal.read_bytes()) if isinstance(event, CellEvent)]
    complete = [event for event in cells_done if event.block != 2]
    assert sorted((event.arm, event.state) for event in complete) == [("a", "ok")] * 3 + [("b", "ok")] * 3
    assert remaining(left, parse_journal(journal.read_bytes()), seed=5) is None


async def test_a_stable_failure_is_not_waited_for(device: FlakyTransport) -> None:
    await follow.start(device, plan(cell(1)))

    class Refused(TransportError):
        """A key that will not become right by waiting."""

    async def refuse(path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        raise Refused("wrong key")

    device.read = refuse  # type: ignore[method-assign]
    with pytest.raises(Refused):
        await asyncio.wait_for(all_events(device, "s1"), 10)


async def test_a_session_name_cannot_leave_our_folder(device: FlakyTransport) -> None:
    for name in ("../x", "a/b", "", ".", "a b"):
        with pytest.raises(UsageError):
            follow.run_directory(device, name)
        with pytest.raises(UsageError):
            await follow.start(device, replace(plan(cell(1)), session_id=name))


async def test_a_grouped_order_runs_only_the_cells_that_are_missing(device: FlakyTransport) -> None:
    cells = [cell(number, block=(number - 1) % 3 + 1, arm="ab"[(number - 1) // 3]) for number in range(1, 7)]
    what = plan(*cells)
    await follow.start(device, what)
    events = await all_events(device, "s1")
    upto = next(index for index, event in enumerate(events) if event.kind is EventKind.CELL_START and event.cell == 5)
    left = remaining(what, events[: upto + 1], seed=1)
    assert left is not None
    assert [(item.arm, item.block, item.attempt) for item in left.cells] == [("b", 2, 2), ("b", 3, 1)]
    assert len({item.number for item in left.cells} | {1, 2, 3, 4, 5}) == 7


async def test_the_probe_asks_once_and_names_its_device(device: FlakyTransport) -> None:
    before = device.calls
    snapshot = await probe(device)
    assert device.calls - before == 1
    assert (snapshot.device_spec, snapshot.transport, snapshot.simulated) == ("local", "local", False)
    assert snapshot.taken_at_utc.endswith("+00:00")
    assert snapshot.file("/proc/cpuinfo").ok
    device.gone = True
    with pytest.raises(LinkLost):
        await probe(device)


async def test_a_shell_that_answers_nothing_is_named(device: FlakyTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entity_tui.experiments.probe.script", lambda name: "echo banner only\n")
    with pytest.raises(ProbeFailed):
        await probe(device)


async def test_samples_arrive_while_they_are_taken_and_end_when_asked(device: FlakyTransport) -> None:
    found = [sample async for sample in sample_stream(device, 20, count=5)]
    assert [sample.sequence for sample in found] == [0, 1, 2, 3, 4]
    assert found[-1].mem_available_kb is not None
    async for sample in sample_stream(device, 20, thermal_s=4321.0):
        if sample.sequence == 2:
            break
    await until(lambda: not any(b"\x00432100\x00" in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline")))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
