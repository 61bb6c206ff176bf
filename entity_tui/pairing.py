"""Pairing with a phone over Wi-Fi: by the code it shows, or by a QR code shown here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from entity_tui.errors import UsageError

WAIT_S = 120.0
PAUSE_S = 1.0


async def pair_phone(address: str, code: str) -> str:
    """Ask the adb server to pair, starting one where none runs; returns its words. `address` is `ip:port` as shown.

    Raises the transport's errors: no server, a wrong code, a phone that is not in the same network.
    """
    from entity_tui.transport.adb_host import pair
    from entity_tui.transport.adb_server import ensure_server
    from entity_tui.transport.adb_wire import ServerAddress

    server = ServerAddress.default()
    await ensure_server(server)
    return await pair(server, address, code)


async def pair_by_qr(show: Callable[[str], None], *, wait_s: float = WAIT_S, pause_s: float = PAUSE_S) -> str:
    """Give `show` the text of a fresh QR code, wait until a phone scanned it, pair; returns the server's words.

    Raises UsageError when nobody scans it within `wait_s`, and the transport's errors: tells at once when this adb has
    no mDNS to find the phone with.
    """
    from entity_tui.transport.adb_host import QrPairing, find_pairing, pair
    from entity_tui.transport.adb_server import ensure_server
    from entity_tui.transport.adb_wire import ServerAddress

    server = ServerAddress.default()
    await ensure_server(server)
    pairing = QrPairing.fresh()
    address = await find_pairing(server, pairing)
    show(pairing.payload)
    for _ in range(round(wait_s / pause_s)):
        if address is not None:
            return await pair(server, address, pairing.password)
        await asyncio.sleep(pause_s)
        address = await find_pairing(server, pairing)
    raise UsageError(
        f"no phone scanned the code within {wait_s:g} s",
        fix="use the pairing code instead: entity-tui pair HOST:PORT CODE",
    )
