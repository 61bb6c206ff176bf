"""Which devices can be reached right now: rows for the picker and for `entity-tui devices`."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.transport.base import DeviceState


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device that could be chosen."""

    name: str
    """What a person calls it: the model, else the serial or host."""
    via: str
    """`USB`, `Wi-Fi`, `SSH`, `this computer`, `demo`."""
    address: str
    """Serial, `ip:port` or `user@host:port`."""
    state: DeviceState
    spec: str
    """What to give to --device to choose it."""
    last_seen: str = ""
    """ISO 8601 UTC of the last time it was ready; empty when never or now."""
    fix: str = ""
    """What to do when it is not ready."""
    simulated: bool | None = None
    """True for the built-in demo phone, False for this computer, None until the device was asked."""
