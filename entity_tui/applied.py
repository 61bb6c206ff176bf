"""The placement a user applied to a device: part of its settings, never set by a measurement alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entity_tui import config
from entity_tui.errors import UsageError

KEY = "placement"
PLACEMENTS: Mapping[str, str] = {
    "auto": "the automatic width on the fastest cores",
    "perf_cores": "the automatic width on all fast cores",
    "scheduler": "the automatic width wherever the system puts it",
    "little_only": "the LITTLE cores alone",
}


def apply_placement(spec: str, arm: str, folder: Path | None = None) -> config.KnownDevice:
    """Remember a placement for the device a spec reaches; it is remembered under its spec when it has no name yet.

    Returns the device as remembered now. UsageError for a placement that is none.
    """
    if arm not in PLACEMENTS:
        raise UsageError(f"no placement is called {arm}", fix=f"placements: {', '.join(PLACEMENTS)}")
    known = next((device for device in config.known_devices(folder) if spec in (device.spec, device.name)), None)
    name, address = (known.name, known.spec) if known is not None else (spec, spec)
    settings = {**(known.settings if known is not None else {}), KEY: arm}
    device = config.KnownDevice(name, address, settings)
    config.remember(device, folder)
    return device


def applied_placement(spec: str, folder: Path | None = None) -> str:
    """The placement applied to a device, empty when none was. A word of another version reads as none."""
    for device in config.known_devices(folder):
        if spec in (device.spec, device.name):
            found = str(device.settings.get(KEY, ""))
            return found if found in PLACEMENTS else ""
    return ""
