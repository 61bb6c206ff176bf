"""What a link says of itself over time: lost and back without a key, a reboot told from a cut, a freeze from both."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect, list_devices
from entity_tui.transport.adb_server import AdbServer, free_port
from entity_tui.transport.base import DeviceState, LinkLost, NotReady, RemoteFileError, Transport
from entity_tui.transport.local import LocalTransport
from tests.contract.conftest import Faulty
from tests.fixtures.tools import missing, need_tool, until

S = DeviceState


class Follower:
    """Collects the states of a link for as long as the block lasts."""

    def __init__(self, link: Transport) -> None:
        self.link = link
        self.seen: list[DeviceState] = []

    async def __aenter__(self) -> Follower:
        self._task = asyncio.ensure_future(self._follow())
        return self

    async def _follow(self) -> None:
        async for state in self.link.states():
            self.seen.append(state)

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def reach(self, *wanted: DeviceState, within_s: float = 25.0) -> DeviceState:
        """Wait until the newest state is one of `wanted`."""

        def reached() -> bool:
            assert not self._task.done(), self._task
            return bool(self.seen) and self.seen[-1] in wanted

        await until(reached, within_s=within_s)
        return self.seen[-1]


async def test_this_computer_is_ready_and_stays_so(tmp_path: Path, record_property: Any) -> None:
    record_property("link", "local")
    async with LocalTransport(root=str(tmp_path)) as link, Follower(link) as follower:
        await follower.reach(S.READY)
        assert follower.seen == [S.READY]


@pytest.mark.links("ssh", "adb", "adb-new")
async def test_a_link_that_is_cut_comes_back_by_itself(faulty: Faulty) -> None:
    async with Follower(faulty.link) as follower:
        await follower.reach(S.READY)
        faulty.wire.cut(refuse=True)
        await follower.reach(S.LOST, S.OFFLINE, S.STALE)
        faulty.wire.heal()
        await follower.reach(S.READY)
        assert S.REBOOTED not in follower.seen
        assert (await faulty.link.run(["echo", "back"])).stdout == b"back\n"


@pytest.mark.links("ssh", "adb", "adb-new")
async def test_a_device_that_freezes_is_stale_though_it_is_listed(faulty: Faulty) -> None:
    faulty.link.beat_deadline_s = 1.0  # type: ignore[attr-defined]
    async with Follower(faulty.link) as follower:
        await follower.reach(S.READY)
        assert faulty.link.link_ms is not None  # type: ignore[attr-defined]
        faulty.wire.clog()
        await follower.reach(S.STALE)
        assert faulty.link.link_ms is None  # type: ignore[attr-defined]
        faulty.wire.heal()
        await follower.reach(S.READY)


async def test_a_host_that_rebooted_behind_ssh_is_told_by_its_boot_id(
    ssh_servers: Any, tmp_path: Path, record_property: Any
) -> None:
    record_property("link", "ssh")
    if os.geteuid() != 0:
        missing("only root can give sshd's children another boot id")
    boot, command = tmp_path / "boot_id", tmp_path / "in-another-boot"
    boot.write_text("11111111-0000-4000-8000-000000000000\n")
    command.write_text(
        f"#!/bin/sh\nexec {need_tool('unshare')} -m sh -c 'mount --bind {boot} /proc/sys/kernel/random/boot_id && "
        'exec sh -c "$SSH_ORIGINAL_COMMAND"\'\n'
    )
    command.chmod(0o755)
    server = ssh_servers(extra=f"ForceCommand {command}\n")
    async with server.transport() as link, Follower(link) as follower:
        await follower.reach(S.READY)
        assert link.boot_id.startswith("1111")
        server.stop()
        await follower.reach(S.OFFLINE, S.LOST)
        boot.write_text("22222222-0000-4000-8000-000000000000\n")
        server.start()
        await until(lambda: S.REBOOTED in follower.seen and follower.seen[-1] is S.READY)
        assert follower.seen[-2:] == [S.REBOOTED, S.READY]
        assert link.boot_id.startswith("2222")


@pytest.mark.links("ssh", "adb", "adb-new")
async def test_a_forward_keeps_its_port_over_a_cut(faulty: Faulty, far: str) -> None:
    port = free_port()
    page = ["toybox", "nc", "-s", "127.0.0.1", "-p", str(port), "-L", "sh", "-c", "read -r l; echo from the device"]
    job = await faulty.direct.spawn(page, directory=far, stdout="/dev/null", stderr=f"{far}/words")
    async with faulty.link.forward(port) as here:

        async def served() -> bool:
            return b"from the device" in await fetch(here)

        await until(served)
        faulty.wire.cut(refuse=True)
        assert await fetch(here) == b""
        await faulty.back()
        assert await served()
    assert await faulty.direct.signal(job, 15)


async def fetch(port: int) -> bytes:
    """What comes back from a loopback port; nothing when the connection is refused behind it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(OSError):
            writer.write(b"GET\n")
            return await asyncio.wait_for(reader.read(), 10)
        return b""
    finally:
        writer.close()


@pytest.fixture
async def own_phone(phones: Any, adb_server: AdbServer, record_property: Any) -> Any:
    """A demo phone of the test's own, connected to the session's server."""
    record_property("link", "adb")
    phone = await phones("cmf-phone-1", speed=20.0)
    await connect(adb_server.address, phone.address)
    return phone


def to(phone: Any, server: AdbServer) -> AdbTransport:
    return AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True)


async def test_a_reboot_is_told_from_a_cut_by_the_boot_id(own_phone: Any, adb_server: AdbServer) -> None:
    async with to(own_phone, adb_server) as link, Follower(link) as follower:
        await follower.reach(S.READY)
        before = link.boot_id
        await own_phone.ctl("reboot", "1")
        await until(lambda: S.REBOOTED in follower.seen and follower.seen[-1] is S.READY)
        assert follower.seen[-2:] == [S.REBOOTED, S.READY]
        assert link.boot_id != before


async def test_a_frozen_phone_is_stale_and_thaws(own_phone: Any, adb_server: AdbServer) -> None:
    link = to(own_phone, adb_server)
    link.beat_deadline_s = 1.0
    async with link, Follower(link) as follower:
        await follower.reach(S.READY)
        await own_phone.ctl("freeze")
        await follower.reach(S.STALE)
        assert (await link.look()).state is S.READY  # type: ignore[union-attr]
        await own_phone.ctl("thaw")
        await follower.reach(S.READY)


async def test_a_revoked_phone_says_what_to_tap_and_goes_on_once_allowed(own_phone: Any, adb_server: AdbServer) -> None:
    async with to(own_phone, adb_server) as link, Follower(link) as follower:
        await follower.reach(S.READY)
        await own_phone.ctl("unauthorize")
        await follower.reach(S.UNAUTHORIZED, S.AUTHORIZING)
        with pytest.raises(NotReady) as caught:
            await link.run(["true"])
        assert caught.value.state in (S.UNAUTHORIZED, S.AUTHORIZING)
        assert "Allow" in caught.value.fix
        await own_phone.ctl("authorize")
        await follower.reach(S.READY)


async def test_a_full_phone_says_no_space_left_and_names_nothing(
    own_phone: Any, adb_server: AdbServer, tmp_path: Path
) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(4 << 20))
    async with to(own_phone, adb_server) as link:
        assert (await link.run(["mkdir", "-p", link.root])).ok
        await own_phone.ctl("fill-disk")
        with pytest.raises(RemoteFileError) as caught:
            await link.push(big, f"{link.root}/big.bin")
        assert "No space left" in caught.value.detail
        assert not (await link.run(["test", "-e", f"{link.root}/big.bin"])).ok
        await own_phone.ctl("free-disk")
        assert (await link.push(big, f"{link.root}/big.bin")).size_bytes == 4 << 20


@pytest.fixture
async def own_server(tmp_path_factory: pytest.TempPathFactory, record_property: Any) -> AsyncIterator[AdbServer]:
    """An adb server of the test's own, to be ended in the middle of things."""
    record_property("link", "adb")
    async with AdbServer(need_tool("adb"), home=tmp_path_factory.mktemp("adb-own")) as server:
        yield server


async def test_an_adb_server_that_ends_and_returns_under_us_is_survived(
    phones: Callable[..., Any], own_server: AdbServer
) -> None:
    phone = await phones("cmf-phone-1", speed=20.0)
    async with to(phone, own_server) as link, Follower(link) as follower:
        await follower.reach(S.READY)
        await own_server.stop()
        with pytest.raises(LinkLost):
            await link.run(["true"])
        await follower.reach(S.LOST)
        await own_server.start()
        assert await list_devices(own_server.address) == ()
        await follower.reach(S.READY)
        assert S.REBOOTED not in follower.seen


async def test_the_users_own_server_is_started_again_when_it_went(
    phones: Callable[..., Any], own_server: AdbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in own_server.environment.items():
        monkeypatch.setenv(name, value)
    phone = await phones("cmf-phone-1", speed=20.0)
    async with AdbTransport(phone.address) as link, Follower(link) as follower:
        assert link.server == own_server.address
        await follower.reach(S.READY)
        await own_server.kill()
        await until(lambda: len(follower.seen) > 1 and follower.seen[-1] is S.READY)
        assert (await link.run(["echo", "again"])).ok
