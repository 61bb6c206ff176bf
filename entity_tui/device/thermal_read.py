"""All heat a snapshot tells of, service and kernel side by side, with each way of being unreadable kept apart."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.thermal import Sensor, SensorState, Thermal
from entity_tui.device.thermal_service import SOURCE, ThermalDump, parse_thermal_service
from entity_tui.device.thermal_zones import read_cooling, read_hwmon, read_zones

_DENIED = "permission denial"


def _service(reading: Reading) -> tuple[ThermalDump, str]:
    """The dump and how reading it went. A denial printed with status 0 is a denial."""
    if not reading.ok:
        return ThermalDump(), reading.outcome.value
    if _DENIED in reading.text.lower():
        return ThermalDump(), Outcome.DENIED.value
    dump = parse_thermal_service(reading.text)
    if not dump.recognised:
        return dump, Outcome.ABSENT.value
    return dump, Outcome.SUSPECT.value if dump.overridden else Outcome.OK.value


def _stale(sensor: Sensor) -> Sensor:
    """A cached entry where there is no live one: its name and raw text, no temperature."""
    return replace(sensor, celsius=None, state=SensorState.STALE)


def _zones_outcome(zones: tuple[Sensor, ...]) -> str:
    if not zones:
        return Outcome.ABSENT.value
    if any(zone.state is SensorState.OK for zone in zones):
        return Outcome.OK.value
    denied = [zone for zone in zones if zone.state is SensorState.DENIED]
    transient = [zone for zone in zones if zone.state is SensorState.TRANSIENT]
    if denied:
        return Outcome.DENIED.value
    return Outcome.TRANSIENT.value if transient else Outcome.ABSENT.value


def _notes(dump: ThermalDump, zones: tuple[Sensor, ...]) -> tuple[str, ...]:
    notes = []
    if dump.hal_ready is False:
        notes.append("the thermal HAL is not ready: status 0 proves nothing on this device")
    if dump.overridden:
        notes.append("the thermal status is overridden by hand")
    if dump.truncated:
        notes.append("the thermal dump ends inside its live block")
    if dump.recognised and dump.hal_ready is not False and not dump.has_live_block:
        notes.append("the thermal dump has no live block; its cached values are old and not used")
    ignored = [sensor for sensor in (*dump.live, *zones) if sensor.state is not SensorState.OK]
    if ignored:
        notes.append(f"{len(ignored)} of {len(dump.live) + len(zones)} sensors give no usable temperature")
    return tuple(notes)


def read_thermal(snapshot: Snapshot) -> Thermal:
    """Sensors by domain, status, cooling devices. Never raises; the service's cached block is never used."""
    dump, outcome = _service(snapshot.command(SOURCE))
    zones = read_zones(snapshot)
    stale = () if dump.has_live_block else tuple(_stale(sensor) for sensor in dump.cached)
    return Thermal(
        sensors=(*dump.live, *stale, *zones, *read_hwmon(snapshot)),
        cooling=(*dump.cooling, *read_cooling(snapshot)),
        status=dump.status,
        status_overridden=dump.overridden,
        hal_ready=dump.hal_ready,
        hal_name=dump.hal_name,
        service_outcome=outcome,
        zones_outcome=_zones_outcome(zones),
        truncated=dump.truncated,
        headroom=dump.headroom,
        thresholds=dump.thresholds,
        notes=_notes(dump, zones),
        sources=MappingProxyType({"status": SOURCE} if dump.status is not None else {}),
    )
