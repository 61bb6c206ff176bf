"""The kernel's thermal zones: identity by type, one unit per zone fixed at discovery, everything else refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from entity_tui.device.numbers import integer
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.thermal import Cooling, Domain, Sensor, SensorState
from entity_tui.device.thermal_service import windows_c

ROOT = "/sys/class/thermal"
_ZONE = re.compile(r"(?:/sys/class/thermal|/sys/devices/virtual/thermal)/thermal_zone(\d{1,4})/(type|temp)\Z")
_COOLING = re.compile(
    r"(?:/sys/class/thermal|/sys/devices/virtual/thermal)/cooling_device(\d{1,4})/(type|cur_state|max_state)\Z"
)
_NOT_TEMPERATURE = re.compile(
    r"bcl|ibat|vbat|vph|-lvl|trip|^soc$|^socd$|^INT3400 Thermal$|-avg-step$|battery_cycle", re.IGNORECASE
)
SENTINELS = frozenset({-274000, -273000, -273150, -75000, -40000, 0, 125000, -274, -273, -75, -40})
_DOMAINS: Sequence[tuple[re.Pattern[str], Domain]] = (
    (re.compile(r"^(battery|batt|bat|.*battery.*|mtktsbattery)$", re.IGNORECASE), Domain.BATTERY),
    (re.compile(r"skin|case[-_]therm|shell", re.IGNORECASE), Domain.SKIN),
    (re.compile(r"gpu|g3d|kgsl|mali", re.IGNORECASE), Domain.GPU),
    (re.compile(r"npu|nsp|tpu|apu|hvx|hexagon", re.IGNORECASE), Domain.NPU),
    (
        re.compile(
            r"^cpu|cpuss|cputop|tsens_tz|apc-|^big|^mid|^little|mtktscpu|x86_pkg|b0d4|coretemp|k10temp|zenpower|soc[-_]thermal|"
            r"cluster|^ap$|cpu[-_]thermal",
            re.IGNORECASE,
        ),
        Domain.CPU,
    ),
    (re.compile(r"_tz$|^bms$|^pm|pmic|quiet|^xo|conn|board|therm|acpitz|pch", re.IGNORECASE), Domain.BOARD),
)
_WHOLE_DEGREES = re.compile(r"tsens|cpu|^soc[-_]thermal", re.IGNORECASE)


def zone_domain(kind: str) -> tuple[Domain, bool]:
    """(domain, is it a temperature) of a kernel zone by its type."""
    if _NOT_TEMPERATURE.search(kind):
        return Domain.OTHER, False
    return next((domain for pattern, domain in _DOMAINS if pattern.search(kind)), Domain.OTHER), True


def zone_scale(kind: str, raws: Iterable[int]) -> float | None:
    """Degrees per raw unit of a zone by its first readings, None when they do not decide it.

    Milli-degrees when every reading is 1000 or more in size; whole degrees when all are 10..130 and the type is a CPU
    sensor of a kernel that prints them so. Fixed once: a reading is never rescaled by its size later.
    """
    values = [raw for raw in raws if raw not in SENTINELS]
    if not values:
        return None
    if all(abs(raw) >= 1000 for raw in values):
        return 0.001
    if all(10 <= raw <= 130 for raw in values) and _WHOLE_DEGREES.search(kind):
        return 1.0
    return None


def zone_sensor(index: int, kind: str, reading: Reading, *, scale: float | None = None) -> Sensor:
    """One zone judged. `scale` is the unit fixed at discovery; without it this reading fixes it."""
    domain, temperature = zone_domain(kind)
    source = f"{ROOT}/thermal_zone{index}/temp"
    states = {
        Outcome.DENIED: SensorState.DENIED,
        Outcome.ABSENT: SensorState.ABSENT,
        Outcome.TIMEOUT: SensorState.TIMEOUT,
        Outcome.TRANSIENT: SensorState.TRANSIENT,
        Outcome.SUSPECT: SensorState.IMPLAUSIBLE,
    }
    if not reading.ok:
        return Sensor(kind, domain, None, states[reading.outcome], reading.detail, index, scale, source=source)
    raw = integer(reading.text)
    state, value = SensorState.ABSENT, None
    if not temperature:
        state = SensorState.NOT_TEMPERATURE
    elif raw is not None and raw in SENTINELS:
        state = SensorState.SENTINEL
    elif raw is not None:
        scale = scale if scale is not None else zone_scale(kind, [raw])
        state = SensorState.UNIT_UNKNOWN
        if scale is not None:
            low, high = windows_c()[domain]
            value = raw * scale
            state = SensorState.OK if low <= value <= high else SensorState.IMPLAUSIBLE
    return Sensor(
        name=kind,
        domain=domain,
        celsius=value if state is SensorState.OK else None,
        state=state,
        raw=reading.text.strip(),
        index=index,
        scale=scale,
        source=source,
    )


def _drop_twins(sensors: Sequence[Sensor]) -> list[Sensor]:
    """`-step` zones are the same sensors as `-usr` under another governor: the first of each pair stays."""
    kept: dict[str, Sensor] = {}
    for sensor in sensors:
        twin = re.sub(r"-(usr|step)$", "", sensor.name)
        if twin != sensor.name and twin in kept:
            continue
        kept[twin if twin != sensor.name else f"{sensor.name}#{sensor.index}"] = sensor
    return list(kept.values())


def read_zones(snapshot: Snapshot, scales: Mapping[tuple[str, int], float] | None = None) -> tuple[Sensor, ...]:
    """Every zone of a snapshot by index, twins dropped. `scales` holds units fixed at discovery, by (type, index)."""
    kinds: dict[int, str] = {}
    temps: dict[int, Reading] = {}
    for path, reading in snapshot.files.items():
        match = _ZONE.match(path)
        if match is None:
            continue
        index = int(match.group(1))
        if match.group(2) == "type":
            kinds[index] = " ".join(reading.text.split()) if reading.ok else ""
        else:
            temps[index] = reading
    sensors = []
    for index in sorted({*kinds, *temps}):
        kind = kinds.get(index, "")
        reading = temps.get(index) or Reading("", Outcome.ABSENT, detail="not read")
        scale = (scales or {}).get((kind, index))
        sensors.append(zone_sensor(index, kind or f"zone {index}", reading, scale=scale))
    return tuple(_drop_twins(sensors))


_HWMON = re.compile(r"/sys/class/hwmon/hwmon(\d{1,3})/(?:temp(\d{1,3})_(input|label)|(name))\Z")


def read_hwmon(snapshot: Snapshot) -> tuple[Sensor, ...]:
    """A board's or computer's hwmon temperatures, in milli-degrees by the kernel's own rule."""
    names: dict[str, str] = {}
    labels: dict[tuple[str, str], str] = {}
    inputs: dict[tuple[str, str], Reading] = {}
    for path, reading in snapshot.files.items():
        match = _HWMON.match(path)
        if match is None:
            continue
        chip, number, what, is_name = match.groups()
        if is_name:
            names[chip] = reading.text.strip()
        elif what == "label":
            labels[chip, number] = " ".join(reading.text.split())
        else:
            inputs[chip, number] = reading
    sensors = []
    for (chip, number), reading in sorted(inputs.items()):
        kind = " ".join(word for word in (names.get(chip, ""), labels.get((chip, number), f"temp{number}")) if word)
        sensor = zone_sensor(0, kind, reading, scale=0.001)
        sensors.append(replace(sensor, index=None, source=f"/sys/class/hwmon/hwmon{chip}/temp{number}_input"))
    return tuple(sensors)


def read_cooling(snapshot: Snapshot) -> tuple[Cooling, ...]:
    """Kernel cooling devices by index; a state that was not readable is None."""
    found: dict[int, dict[str, str]] = {}
    for path, reading in snapshot.files.items():
        match = _COOLING.match(path)
        if match is not None and reading.ok:
            found.setdefault(int(match.group(1)), {})[match.group(2)] = reading.text
    return tuple(
        Cooling(
            texts.get("type", f"cooling device {index}").strip(),
            integer(texts.get("cur_state", "")),
            integer(texts.get("max_state", "")),
            f"{ROOT}/cooling_device{index}",
        )
        for index, texts in sorted(found.items())
    )


_LISTED = re.compile(r"^[ \t]*([A-Za-z][\w .+-]*?):\s*(-?\d{1,9})[ \t\r]*$", re.MULTILINE)
_ADDING = re.compile(r"thermal_zone(\d{1,4}):\s*(-?\d{1,9})?\s+(\S[^\n]*?)[ \t\r]*$", re.MULTILINE)
_CAT_TYPE = re.compile(r"cat \S*thermal_zone(\d{1,4})/type\s*\n([^\n]+)")


def parse_zone_listing(text: str) -> tuple[Sensor, ...]:
    """Zones pasted as `type: raw` lines, as `…thermal_zoneN: raw type`, or as `cat …/type` with its answer.

    A zone whose value line is missing is absent; a `No data available` beside it is transient.
    """
    lines = _LISTED.findall(text)
    if lines:
        return tuple(
            zone_sensor(place, kind, Reading(kind, Outcome.OK, raw)) for place, (kind, raw) in enumerate(lines)
        )
    adding = _ADDING.findall(text)
    if adding:
        return tuple(
            zone_sensor(int(index), kind, Reading(kind, Outcome.OK, raw) if raw else _missing(text, index))
            for index, raw, kind in adding
        )
    absent = Reading("", Outcome.ABSENT, detail="not read")
    return tuple(zone_sensor(int(index), kind.strip(), absent) for index, kind in _CAT_TYPE.findall(text))


def _missing(text: str, index: str) -> Reading:
    if re.search(rf"thermal_zone{index}/temp: (No data available|Resource temporarily unavailable)", text):
        return Reading("", Outcome.TRANSIENT, detail="No data available")
    return Reading("", Outcome.ABSENT, detail="empty")
