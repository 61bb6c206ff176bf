"""Public reports about links, recreated on real links: the run belongs to the phone, and the interface never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from entity_tui.experiments.adopt import adopt
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.run import collect
from entity_tui.records.schema import Metric, Row
from entity_tui.records.store import RunStore
from entity_tui.session import Session
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_host import list_devices
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.adb_wire import FIXES, ServerAddress
from entity_tui.transport.base import DeviceState, TransportError
from tests.experiments.live_bed import Bench, on_phone
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.ssh import SshServer
from tests.fixtures.tools import until
from tests.fixtures.wire import Wire

pytestmark = pytest.mark.long
WELL = {"ok", "warmup", "foreign_load", "throttled"}


def shape(rows: tuple[Row, ...]) -> list[tuple[int | None, int | None, str | None, int | None, str]]:
    """What an uninterrupted run and an interrupted one have in common."""
    return [(row.block, row.position, row.arm, row.attempt, row.metric) for row in rows]


def expected(plan: Plan) -> list[tuple[int | None, int | None, str | None, int | None, str]]:
    """The rows an uninterrupted run of the plan has."""
    metrics = {
        "warmup": (Metric.PROMPT_TOK_S, Metric.DECODE_TOK_S),
        "measure": (
            *(Metric.PROMPT_TOK_S, Metric.DECODE_TOK_S, Metric.TTFT_DERIVED_MS),
            *(Metric.DECODE_POWER_W, Metric.DECODE_TOK_PER_W),
        ),
    }
    return [
        (cell.block, cell.position, cell.arm, 1, str(metric)) for cell in plan.cells for metric in metrics[cell.role]
    ]


def cells_done(bench: Bench) -> int:
    return bench.views[-1].cells_done if bench.views else 0


async def test_devlib_55_and_workload_automation_1022_a_link_that_is_gone_costs_nothing(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        plan = bench.runs(1, ["naive", "optimized", "efficiency"])
        task = asyncio.create_task(bench.run(plan))
        await until(lambda: task.done() or cells_done(bench) >= 1, within_s=90)
        await demo_phone.ctl("drop", "6")
        result = await task
    assert result.outcome == "done"
    assert shape(result.rows) == expected(plan)
    assert {row.state for row in result.rows} <= WELL
    assert len(set(shape(result.rows))) == len(result.rows), "none twice"
    assert {view.link for view in bench.views} == {"ready", "lost"}
    assert bench.views[-1].link == "ready"
    assert any("the run goes on on the device" in line.text for line in result.view.log)


@pytest.mark.parametrize("demo_phone", [{"profile": "cmf-phone-1", "speed": 60.0}], indirect=True)
async def test_an_hour_without_the_cable_gives_the_rows_that_a_second_laptop_collects(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path / "first") as bench:
        long_gate = {"minimum_s": 900.0, "limit_s": 1200.0, "sensorless_dwell_s": 0.0}
        plan = bench.runs(1, ["naive", "optimized", "efficiency"], gate=long_gate)
        task = asyncio.create_task(bench.run(plan))
        await until(lambda: task.done() or any(view.current for view in bench.views), within_s=90)
        await demo_phone.ctl("drop", "60")  # 3 600 s of the phone's clock
        result = await task
        with RunStore(tmp_path / "second") as store:
            await adopt(bench.transport, store, result.session_id)
            other = await collect(bench.transport, store, result.session_id)
    assert result.outcome == "done"
    assert {view.link for view in bench.views} == {"ready", "lost"}
    ended = [row.t_end_boot_s for row in result.rows if row.t_end_boot_s is not None]
    assert max(ended) - min(ended) > 2000, "most of the run went by while nobody could see it"
    assert shape(result.rows) == expected(plan)
    assert other.rows == result.rows
    assert other.directory.journal() == result.directory.journal()


async def test_of_two_phones_the_one_that_drops_leaves_the_others_rows_and_screen_alone(
    phones: PhoneFactory, adb_server: AdbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_home: Path
) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb_server.port))
    one, two = await phones("cmf-phone-1", speed=20.0), await phones("flagship-1-3-4", speed=20.0)
    async with (
        on_phone(one, adb_server, tmp_path / "one") as dropping,
        on_phone(two, adb_server, tmp_path / "two") as steady,
    ):
        screen = Session()
        await screen.connect(f"adb:{two.address}")
        states: list[DeviceState] = []
        ticks = screen.telemetry.sequence
        tasks = [asyncio.create_task(bench.run(bench.runs(1, ["naive", "optimized"]))) for bench in (dropping, steady)]
        await until(lambda: all(cells_done(bench) >= 1 for bench in (dropping, steady)), within_s=90)
        await one.ctl("drop", "6")
        while not all(task.done() for task in tasks):
            states.append(screen.view.state)
            await asyncio.sleep(0.1)
        results = [task.result() for task in tasks]
        assert screen.telemetry.sequence > ticks
        await screen.close()
    assert [result.outcome for result in results] == ["done", "done"]
    assert [shape(result.rows) for result in results] == [expected(result.plan) for result in results]
    assert {view.link for view in dropping.views} == {"ready", "lost"}
    assert {view.link for view in steady.views} == {"ready"}
    assert set(states) == {DeviceState.READY}
    assert not any("link" in line.text for line in results[1].view.log)


async def test_android_tools_28_a_phone_that_restarts_ends_the_session_and_a_new_one_is_linked(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        plan = bench.runs(3, ["naive", "optimized"])
        task = asyncio.create_task(bench.run(plan))
        await until(lambda: task.done() or cells_done(bench) >= 1, within_s=90)
        await demo_phone.ctl("reboot", "1")
        result = await task
        assert result.outcome == "device_rebooted"
        lost = [row for row in result.rows if row.state == "device_rebooted"]
        assert lost
        assert all(row.value is None for row in lost)
        await bench.look_again()
        again = await bench.run(bench.runs(1, ["naive"]), continues=result.session_id)
    assert again.outcome == "done"
    assert again.directory.info().continues == result.session_id
    boots = {row.boot_id for row in again.rows} | {row.boot_id for row in result.rows}
    assert len(boots) == 2


async def test_dogu_341_unauthorized_says_what_to_tap_and_absent_says_what_to_plug(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path: Path
) -> None:
    address = ServerAddress("127.0.0.1", adb_server.port)

    async def state() -> DeviceState | None:
        rows = await list_devices(address)
        return next((row.state for row in rows if row.serial == demo_phone.address), None)

    async with on_phone(demo_phone, adb_server, tmp_path) as bench:
        assert await state() is DeviceState.READY
        await demo_phone.ctl("unauthorize")

        async def asks() -> bool:
            return await state() in (DeviceState.UNAUTHORIZED, DeviceState.OFFLINE, DeviceState.AUTHORIZING, None)

        await until(asks, within_s=30)
        await demo_phone.ctl("authorize")

        async def answers() -> bool:
            return await state() is DeviceState.READY

        await until(answers, within_s=30)
        assert (await bench.transport.run(["true"])).ok
    states = (DeviceState.ABSENT, DeviceState.OFFLINE, DeviceState.UNAUTHORIZED, DeviceState.LOST)
    assert len({FIXES[item] for item in states}) == 4
    assert "tap Allow" in FIXES[DeviceState.UNAUTHORIZED]


async def test_asyncssh_321_a_swallowed_ssh_link_trips_within_15_seconds_and_nothing_else_waits(
    ssh_server: SshServer, wires: Callable[[int], Awaitable[Wire]]
) -> None:
    wire = await wires(ssh_server.port)
    loop = asyncio.get_running_loop()
    ticks: list[float] = []

    def frame() -> None:
        ticks.append(loop.time())
        loop.call_later(0.05, frame)

    async with ssh_server.transport(through=wire.port) as link:
        assert (await link.run(["true"])).ok
        wire.clog()
        frame()
        began = loop.time()
        with pytest.raises(TransportError) as caught:
            await link.run(["true"], timeout_s=60.0)
        passed = loop.time() - began
        wire.heal()
    assert passed < 15
    assert caught.value.retry
    assert max(later - earlier for earlier, later in pairwise(ticks)) < 2, "the event loop went on all the while"
