"""The adb server as a stranger: silent, gone, talking nonsense, or a private one of ours that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entity_tui.transport import adb_host, adb_wire
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import AdbDevice, QrPairing, connect, disconnect, list_devices, pair, track_devices
from entity_tui.transport.adb_server import AdbServer, ensure_server, find_adb, free_port
from entity_tui.transport.adb_wire import AdbRefused, AdbServerAbsent, ServerAddress, query
from entity_tui.transport.base import DeviceState, LinkLost, NotReady, TransportError, Unsupported
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import need_tool, until
from tests.transport.fake_adb_server import FakeServer, okay

Answer = Callable[[str], bytes]


async def test_nobody_there_is_told_apart_from_every_other_trouble() -> None:
    with pytest.raises(AdbServerAbsent) as caught:
        await list_devices(ServerAddress("127.0.0.1", free_port()))
    assert "adb start-server" in caught.value.fix


async def test_a_server_that_accepts_and_stays_silent_costs_the_deadline_only(record_property: Any) -> None:
    record_property("link", "adb")
    async with FakeServer({"host:": b""}).running() as address:
        began = time.monotonic()
        with pytest.raises(LinkLost):
            await query(address, "host:version", timeout_s=0.3)
        assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"OKAYzzzz", b"OKAY00ffshort", b"\x00" * 64, b"FAILxyz!", b"OKAY-001"],
)
async def test_a_server_that_is_no_adb_is_a_lost_link_not_a_crash(answer: bytes) -> None:
    async with FakeServer({"host:": answer}).running() as address:
        with pytest.raises(TransportError):
            await query(address, "host:version", timeout_s=0.3)


@pytest.mark.parametrize(
    ("row", "state", "words"),
    [
        ("x offline transport_id:1", DeviceState.OFFLINE, "again"),
        ("x unauthorized transport_id:1", DeviceState.UNAUTHORIZED, "tap Allow"),
        ("x authorizing transport_id:1", DeviceState.AUTHORIZING, "Allow"),
        ("x recovery product:a model:b device:c transport_id:1", DeviceState.RECOVERY, "Reboot system now"),
        ("x sideload transport_id:1", DeviceState.SIDELOAD, "reboot"),
        ("x no permissions (user in plugdev group); see [http://x] transport_id:1", DeviceState.NO_PERMISSION, "udev"),
        ("other device transport_id:1", DeviceState.ABSENT, "Plug the phone in"),
    ],
)
async def test_a_phone_that_cannot_be_used_says_why_and_what_to_do(
    row: str, state: DeviceState, words: str, record_property: Any
) -> None:
    record_property("link", "adb")
    server = FakeServer({"host:version": okay("0029"), "host:devices-l": okay(row + "\n")})
    async with server.running() as address:
        link = AdbTransport("x", address.host, address.port)
        with pytest.raises(NotReady) as caught:
            await link.connect()
        assert caught.value.state is state
        assert words in caught.value.fix
        assert await link.listed_state() is state


async def test_a_phone_too_old_for_the_shell_protocol_is_refused() -> None:
    rows = okay("x device transport_id:1\n")
    server = FakeServer({"host:devices-l": rows, "host-serial:x:features": okay("cmd,stat_v2")})
    async with server.running() as address:
        with pytest.raises(Unsupported) as caught:
            await AdbTransport("x", address.host, address.port).connect()
        assert "Android 7" in caught.value.fix


async def test_only_the_users_own_server_is_ever_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ServerAddress] = []

    async def note(server: ServerAddress) -> int:
        started.append(server)
        raise AdbServerAbsent("none")

    monkeypatch.setattr("entity_tui.transport.adb.ensure_server", note)
    with pytest.raises(AdbServerAbsent):
        await AdbTransport("x", "127.0.0.1", free_port()).connect()
    assert started == []
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(free_port()))
    with pytest.raises(AdbServerAbsent):
        await AdbTransport("x").connect()
    assert started == [ServerAddress.default()]


async def test_a_connect_that_failed_is_an_error_though_the_server_says_okay() -> None:
    words = "failed to connect to '192.0.2.1:5555': Connection refused"
    async with FakeServer({"host:connect:": okay(words)}).running() as address:
        with pytest.raises(AdbRefused) as caught:
            await connect(address, "192.0.2.1:5555")
        assert caught.value.detail == words
        assert caught.value.retry


async def test_pairing_speaks_to_the_server_and_reads_its_words() -> None:
    server = FakeServer({"host:pair:123456:192.0.2.1:37001": okay("Successfully paired to 192.0.2.1:37001 [guid=x]")})
    async with server.running() as address:
        assert "paired" in await pair(address, "192.0.2.1:37001", "123456")
        server.answers = {"host:pair:": okay("Failed: Wrong password or connection was dropped.")}
        with pytest.raises(AdbRefused) as caught:
            await pair(address, "192.0.2.1:37001", "000000")
        assert "Wrong password" in caught.value.detail
        server.answers = {"host:pair:": b"OKAYFAIL0020Failed: Unable to start pairing."}
        with pytest.raises(AdbRefused):
            await pair(address, "192.0.2.1:37001", "000000")


async def test_a_server_too_old_to_pair_says_so(adb_server: AdbServer) -> None:
    if "unknown" not in await _words(adb_server):
        return  # this distribution's adb is new enough
    with pytest.raises(Unsupported) as caught:
        await pair(adb_server.address, "127.0.0.1:1", "123456")
    assert "platform-tools 30" in caught.value.fix


async def _words(server: AdbServer) -> str:
    try:
        return await query(server.address, "host:mdns:services")
    except AdbRefused as error:
        return error.detail


async def test_a_phone_that_scanned_the_code_is_found_by_its_name() -> None:
    pairing = QrPairing("entity-0a1b2c3d", "secret")
    assert pairing.payload == "WIFI:T:ADB;S:entity-0a1b2c3d;P:secret;;"
    text = (
        "adb-0015725-abcdef\t_adb-tls-connect._tcp\t192.0.2.9:41001\n"
        "entity-0a1b2c3d\t_adb-tls-pairing._tcp\t192.0.2.9:37123\n"
    )
    async with FakeServer({"host:mdns:services": okay(text)}).running() as address:
        assert await adb_host.find_pairing(address, pairing) == "192.0.2.9:37123"
        assert await adb_host.find_pairing(address, QrPairing.fresh()) is None
    assert QrPairing.fresh() != QrPairing.fresh()


async def test_names_that_a_hostile_server_lists_stay_data() -> None:
    evil = "\x1b[2Jx device model:\x1b]0;owned\x07 transport_id:1\n../../etc device transport_id:2\n"
    async with FakeServer({"host:devices-l": okay(evil)}).running() as address:
        rows = await list_devices(address)
    assert all(isinstance(row, AdbDevice) and row.state is DeviceState.READY for row in rows)


@pytest.mark.parametrize(
    "junk", ["\x0b", "\x0c", "\r", "\x1c", "\x85", "\u2028", " ", "\t", "\x1b[2J", " transport_id:9 "]
)
async def test_a_phones_name_cannot_add_a_row_or_lose_its_own(junk: str) -> None:
    text = f"0015725 device product:a{junk}evil device model:b{junk}c device:d transport_id:1\nother offline\n"
    async with FakeServer({"host:devices-l": okay(text)}).running() as address:
        rows = await list_devices(address)
    assert [(row.serial, row.state) for row in rows] == [("0015725", DeviceState.READY), ("other", DeviceState.OFFLINE)]
    assert rows[0].transport_id == "1"


async def test_a_private_server_that_was_killed_comes_back_with_the_phone(phones: PhoneFactory) -> None:
    phone = await phones("cmf-phone-1", speed=20.0)
    async with AdbServer() as server:
        await connect(server.address, phone.address)
        async with AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True, private=server) as link:
            assert (await link.run(["echo", "before"])).text == "before\n"
            assert server._process is not None
            first = server._process.pid
            os.kill(first, 9)
            await server._process.wait()
            with pytest.raises(LinkLost):
                await link.run(["true"])
            await asyncio.gather(link.connect(), link.connect())
            assert (await link.run(["echo", "after"])).text == "after\n"
            assert server._process.pid != first


async def test_a_private_server_answers_on_its_own_port_and_leaves_nothing() -> None:
    server = AdbServer(need_tool("adb"))
    async with server:
        assert server.port != 5037
        assert await ensure_server(server.address) == 41
        assert await list_devices(server.address) == ()
        home, environment = server.home, server.environment
        assert environment["HOME"] == str(home)
        assert environment["ANDROID_ADB_SERVER_PORT"] == str(server.port)
        assert "ANDROID_ADB_SERVER_ADDRESS" not in environment
    with pytest.raises(AdbServerAbsent):
        await list_devices(server.address)
    assert not home.exists()


async def test_a_private_server_listens_on_loopback_only(adb_server: AdbServer) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = [row[1] for row in listening if row[3] == "0A" and row[1].endswith(f":{adb_server.port:04X}")]
    assert ours == [f"0100007F:{adb_server.port:04X}"]


async def test_the_adb_program_is_found_where_path_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.path.basename(await find_adb()) == "adb"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("adbutils.adb_path", lambda: _no_adb())
    with pytest.raises(Unsupported) as caught:
        await find_adb()
    assert "apt install adb" in caught.value.fix


def _no_adb() -> str:
    import adbutils

    raise adbutils.AdbError("No adb exe could be found")


async def test_changes_are_tracked_as_whole_lists(phones: Any, adb_server: AdbServer) -> None:
    seen: list[dict[str, DeviceState]] = []

    async def follow() -> None:
        async for rows in track_devices(adb_server.address):
            seen.append({row.serial: row.state for row in rows})

    following = asyncio.ensure_future(follow())
    try:
        phone = await phones("cmf-phone-1", speed=20.0)
        await connect(adb_server.address, phone.address)
        await until(lambda: any(rows.get(phone.address) is DeviceState.READY for rows in seen))
        assert await disconnect(adb_server.address, phone.address)
        await until(lambda: phone.address not in seen[-1])
        assert not await disconnect(adb_server.address, phone.address)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_request_too_long_for_the_wire_is_refused_here(adb_server: AdbServer) -> None:
    with pytest.raises(AdbRefused):
        await query(adb_server.address, "host:" + "x" * adb_wire.REQUEST_LIMIT_BYTES)
