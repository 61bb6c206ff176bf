"""The agent over real links: adb to a demo phone, SSH to a real server, and a real engine on this computer."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.experiments import follow
from entity_tui.experiments.flatplan import GatePlan, GateSensor, Launch, RunnerPlan, SampleNode
from entity_tui.experiments.probe import probe, sample_stream
from entity_tui.records.journal import CellEvent, EventKind, GateOutcome
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Transport
from entity_tui.transport.local import LocalTransport
from tests.agent.runs import cell, plan, sh
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.ssh import SshServer

ENGINE = "/data/local/tmp/llama.cpp/llama-bench"
TEMP = "/sys/class/power_supply/battery/temp"


@pytest.fixture
async def phone(phones: PhoneFactory, adb_server: AdbServer) -> AsyncIterator[AdbTransport]:
    """A demo phone over a real adb server, its clock at 20 times ours."""
    demo = await phones("cmf-phone-1", speed=20.0)
    async with AdbTransport(demo.address, "127.0.0.1", adb_server.port, simulated=True) as transport:
        yield transport


async def test_a_phone_is_read_whole_in_one_probe(phone: AdbTransport) -> None:
    snapshot = await probe(phone)
    assert snapshot.origin == ""
    assert snapshot.simulated
    assert snapshot.file("/proc/cpuinfo").ok
    assert snapshot.command("dumpsys battery").ok
    assert snapshot.command("dumpsys thermalservice").ok
    assert snapshot.command("id").ok
    assert snapshot.props["ro.product.model"]
    facts = read_facts(snapshot)
    assert [len(cluster.cpus) for cluster in facts.topology.clusters] == [4, 4]
    assert facts.battery.temperature_c is not None


async def test_a_phones_samples_carry_clocks_battery_and_the_thermal_service(phone: AdbTransport) -> None:
    found = [sample async for sample in sample_stream(phone, 10, count=12)]
    assert [sample.sequence for sample in found] == list(range(12))
    assert found[-1].t_boot_s - found[0].t_boot_s > 8, "the phone's clock runs 20 times as fast as ours"
    last = found[-1]
    assert len(last.freq_khz) == 2
    assert last.current_raw is not None
    assert last.battery_status == "Discharging"
    assert "Current temperatures from HAL" in last.commands["dumpsys thermalservice"].text


def phone_plan(model: str) -> RunnerPlan:
    """Two cells on two masks, behind a real gate."""
    launches = [
        Launch(phase, (ENGINE, "-m", model, "-t", "4", "-r", "1", "-o", "jsonl", *size), 4, mask)
        for mask in ("f0", "f")
        for phase, size in (("prefill", ("-p", "256", "-n", "0")), ("decode", ("-p", "0", "-n", "64")))
    ]
    gate = GatePlan(limit_c=40.0, sensors=(GateSensor(TEMP, 10),), minimum_s=15)
    nodes = tuple(SampleNode(name, f"/sys/class/power_supply/battery/{name}") for name in ("current_now", "status"))
    cells = (cell(1, *launches[:2], arm="optimized"), cell(2, *launches[2:], arm="efficiency"))
    return plan(*cells, gate=gate, nodes=nodes, heartbeat_s=5.0, battery_min_pct=15, free_min_mb=1)


async def test_a_run_on_a_phone_reads_its_masks_back_and_outlives_its_laptop(
    phone: AdbTransport, smollm2: Path
) -> None:
    model = f"{phone.root}/models/{smollm2.name}"
    await phone.run(["mkdir", "-p", f"{phone.root}/models"])
    await phone.push(smollm2, model, verify=False)
    await follow.start(phone, phone_plan(model))
    async for event in follow.follow(phone, "s1"):
        if event.kind is EventKind.LAUNCH:
            break
    await phone.close()
    await phone.connect()
    found = await follow.attach(phone, "s1")
    assert found.session_id == "s1"
    events = [event async for event in follow.follow(phone, "s1")]
    cells = [event for event in events if isinstance(event, CellEvent)]
    assert [(event.arm, event.state) for event in cells] == [("optimized", "ok"), ("efficiency", "ok")]
    for event, mask in zip(cells, ("f0", "f"), strict=True):
        assert event.gate is not None
        assert (event.gate.outcome, event.gate.temp_source) == (GateOutcome.PASSED, TEMP)
        assert event.gate.wait_s >= 15
        assert [launch.mask_applied for launch in event.launches] == [mask, mask]
        assert all(launch.mask_ok for launch in event.launches)
    samples = await phone.read(f"{phone.root}/runs/s1/cells/1.1/decode.samples")
    assert b"|Discharging" in samples


@pytest.mark.parametrize("kind", ["local", "ssh"])
async def test_a_real_engine_is_measured_on_this_computer(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, x86_engine: Path, smollm2: Path
) -> None:
    if kind == "ssh":
        server: SshServer = request.getfixturevalue("ssh_server")
        link: Transport = server.transport(root=str(tmp_path / "root"))
    else:
        link = LocalTransport(str(tmp_path / "root"))
    cpu = max(os.sched_getaffinity(0))
    argv = (
        str(x86_engine / "llama-bench"),
        "-m",
        str(smollm2),
        "-t",
        "1",
        "-r",
        "1",
        "-o",
        "jsonl",
        "-p",
        "0",
        "-n",
        "8",
    )
    launches = (Launch("decode", argv, 1), Launch("decode", argv, 1, f"{1 << cpu:x}"))
    async with link:
        await follow.start(link, plan(cell(1, launches[0]), cell(2, launches[1])))
        events = [event async for event in follow.follow(link, "s1", poll_s=0.1)]
        output = (await link.read(f"{link.root}/runs/s1/cells/2.1/decode.out")).decode()
    cells = [event for event in events if isinstance(event, CellEvent)]
    assert [event.state for event in cells] == ["ok", "ok"]
    assert '"avg_ts"' in output
    assert cells[1].launches[0].mask_applied == f"{1 << cpu:x}"
    assert cells[1].launches[0].threads_seen is not None
    assert set(cells[1].launches[0].cpu_ticks_by_cpu) == {cpu}


async def test_a_link_over_ssh_is_probed_and_sampled(ssh_server: SshServer) -> None:
    async with ssh_server.transport() as link:
        snapshot = await probe(link)
        assert snapshot.file("/proc/cpuinfo").ok
        found = [sample async for sample in sample_stream(link, 20, count=4)]
        assert [sample.sequence for sample in found] == [0, 1, 2, 3]
        run = await follow.start(link, plan(cell(1, sh("echo over ssh"))))
        assert run.job is not None
        events = [event async for event in follow.follow(link, "s1", poll_s=0.1)]
        assert events[-1].kind is EventKind.DONE
