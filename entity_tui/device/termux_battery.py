"""`termux-battery-status`: JSON of an app that multiplies small currents by a thousand and says nothing about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from entity_tui.device.battery import ChargeState


@dataclass(frozen=True, slots=True)
class TermuxBattery:
    """The object's values; None where a key is missing or null.

    `current_ma_device` is True when `current` and `current_average` differ by the app's factor: the phone then counts
    in mA and `current` has been multiplied. `current_ua` is set only where that decides the unit.
    """

    percentage: int | None = None
    plugged: bool | None = None
    plugged_by: str = ""
    status: ChargeState = ChargeState.UNKNOWN
    health: str = ""
    temperature_c: float | None = None
    voltage_raw: int | None = None
    current_raw: int | None = None
    current_average_raw: int | None = None
    current_ma_device: bool | None = None
    current_ua: int | None = None
    charge_counter_uah: int | None = None
    technology: str = ""
    valid: bool = False


_STATES = {
    "CHARGING": ChargeState.CHARGING,
    "DISCHARGING": ChargeState.DISCHARGING,
    "NOT_CHARGING": ChargeState.NOT_CHARGING,
    "FULL": ChargeState.FULL,
}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        number = float(value)
        return number if abs(number) < 1e15 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,12}(\.\d{1,9})?", value.strip()):
        return float(value)
    return None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


def undo_scaling(current: int | None, average: int | None) -> tuple[bool | None, int | None]:
    """(is it a mA phone, current in µA) after undoing the app's factor; None where the two values do not decide it."""
    if current is None or not current:
        return None, None
    if average:
        ratio = abs(current) / abs(average)
        if 300 <= ratio <= 3000:
            return True, current
        if 1 / 3 <= ratio <= 3 and abs(current) >= 20_000:
            return False, current
    return None, None


def parse_termux_battery(text: str) -> TermuxBattery:
    """Read the JSON object in the text (a shell prompt before it is fine). Anything else gives `valid=False`."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return TermuxBattery()
    try:
        data = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return TermuxBattery()
    if not isinstance(data, dict):
        return TermuxBattery()
    plugged = data.get("plugged")
    temperature = _number(data.get("temperature"))
    current, average = _whole(data.get("current")), _whole(data.get("current_average"))
    ma_device, current_ua = undo_scaling(current, average)
    health = str(data.get("health") or "").lower()
    # 0.0 degrees with an unknown health is a device without a sensor.
    if temperature == 0.0 and health in ("unknown", ""):
        temperature = None
    return TermuxBattery(
        percentage=_whole(data.get("percentage")),
        plugged=None if not isinstance(plugged, str) else plugged.startswith("PLUGGED"),
        plugged_by=plugged.removeprefix("PLUGGED_").lower()
        if isinstance(plugged, str) and plugged.startswith("PLUGGED_")
        else "",
        status=_STATES.get(str(data.get("status") or ""), ChargeState.UNKNOWN),
        health=health,
        temperature_c=temperature,
        voltage_raw=_whole(data.get("voltage")),
        current_raw=current,
        current_average_raw=average,
        current_ma_device=ma_device,
        current_ua=current_ua,
        charge_counter_uah=_whole(data.get("charge_counter")),
        technology=str(data.get("technology") or ""),
        valid=True,
    )
