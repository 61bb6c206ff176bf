"""Who a device is: names, chip, system and the words that tell two devices apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from entity_tui.device.provenance import no_sources


@dataclass(frozen=True, slots=True)
class Identity:
    """Names as the device gives them; empty when it gave none."""

    name: str = ""
    """What a person calls it: the market name, else maker and model, else the host name."""
    manufacturer: str = ""
    model: str = ""
    soc: str = ""
    """The chip's name for a reader, e.g. `MediaTek Dimensity 7300 (MT6878)`."""
    soc_code: str = ""
    """The chip's code as printed by the device, e.g. `mt6878`."""
    system: str = ""
    """`android`, `linux`, `macos`, `termux`, or empty."""
    android_release: str = ""
    android_sdk: int | None = None
    kernel: str = ""
    build_fingerprint: str = ""
    boot_id: str = ""
    uid: int | None = None
    """The uid the text was read with: 2000 is adb's shell, 10000 and above an app such as Termux."""
    abis: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)
