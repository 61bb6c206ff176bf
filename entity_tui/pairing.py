"""Pairing with a phone over Wi-Fi by the code it shows."""

from __future__ import annotations


async def pair_phone(address: str, code: str) -> str:
    """Ask the adb server to pair; returns its words. `address` is `ip:port` as the phone shows it.

    Raises the transport's errors: no server, a wrong code, a phone that is not in the same network.
    """
    from entity_tui.transport.adb_host import pair
    from entity_tui.transport.adb_wire import ServerAddress

    return await pair(ServerAddress.default(), address, code)
