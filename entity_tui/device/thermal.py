"""How hot a device is, by domain: live readings only, each with its sensor, never one maximum over everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from entity_tui.device.provenance import no_sources


class Domain(StrEnum):
    """What a sensor measures."""

    CPU = "cpu"
    GPU = "gpu"
    NPU = "npu"
    SKIN = "skin"
    BATTERY = "battery"
    BOARD = "board"
    OTHER = "other"


class SensorState(StrEnum):
    """Why a sensor's value may be used or not."""

    OK = "ok"
    DENIED = "denied"
    ABSENT = "absent"
    TIMEOUT = "timeout"
    TRANSIENT = "transient"
    SENTINEL = "sentinel"
    IMPLAUSIBLE = "implausible"
    NOT_TEMPERATURE = "not a temperature"
    UNIT_UNKNOWN = "unit unknown"
    STALE = "stale"
    """Only an old event value is there: shown as its raw text, never as a temperature."""


@dataclass(frozen=True, slots=True)
class Sensor:
    """One thermal sensor: a zone of the kernel (`index` set) or an entry of the thermal service (`index` None)."""

    name: str
    domain: Domain
    celsius: float | None
    state: SensorState
    raw: str = ""
    index: int | None = None
    scale: float | None = None
    """Degrees per raw unit of a kernel zone (0.001 for milli-degrees), fixed at discovery."""
    kind: int | None = None
    """Android's mType."""
    severity: int | None = None
    """Android's mStatus for this sensor."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cooling:
    """A cooling device: `state` above 0 is a throttle sign; the unit is a step, not MHz."""

    name: str
    state: int | None
    max_state: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Thermal:
    """Every sensor by domain and Android's status word, which follows the skin only: 0 does not mean unthrottled."""

    sensors: tuple[Sensor, ...] = ()
    cooling: tuple[Cooling, ...] = ()
    status: int | None = None
    """Android thermal status 0..6, None when it could not be read."""
    status_overridden: bool = False
    hal_ready: bool | None = None
    hal_name: str = ""
    service_outcome: str = "absent"
    """ok, denied, absent, timeout, transient, suspect: how reading the thermal service went."""
    zones_outcome: str = "absent"
    truncated: bool = False
    """The service's text ended inside the live block: a missing sensor may be there."""
    headroom: tuple[float | None, ...] = ()
    thresholds: Mapping[str, tuple[float | None, ...]] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)

    @property
    def status_name(self) -> str:
        """NONE, LIGHT, MODERATE, SEVERE, CRITICAL, EMERGENCY, SHUTDOWN, or `unknown`."""
        return STATUS_NAMES[self.status] if self.status is not None else "unknown"

    def hottest(self, domain: Domain) -> Sensor | None:
        """The hottest usable sensor of one domain, None when it has none."""
        usable = [s for s in self.sensors if s.domain is domain and s.state is SensorState.OK and s.celsius is not None]
        return max(usable, key=lambda sensor: sensor.celsius or 0.0, default=None)


STATUS_NAMES = ("NONE", "LIGHT", "MODERATE", "SEVERE", "CRITICAL", "EMERGENCY", "SHUTDOWN")
