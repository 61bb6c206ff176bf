"""What `dumpsys thermalservice` prints: only the block of live readings counts, keyed by type and name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.device.numbers import decimal, integer
from entity_tui.device.thermal import Cooling, Domain, Sensor, SensorState
from entity_tui.profiles.library import cached_profile, merged

SOURCE = "dumpsys thermalservice"
_TEMPERATURE = re.compile(
    r"Temperature\{mValue=([^,{}]*),\s*mType=([^,{}]*),\s*mName=([^{}]*?)(?:,\s*mStatus=([^,{}]*))?\}", re.DOTALL
)
_COOLING = re.compile(r"CoolingDevice\{mValue=([^,{}]*),\s*mType=([^,{}]*),\s*mName=([^{}]*?)\}", re.DOTALL)
_THRESHOLD = re.compile(
    r"TemperatureThreshold\{mType=[^,{}]*,\s*mName=([^{}]*?),\s*mHotThrottlingThresholds=\[([^\]]*)\]"
)
_THRESHOLD_HIDL = re.compile(r"\{\.type = \w+,\s*\.name = ([^,{}]*?),\s*\.hotThrottlingThresholds = \[([^\]]*)\]")
_HEADS = re.compile(
    r"^[ \t]*(Cached temperatures|HAL Ready|HAL connection|Current temperatures from HAL|"
    r"Current cooling devices from HAL|Temperature static thresholds from HAL|"
    r"Temperature headroom thresholds)\s*:(.*)$",
    re.MULTILINE,
)
_STATUS = re.compile(r"^[ \t]*Thermal Status:\s*(\d+)[ \t\r]*$", re.MULTILINE)
_OVERRIDE = re.compile(r"^[ \t]*IsStatusOverride:\s*true[ \t\r]*$", re.MULTILINE)
LIVE = "Current temperatures from HAL"
_KINDS = {
    0: Domain.CPU,
    1: Domain.GPU,
    2: Domain.BATTERY,
    3: Domain.SKIN,
    4: Domain.BOARD,
    5: Domain.BOARD,
    9: Domain.NPU,
    10: Domain.NPU,
    13: Domain.CPU,
}
_NOT_TEMPERATURES = frozenset({6, 7, 8})
_SHIFTED_NAMES = {
    "TYPE_CPU": Domain.CPU,
    "TYPE_GPU": Domain.GPU,
    "TYPE_BATTERY": Domain.BATTERY,
    "TYPE_SKIN": Domain.SKIN,
    "TYPE_USB_PORT": Domain.BOARD,
    "TYPE_POWER_AMPLIFIER": Domain.BOARD,
    "TYPE_NPU": Domain.NPU,
}
_NAME_NOT_TEMPERATURE = re.compile(r"minus|forecast|cycle|bcl|ibat|vbat|vph|-lvl|trip|_reduce$", re.IGNORECASE)
_BOARD_NAMES = re.compile(r"^(pa|pathm|usb|cp|wifi|modem)$|_tz$|^bms$", re.IGNORECASE)


@cached_profile
def windows_c() -> Mapping[Domain, tuple[float, float]]:
    """The window of each domain in °C; values outside are refused, never clamped."""
    table = merged("thresholds.yaml")["thermal_window_c"]
    return MappingProxyType({domain: (table[domain.value]["low"], table[domain.value]["high"]) for domain in Domain})


SENTINELS_C = frozenset({0.0, -99.9, -40.0, -273.0, -274.0, -75.0, 125.0})


@dataclass(frozen=True, slots=True)
class ThermalDump:
    """The dump in parts. `cached` is kept apart: those are old events, 10 to 30 degrees off either way."""

    status: int | None = None
    overridden: bool = False
    hal_ready: bool | None = None
    hal_name: str = ""
    live: tuple[Sensor, ...] = ()
    cached: tuple[Sensor, ...] = ()
    cooling: tuple[Cooling, ...] = ()
    thresholds: Mapping[str, tuple[float | None, ...]] = field(default_factory=lambda: MappingProxyType({}))
    headroom: tuple[float | None, ...] = ()
    has_live_block: bool = False
    truncated: bool = False
    recognised: bool = False


def domain_of(kind: int | None, name: str) -> tuple[Domain, bool]:
    """(domain, is it a temperature) of a sensor by Android's type and its name.

    Samsung's own service prints types shifted by one; its names start with TYPE_ and are trusted over the type. A
    power amplifier filed under CPU, and a power chip filed under skin, are boards by their names.
    """
    if name.upper() in _SHIFTED_NAMES:
        return _SHIFTED_NAMES[name.upper()], True
    if kind in _NOT_TEMPERATURES or _NAME_NOT_TEMPERATURE.search(name):
        return Domain.OTHER, False
    if kind in (0, 3) and _BOARD_NAMES.search(name):
        return Domain.BOARD, True
    return _KINDS.get(-1 if kind is None else kind, Domain.OTHER), True


def _state(value: float | None, domain: Domain, temperature: bool) -> SensorState:
    if not temperature:
        return SensorState.NOT_TEMPERATURE
    if value is None:
        return SensorState.ABSENT
    if value in SENTINELS_C:
        return SensorState.SENTINEL
    low, high = windows_c()[domain]
    return SensorState.OK if low <= value <= high else SensorState.IMPLAUSIBLE


def _sensors(block: str) -> tuple[Sensor, ...]:
    """Live entries by (type, name); an entry printed twice keeps its last value."""
    found: dict[tuple[int | None, str], Sensor] = {}
    for value_text, kind_text, name_text, status_text in _TEMPERATURE.findall(block):
        name = " ".join(name_text.split())
        kind, value = integer(kind_text), decimal(value_text)
        domain, temperature = domain_of(kind, name)
        state = _state(value, domain, temperature)
        found[kind, name] = Sensor(
            name=name,
            domain=domain,
            celsius=value if state is SensorState.OK else None,
            state=state,
            raw=value_text.strip(),
            kind=kind,
            severity=integer(status_text),
            source=SOURCE,
        )
    return tuple(found.values())


def _cooling(block: str) -> tuple[Cooling, ...]:
    return tuple(
        Cooling(" ".join(name.split()), integer(value.split(".")[0]), None, SOURCE)
        for value, _, name in _COOLING.findall(block)
    )


def _floats(text: str) -> tuple[float | None, ...]:
    return tuple(decimal(word) for word in text.split(",") if word.strip())


def parse_thermal_service(text: str) -> ThermalDump:
    """Read the dump. A text cut inside the live block is marked `truncated`."""
    text = text.replace("\r", "")
    blocks: dict[str, str] = {}
    rests: dict[str, str] = {}
    heads = list(_HEADS.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        blocks.setdefault(head.group(1), text[head.end() : end])
        rests.setdefault(head.group(1), head.group(2).strip())
    status = _STATUS.search(text)
    code = None if status is None else integer(status.group(1))
    ready = rests.get("HAL Ready")
    last_is_live = bool(heads) and heads[-1].group(1) == LIVE
    thresholds = {
        " ".join(name.split()): _floats(values)
        for pattern in (_THRESHOLD, _THRESHOLD_HIDL)
        for name, values in pattern.findall(text)
    }
    headroom = re.search(r"\[([^\]]*)\]", blocks.get("Temperature headroom thresholds", ""))
    return ThermalDump(
        status=code if code is not None and 0 <= code <= 6 else None,
        overridden=_OVERRIDE.search(text) is not None,
        hal_ready={"true": True, "false": False}.get(ready or ""),
        hal_name=" ".join(blocks.get("HAL connection", "").split()),
        live=_sensors(blocks.get(LIVE, "")),
        cached=_sensors(blocks.get("Cached temperatures", "") if heads else text),
        cooling=_cooling(blocks.get("Current cooling devices from HAL", "")),
        thresholds=MappingProxyType(thresholds),
        headroom=_floats(headroom.group(1)) if headroom is not None else (),
        has_live_block=LIVE in blocks,
        truncated=last_is_live,
        recognised=bool(heads) or status is not None,
    )
