"""One battery out of all the places a device speaks of it, each value with the place it is from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.device.battery import Battery, ChargeState, CurrentUnit, Standing
from entity_tui.device.battery_dump import BatteryDump, parse_battery_dump
from entity_tui.device.numbers import integer
from entity_tui.device.power_supply import Supply, read_supplies
from entity_tui.device.power_units import UnitVerdict, assume_unit, to_ua, voltage_mv
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.termux_battery import TermuxBattery, parse_termux_battery

DUMP = "dumpsys battery"
CMD_CURRENT = "cmd battery get -f current_now"
TERMUX = "termux-battery-status"
_STATUS_WORDS = {
    "charging": ChargeState.CHARGING,
    "discharging": ChargeState.DISCHARGING,
    "not charging": ChargeState.NOT_CHARGING,
    "full": ChargeState.FULL,
}


@dataclass(slots=True)
class _Parts:
    """Values as they are found, first source first."""

    values: dict[str, object] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    evidence: list[str] = field(default_factory=list)

    def put(self, name: str, value: object, source: str) -> None:
        """Keep a value unless it is missing or the name already has one."""
        if value is not None and value != "" and name not in self.values:
            self.values[name] = value
            self.sources[name] = source


def celsius_from_tenths(raw: int | None, *, whole_volts: bool = False) -> float | None:
    """Android's tenths of a degree in °C, within -20..80, else None.

    A board that prints whole volts prints whole degrees as well.
    """
    if raw is None:
        return None
    value = float(raw) if whole_volts and -20 <= raw <= 80 else raw / 10
    return value if -20.0 <= value <= 80.0 else None


def _percent(value: float | None) -> float | None:
    """A charge in percent, None outside 0..100."""
    return float(value) if value is not None and 0 <= value <= 100 else None


def _from_dump(dump: BatteryDump, parts: _Parts) -> None:
    millivolts, words = voltage_mv(dump.voltage_raw)
    parts.put("present", dump.present, DUMP)
    if dump.level is not None and (dump.scale is None or dump.scale > 0):
        parts.put("level_pct", _percent(100.0 * dump.level / (dump.scale or 100)), DUMP)
    parts.put("status", None if dump.status is ChargeState.UNKNOWN else dump.status, DUMP)
    parts.put("health", dump.health, DUMP)
    if dump.powered_known:
        parts.put("plugged", bool(dump.plugged_by), DUMP)
        parts.put("plugged_by", dump.plugged_by or None, DUMP)
    if dump.voltage_raw == 0 and dump.temperature_raw == 0:
        parts.values["simulated_values"] = True
        parts.evidence.append("voltage 0 and temperature 0 together: an emulator's stand-in")
    else:
        parts.put("temperature_c", celsius_from_tenths(dump.temperature_raw, whole_volts=words == "whole volts"), DUMP)
    parts.put("voltage_mv", millivolts, f"{DUMP} ({words})")
    parts.put("voltage_raw", dump.voltage_raw, DUMP)
    if words == "whole volts":
        parts.evidence.append("the voltage is whole volts: too coarse for power")
    # A counter of 0 is an unsupported counter; a battery is never empty to the microampere-hour while it is read.
    parts.put("charge_counter_uah", dump.charge_counter_uah or None, DUMP)
    parts.put("technology", dump.technology, DUMP)
    if dump.current_raw is not None:
        parts.put("current_raw", dump.current_raw, f"{DUMP} ({dump.current_line.split(':')[0]})")
    parts.values["frozen"] = dump.frozen


def _from_supply(supply: Supply, parts: _Parts) -> str:
    """Take a kernel battery's values; returns the unit its voltage is printed in."""
    source = f"power_supply/{supply.name}"
    millivolts, words = voltage_mv(supply.voltage_raw)
    parts.put("current_raw", supply.current_raw, f"{source}/current_now")
    parts.put("voltage_mv", millivolts, f"{source}/voltage_now ({words})")
    parts.put("voltage_raw", supply.voltage_raw, f"{source}/voltage_now")
    parts.put("temperature_c", celsius_from_tenths(supply.temperature_raw), f"{source}/temp")
    parts.put("level_pct", _percent(supply.capacity_pct), f"{source}/capacity")
    parts.put("status", _STATUS_WORDS.get(supply.status.lower()), f"{source}/status")
    if supply.power_uw and supply.status.lower() == "discharging":
        parts.put("power_w", abs(supply.power_uw) / 1e6, f"{source}/power_now")
    parts.put("charge_counter_uah", supply.charge_counter_raw or None, f"{source}/charge_counter")
    parts.put("technology", supply.technology, f"{source}/technology")
    if supply.doubles:
        parts.evidence.append(f"{source} prints {', '.join(supply.doubles)} with different values: not used")
    if supply.voltage_raw and supply.voltage_ocv_raw and supply.voltage_raw != supply.voltage_ocv_raw:
        direction = "discharging" if supply.voltage_raw < supply.voltage_ocv_raw else "charging"
        parts.evidence.append(f"{source}: the voltage is {direction} against its open-circuit value")
    return words


def _from_termux(battery: TermuxBattery, parts: _Parts) -> None:
    if not battery.valid:
        return
    parts.put("level_pct", _percent(battery.percentage), TERMUX)
    parts.put("plugged", battery.plugged, TERMUX)
    parts.put("plugged_by", (battery.plugged_by,) if battery.plugged_by else None, TERMUX)
    parts.put("status", None if battery.status is ChargeState.UNKNOWN else battery.status, TERMUX)
    parts.put("health", battery.health, TERMUX)
    parts.put("temperature_c", battery.temperature_c, TERMUX)
    parts.put("voltage_mv", voltage_mv(battery.voltage_raw)[0], TERMUX)
    parts.put("charge_counter_uah", battery.charge_counter_uah or None, TERMUX)
    parts.put("technology", battery.technology, TERMUX)
    if "current_raw" not in parts.values and battery.current_raw is not None:
        parts.put("current_raw", battery.current_raw, TERMUX)
        if battery.current_ma_device:
            parts.evidence.append(
                "current is a thousand times current_average: a mA phone whose small values the app multiplied"
            )


_PMSET_LEVEL = re.compile(r"\b(\d{1,3})%;\s*([a-z ]+?);")


def _from_pmset(text: str, parts: _Parts) -> None:
    match = _PMSET_LEVEL.search(text)
    if match is not None:
        parts.put("level_pct", _percent(int(match.group(1))), "pmset -g batt")
        words = {"charged": "full", "finishing charge": "charging", "ac attached": "not charging"}
        state = words.get(match.group(2).strip(), match.group(2).strip())
        parts.put("status", _STATUS_WORDS.get(state), "pmset -g batt")
    if "'AC Power'" in text or "'Battery Power'" in text:
        parts.put("plugged", "'AC Power'" in text, "pmset -g batt")


def _charging(parts: _Parts) -> bool | None:
    """ENTITY's rule: plugged, or status charging, or status full; None when neither was readable."""
    plugged, status = parts.values.get("plugged"), parts.values.get("status")
    if plugged or status in (ChargeState.CHARGING, ChargeState.FULL):
        return True
    return None if plugged is None and status is None else False


def _outcome(snapshot: Snapshot, supplies: tuple[Supply, ...], parts: _Parts) -> str:
    if parts.sources:
        return Outcome.SUSPECT.value if parts.values.get("frozen") else Outcome.OK.value
    readings = [snapshot.commands.get(line) for line in (DUMP, TERMUX)]
    for outcome in (Outcome.DENIED, Outcome.TIMEOUT, Outcome.TRANSIENT):
        if any(reading is not None and reading.outcome is outcome for reading in readings):
            return outcome.value
    return Outcome.DENIED.value if any(supply.denied for supply in supplies) else Outcome.ABSENT.value


def _command_current(reading: Reading) -> int | None:
    """A current printed alone on the last line; an `Unknown get option` is no number."""
    lines = reading.text.strip().splitlines() if reading.ok else []
    return integer(lines[-1]) if lines else None


def read_battery(snapshot: Snapshot) -> Battery:
    """The battery of a snapshot, kernel nodes before services before Termux. Never raises; missing stays None.

    The current's unit is at best `assumed` from one reading: `power_units.counter_unit` verifies it over minutes.
    """
    parts = _Parts()
    supplies = read_supplies(snapshot)
    battery = next(
        (s for s in supplies if s.kind in ("Battery", "BMS", "") and (s.has_current or s.voltage_raw or s.power_uw)),
        None,
    )
    node_voltage = _from_supply(battery, parts) if battery is not None else ""
    parts.put("current_raw", _command_current(snapshot.command(CMD_CURRENT)), CMD_CURRENT)
    dump_reading = snapshot.command(DUMP)
    if dump_reading.ok:
        _from_dump(parse_battery_dump(dump_reading.text), parts)
    termux = parse_termux_battery(snapshot.command(TERMUX).text)
    _from_termux(termux, parts)
    _from_pmset(snapshot.command("pmset -g batt").text, parts)
    if any(s.kind in ("Mains", "USB") and s.online for s in supplies):
        parts.put("plugged", True, "power_supply/*/online")
    raw = parts.values.get("current_raw")
    from_node = parts.sources.get("current_raw", "").startswith("power_supply/")
    verdict = _unit(parts, termux, node_voltage if from_node else "")
    parts.evidence.extend(verdict.evidence)
    current_ua = to_ua(raw if isinstance(raw, int) else None, verdict.unit)
    if current_ua is None and termux.current_ua is not None and parts.sources.get("current_raw") == TERMUX:
        current_ua = termux.current_ua
    return Battery(
        **parts.values,  # type: ignore[arg-type]
        charging=_charging(parts),
        current_ua=None if current_ua is None else abs(current_ua),
        current_unit=verdict.unit,
        unit=verdict.standing,
        sign=Standing.UNVERIFIED,
        outcome=_outcome(snapshot, supplies, parts),
        evidence=tuple(parts.evidence),
        sources=MappingProxyType(dict(parts.sources)),
    )


def _unit(parts: _Parts, termux: TermuxBattery, node_voltage: str) -> UnitVerdict:
    raw, millivolts = parts.values.get("current_raw"), parts.values.get("voltage_mv")
    if parts.sources.get("current_raw") == TERMUX and termux.current_ua is not None:
        return UnitVerdict(CurrentUnit.UA, Standing.ASSUMED, ("current and current_average together decide the unit",))
    return assume_unit(
        raw if isinstance(raw, int) else None,
        millivolts if isinstance(millivolts, int) else None,
        node_voltage=node_voltage,
    )
