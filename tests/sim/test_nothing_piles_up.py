"""A phone that is used, dropped and used again keeps no descriptor, task, process or folder."""

from __future__ import annotations

import asyncio
import os

import pytest

from entity_tui.errors import UsageError
from entity_tui.sim.enclosure import EnclosureKind
from entity_tui.sim.launch import DemoPhone
from entity_tui.sim.phone import Phone
from entity_tui.sim.profile import load_image
from entity_tui.transport.adb_server import AdbServer
from tests.fixtures.tools import need_tool, until
from tests.sim.adb_client import Client
from tests.sim.inside_phone import running, sh


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


async def exercise(adb: Client, rounds: int) -> None:
    """Commands, streams cut by drops, files, masks; the phone idle at the end."""
    for turn in range(rounds):
        await asyncio.gather(
            adb("shell", "seq 1 5000 >/data/local/tmp/n; cat /data/local/tmp/n"),
            adb("shell", "taskset f0 sleep 1"),
            adb("shell", "cat /proc/cpuinfo | head -2; exit 3"),
            adb("exec-out", "cat /data/local/tmp/n"),
        )
        stream = asyncio.create_task(adb("shell", "while :; do echo x; sleep 1; done"))
        if turn % 2:
            await adb.phone.ctl("drop")
        await adb.connect()
        await stream


async def test_descriptors_and_processes_are_the_same_after_many_drops(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = Client(need_tool("adb"), adb_server, demo_phone)
    await adb.connect()
    await exercise(adb, 2)
    await adb("disconnect", demo_phone.address, serial=False)

    async def idle() -> bool:
        status = await demo_phone.ctl("status")
        return '"links": 0' in status and '"processes": 0' in status

    await until(idle)
    before = descriptors(demo_phone.pid)
    await adb.connect()
    await exercise(adb, 4)
    await adb("disconnect", demo_phone.address, serial=False)
    await until(idle)
    assert descriptors(demo_phone.pid) <= before + 1


@pytest.mark.parametrize("kind", [EnclosureKind.ROOT, EnclosureKind.USER])
async def test_both_kinds_of_namespaces_shut_the_phone_off_alike(kind: EnclosureKind) -> None:
    if kind is EnclosureKind.ROOT and os.getuid() != 0:
        pytest.skip("only root can map two users")
    async with running(enclosure=kind) as phone:
        code, out = await sh(
            phone,
            "id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; "
            "taskset c0 grep Cpus_allowed_list /proc/self/status; "
            "echo x >/sys/y; echo x >/system/bin/sh; ls /proc/1/root; "
            "ls /home; cat /proc/1/environ | wc -c",
        )
    lines = out.splitlines()
    assert lines[0] == "2000"
    assert lines[1:3] == ["CapEff:\t0000000000000000", "NoNewPrivs:\t1"]
    assert lines[3].split() == ["Cpus_allowed_list:", "6-7"]
    refusals = [line for line in lines[4:] if "denied" in line or "ead-only" in line or "not permitted" in line]
    assert len(refusals) == 4, out
    assert "No such file" in out
    assert code == 0


async def test_a_phone_leaves_no_folder_and_no_process() -> None:
    async with running() as phone:
        folder, init = phone.folder, phone.enclosure.pid
        await sh(phone, "nohup sleep 1000 >/dev/null 2>&1 </dev/null & true")
        assert folder.exists()
    assert not folder.exists()

    def gone() -> bool:
        return not os.path.exists(f"/proc/{init}")

    await until(gone)


async def test_a_port_in_use_and_a_broken_clock_factor_are_explained() -> None:
    async with running() as phone:
        port = int(phone.adbd.address.rpartition(":")[2])
        other = Phone(load_image("octa-a53"))
        with pytest.raises(UsageError, match=f"port {port}"):
            await other.start(port)
        await other.stop()
        assert not other.folder.exists()
    with pytest.raises(UsageError, match=r"2\.5 times"):
        Phone(load_image("octa-a53"), speed=2.5)


async def test_a_killed_phones_folder_is_swept_by_the_next_one() -> None:
    async with running() as witness:
        left = witness.folder.parent / "entity-sim-left-behind"
        left.mkdir()
        dead = await asyncio.create_subprocess_exec("true")
        await dead.wait()
        (left / "pid").write_text(str(dead.pid))
        async with running():
            assert not left.exists()
            assert witness.folder.exists()
