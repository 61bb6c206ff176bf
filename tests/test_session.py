"""A session over real devices: this computer, and a phone that goes and comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entity_tui.errors import EntityError
from entity_tui.session import Session
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import DeviceState
from tests.fixtures.tools import until


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """A session that is closed at the end."""
    made = Session()
    yield made
    await made.close()


async def test_this_computer_is_read_and_sampled(session: Session) -> None:
    await session.connect("local")
    await until(lambda: session.telemetry.sequence >= 3)
    view = session.view
    assert view.state is DeviceState.READY
    assert view.facts is not None
    assert view.facts.topology.cores
    assert view.live is not None
    assert view.live.values["mem_available_mb"] is not None
    assert not view.simulated
    assert session.telemetry.series("busy_pct.0") is not None


async def test_a_paused_session_stores_nothing_and_samples_on(session: Session) -> None:
    await session.connect("local")
    await until(lambda: session.telemetry.sequence >= 2)
    session.paused = True
    stored, seen = session.telemetry.sequence, session.view.sequence
    await until(lambda: session.view.sequence > seen + 3)
    assert session.telemetry.sequence == stored


async def test_a_device_that_cannot_be_reached_says_why_in_the_view(
    session: Session, adb_server: AdbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb_server.port))
    with pytest.raises(EntityError):
        await session.connect("adb:no-such-serial")
    assert session.view.state is DeviceState.ABSENT
    assert session.view.fix


async def test_losing_and_regaining_the_phone_needs_no_key(
    session: Session, adb_server: AdbServer, demo_phone: DemoPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb_server.port))
    await session.connect(f"adb:{demo_phone.address}")
    assert session.view.simulated, "a demo phone reached by its plain address says what it is"
    await until(lambda: session.telemetry.sequence >= 3)
    await demo_phone.ctl("drop", "2")
    await until(lambda: session.view.state is not DeviceState.READY, within_s=15)
    assert "lost" in session.view.words or session.view.state is not DeviceState.READY
    await until(lambda: session.view.state is DeviceState.READY, within_s=40)
    stored = session.telemetry.sequence
    await until(lambda: session.telemetry.sequence > stored + 2, within_s=20)
    assert any("back, lost since" in line.text for line in session.log)


async def test_a_session_that_only_looks_starts_nothing(session: Session) -> None:
    session.read_only = True
    await session.connect("local")
    with pytest.raises(EntityError, match="read-only"):
        await session.start_bench()
