"""Every device that could be chosen right now: phones adb knows, remembered ones, this computer, the demo phone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from entity_tui import config
from entity_tui.connect import DEFAULT_DEMO, parse_spec
from entity_tui.transport.base import DeviceState, TransportError
from entity_tui.transport.discover import DeviceRow

PERIOD_S = 1.0
"""The adb server's list is polled: its own stream of changes is silent about a dropped Wi-Fi phone for ten seconds."""


async def adb_rows() -> tuple[DeviceRow, ...]:
    """Phones in the adb server's list. No server, or one that is silent, is an empty list: nothing is started."""
    from entity_tui.transport.adb_host import list_devices
    from entity_tui.transport.adb_wire import FIXES, ServerAddress

    try:
        devices = await asyncio.wait_for(list_devices(ServerAddress.default()), 5.0)
    except (TransportError, TimeoutError):
        return ()
    return tuple(
        DeviceRow(
            name=device.model.replace("_", " ") or device.serial,
            via="Wi-Fi" if device.over_network else "USB",
            address=device.serial,
            state=device.state,
            spec=f"adb:{device.serial}",
            fix="" if device.state is DeviceState.READY else FIXES.get(device.state, ""),
        )
        for device in devices
    )


async def answers(destination: str) -> bool:
    """True when somebody accepts a connection at an SSH destination within a second; nothing is said to it."""
    from entity_tui.transport.ssh import parse_destination

    place = parse_destination(destination)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(place.host, place.port or 22), 1.0)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def standing_rows() -> tuple[DeviceRow, ...]:
    """What is always there to choose: remembered devices, this computer, the demo phone."""
    rows = []
    for known in config.known_devices():
        spec = parse_spec(known.spec)
        if spec.kind == "adb":
            continue
        seen = str(known.settings.get("last_seen", ""))
        via = {"ssh": "SSH", "local": "this computer", "demo": "demo"}[spec.kind]
        there = spec.kind != "ssh" or await answers(spec.rest)
        state = DeviceState.READY if there else DeviceState.OFFLINE
        rows.append(DeviceRow(known.name, via, spec.rest, state, known.name, last_seen=seen))
    rows.append(
        DeviceRow("this computer", "this computer", "no phone needed", DeviceState.READY, "local", simulated=False)
    )
    rows.append(DeviceRow("demo", "demo", "no phone needed", DeviceState.READY, f"demo:{DEFAULT_DEMO}", simulated=True))
    return tuple(rows)


async def reachable() -> tuple[DeviceRow, ...]:
    """One look at everything."""
    names = {known.spec: known.name for known in config.known_devices()}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    phones = tuple(
        DeviceRow(
            name=names.get(row.spec, row.name),
            via=row.via,
            address=row.address,
            state=row.state,
            spec=row.spec,
            last_seen=now if row.state is DeviceState.READY else "",
            fix=row.fix,
        )
        for row in await adb_rows()
    )
    return phones + await standing_rows()


async def watch() -> AsyncIterator[tuple[DeviceRow, ...]]:
    """The rows now, then again whenever one changed, for as long as somebody iterates."""
    last: tuple[tuple[str, DeviceState], ...] | None = None
    while True:
        rows = await reachable()
        key = tuple((row.spec, row.state) for row in rows)
        if key != last:
            last = key
            yield rows
        await asyncio.sleep(PERIOD_S)
