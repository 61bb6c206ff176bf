"""What a device says of its battery: values with unit, sign and their standing, and why one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from entity_tui.device.provenance import no_sources


class Standing(StrEnum):
    """How sure a unit or a sign is."""

    VERIFIED = "verified"
    ASSUMED = "assumed"
    UNVERIFIED = "unverified"


class ChargeState(StrEnum):
    """Android's battery status word; `unknown` when it said nothing."""

    UNKNOWN = "unknown"
    CHARGING = "charging"
    DISCHARGING = "discharging"
    NOT_CHARGING = "not charging"
    FULL = "full"


class CurrentUnit(StrEnum):
    """The unit a gauge prints its current in."""

    UA = "uA"
    MA = "mA"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Battery:
    """One reading of the battery. None is missing, never 0.

    `current_raw` is what the device printed; `current_ua` is set once the unit is at least assumed, positive while
    the battery is being drained when the sign is known, else a magnitude (`sign` says which).
    """

    present: bool | None = None
    level_pct: float | None = None
    status: ChargeState = ChargeState.UNKNOWN
    health: str = ""
    plugged: bool | None = None
    plugged_by: tuple[str, ...] = ()
    charging: bool | None = None
    """ENTITY's rule: plugged, or status charging, or status full. None when none of them was readable."""
    temperature_c: float | None = None
    voltage_mv: int | None = None
    voltage_raw: int | None = None
    current_raw: int | None = None
    current_ua: int | None = None
    current_unit: CurrentUnit = CurrentUnit.UNKNOWN
    unit: Standing = Standing.UNVERIFIED
    sign: Standing = Standing.UNVERIFIED
    discharge_sign: int | None = None
    """+1 when the gauge counts drain as positive, -1 when negative, None while unknown."""
    power_w: float | None = None
    """Power the node itself states while discharging (laptops of the energy family); None where it states none."""
    charge_counter_uah: int | None = None
    frozen: bool = False
    """`UPDATES STOPPED`: somebody froze the battery service; every value is a fake until it is reset."""
    simulated_values: bool = False
    """Voltage 0 and temperature 0 together: an emulator's stand-in."""
    technology: str = ""
    outcome: str = "absent"
    """Outcome of the best source: ok, denied, absent, timeout, transient, suspect."""
    evidence: tuple[str, ...] = ()
    """The steps by which unit and sign were decided, in words."""
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)
