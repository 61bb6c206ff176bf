"""What a real adb server sees when something happens to the phone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

import pytest

from entity_tui.errors import DeviceUnreachable, UsageError
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import need_tool, until
from tests.sim.adb_client import Client


async def connected(phone: DemoPhone, server: AdbServer) -> Client:
    client = Client(need_tool("adb"), server, phone)
    await client.connect()
    return client


def is_state(client: Client, wanted: str) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return await client.state() == wanted

    return check


async def test_a_dropped_phone_is_offline_and_comes_back_on_connect(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    assert (await adb("shell", "true"))[0] == 0
    await demo_phone.ctl("drop", "1")
    await until(is_state(adb, "offline"))

    async def back() -> bool:
        return (await adb.connect()).startswith("connected")

    await until(back)
    assert (await adb("shell", "echo again"))[1] == "again\n"


async def test_a_drop_ends_a_running_command_but_not_a_detached_one(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    await adb("shell", "nohup sleep 9999 >/dev/null 2>&1 </dev/null & echo $! >/data/local/tmp/pid")
    attached = asyncio.create_task(adb("shell", "echo $$ >/data/local/tmp/shell; sleep 9999"))

    async def started() -> bool:
        return (await adb("shell", "cat /data/local/tmp/shell"))[0] == 0

    await until(started)
    await demo_phone.ctl("drop")
    await attached
    await adb.connect()

    async def gone() -> bool:
        return (await adb("shell", "kill -0 $(cat /data/local/tmp/shell)"))[0] != 0

    await until(gone)
    assert (await adb("shell", "kill -0 $(cat /data/local/tmp/pid)"))[0] == 0


async def test_a_frozen_phone_is_still_listed_and_answers_after_the_thaw(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    await demo_phone.ctl("freeze")
    waiting = asyncio.create_task(adb("shell", "echo late"))
    assert await adb.state() == "device"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.5)
    await demo_phone.ctl("thaw")
    assert (await waiting)[1] == "late\n"


async def test_a_slow_link_delays_every_answer(demo_phone: DemoPhone, adb_server: AdbServer) -> None:
    adb = await connected(demo_phone, adb_server)
    await adb("shell", "true")
    await demo_phone.ctl("slow", "300")
    begin = time.monotonic()
    assert (await adb("shell", "echo hi"))[1] == "hi\n"
    assert 0.3 <= time.monotonic() - begin < 3


async def test_a_reboot_changes_the_boot_id_and_the_uptime_and_keeps_the_files(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    ask = "cat /proc/sys/kernel/random/boot_id; read a b </proc/uptime; echo ${a%.*}; cat /data/local/tmp/note; "
    ask += "ps -A -o ARGS | grep -c '[s]leep'"
    await adb("shell", "echo kept >/data/local/tmp/note; nohup sleep 9999 >/dev/null 2>&1 </dev/null &")
    _, before, _ = await adb("shell", ask)
    await demo_phone.ctl("reboot", "0.5")
    await until(is_state(adb, "offline"))

    async def back() -> bool:
        return (await adb.connect()).startswith("connected") and (await adb("shell", "true"))[0] == 0

    await until(back)
    _, after, _ = await adb("shell", ask)
    old, new = before.split(), after.split()
    assert new[0] != old[0]
    assert len(new[0]) == 36
    assert int(new[1]) < int(old[1])
    assert new[2] == "kept"
    assert (old[3], new[3]) == ("1", "0")


async def test_an_unauthorized_computer_is_let_in_once_the_user_allows_it(
    phones: PhoneFactory, adb_server: AdbServer
) -> None:
    phone = await phones(options=("--must-authorize",))
    adb = Client(need_tool("adb"), adb_server, phone)
    assert "failed to authenticate" in await adb.connect()
    assert await adb.state() == "unauthorized"
    await phone.ctl("authorize")
    await until(is_state(adb, "device"))
    assert (await adb("shell", "echo in"))[1] == "in\n"
    await phone.ctl("unauthorize")

    async def out_again() -> bool:
        await adb.connect()
        return await adb.state() == "unauthorized"

    await until(out_again)


async def test_an_adbd_with_the_old_checksums_works_too(phones: PhoneFactory, adb_server: AdbServer) -> None:
    phone = await phones(options=("--old-checksums",))
    adb = await connected(phone, adb_server)
    code, out, _ = await adb("shell", "seq 1 20000 | tail -1")
    assert (code, out) == (0, "20000\n")


async def test_an_offline_core_leaves_the_lists_and_a_mask_of_it_is_refused(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    await demo_phone.ctl("offline-core", "7")
    _, out, _ = await adb("shell", "cat /sys/devices/system/cpu/online; nproc; grep -c ^cpu[0-9] /proc/stat")
    assert out.split() == ["0-6", "7", "7"]
    code, _, err = await adb("shell", "taskset 80 true")
    assert code == 1
    assert "Invalid argument" in err
    await demo_phone.ctl("online-core", "7")
    assert (await adb("shell", "taskset 80 true"))[0] == 0


async def test_the_charger_and_a_forced_status_are_seen_in_the_dumps(
    demo_phone: DemoPhone, adb_server: AdbServer
) -> None:
    adb = await connected(demo_phone, adb_server)
    await demo_phone.ctl("charge", "on")
    await demo_phone.ctl("thermal-status", "3")

    async def seen() -> bool:
        _, out, _ = await adb("shell", "dumpsys battery; dumpsys thermalservice")
        return "USB powered: true" in out and "  status: 2\n" in out and "Thermal Status: 3" in out

    await until(seen)


async def test_two_phones_live_apart(phones: PhoneFactory, adb_server: AdbServer) -> None:
    first, second = await phones("cmf-phone-1"), await phones("octa-a53")
    one, two = await connected(first, adb_server), await connected(second, adb_server)
    await one("shell", "echo mine >/data/local/tmp/x")
    assert (await two("shell", "cat /data/local/tmp/x"))[0] == 1
    await first.ctl("drop", "30")
    await until(is_state(one, "offline"))
    assert (await two("shell", "getprop ro.product.model"))[1] == "Octa A53\n"


async def test_words_that_mean_nothing_are_explained(demo_phone: DemoPhone) -> None:
    with pytest.raises(UsageError, match="unknown word"):
        await demo_phone.ctl("explode")
    with pytest.raises(UsageError, match="usage: offline-core N"):
        await demo_phone.ctl("offline-core", "99")
    status = json.loads(await demo_phone.ctl("status"))
    assert status["simulated"] is True
    assert status["clock_factor"] == 20


async def test_a_phone_that_has_gone_is_unreachable_and_leaves_no_folder(phones: PhoneFactory) -> None:
    phone = await phones()
    await phone.ctl("off")

    async def gone() -> bool:
        return not phone.root.exists()

    await until(gone)
    with pytest.raises(DeviceUnreachable):
        await phone.ctl("status")
