"""Pairing from the picker: a QR code of one use, taken away again, and clear words where no phone can be found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entity_tui.errors import UsageError
from entity_tui.pairing import pair_by_qr
from entity_tui.screens.pairing_screen import PairingScreen
from entity_tui.transport.adb_wire import ServerAddress
from entity_tui.transport.qr import qr_lines
from tests.fixtures.tools import until
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import StagedSession
from tests.transport.fake_adb_server import FakeServer, okay

Reach = Callable[[ServerAddress], None]


class Announcing(FakeServer):
    """An adb server whose mDNS finds the phone that scanned the code, once there is one."""

    def __init__(self) -> None:
        super().__init__({"host:version": okay("0029"), "host:mdns:services": okay("")})

    def scanned(self, payload: str) -> None:
        """A phone read the code."""
        name = payload.split("S:")[1].split(";")[0]
        password = payload.split("P:")[1].split(";")[0]
        self.answers["host:mdns:services"] = okay(f"{name}\t_adb-tls-pairing._tcp\t192.0.2.9:37123\n")
        self.answers[f"host:pair:{password}:192.0.2.9:37123"] = okay("Successfully paired to 192.0.2.9:37123")


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> Reach:
    """Make an address the adb server of this computer."""

    def use(address: ServerAddress) -> None:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(address.port))

    return use


async def test_a_phone_that_scans_the_code_is_paired_with_its_password(reach: Reach) -> None:
    server = Announcing()
    async with server.running() as address:
        reach(address)
        words = await pair_by_qr(server.scanned, pause_s=0.01)
    assert words.startswith("Successfully paired")
    assert sum(request.startswith("host:pair:") for request in server.asked) == 1


async def test_nobody_scanning_it_ends_with_what_to_do(reach: Reach) -> None:
    async with Announcing().running() as address:
        reach(address)
        with pytest.raises(UsageError) as caught:
            await pair_by_qr(lambda payload: None, wait_s=0.03, pause_s=0.01)
    assert "entity-tui pair HOST:PORT CODE" in caught.value.fix


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_picker_shows_the_code_and_takes_it_away(
    stage: Stage, reach: Reach, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    payloads: list[str] = []
    draw = PairingScreen._draw
    monkeypatch.setattr(PairingScreen, "_draw", lambda self, text: (payloads.append(text), draw(self, text))[1])
    async with Announcing().running() as address, stage(StagedSession(), "picker", size) as (app, pilot):
        reach(address)
        await pilot.press("P", "enter")
        await until(lambda: bool(payloads) and "Pair device with QR code" in page(app))
        shown = page(app)
        assert all(row.strip() in shown for row in qr_lines(payloads[0]))
        assert "Pair device with QR code" in shown
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, PairingScreen)


async def test_a_terminal_too_small_for_the_code_names_the_command(stage: Stage, reach: Reach) -> None:
    async with Announcing().running() as address, stage(StagedSession(), "picker", (60, 18)) as (app, pilot):
        reach(address)
        await pilot.press("P", "enter")
        await until(lambda: "entity-tui pair --qr" in page(app))


async def test_a_server_that_cannot_look_for_phones_says_so(stage: Stage, reach: Reach) -> None:
    old = FakeServer({"host:version": okay("0029")})
    async with old.running() as address, stage(StagedSession(), "picker", (80, 24)) as (app, pilot):
        reach(address)
        await pilot.press("P", "enter")
        await until(lambda: isinstance(app.screen, PairingScreen) and "asking" not in page(app))
        assert "nope" in page(app) or "platform-tools" in page(app), page(app)
