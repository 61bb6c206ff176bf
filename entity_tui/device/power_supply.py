"""The kernel's power supplies: uevent texts and single nodes, with sentinels and doubles kept apart from readings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.device.numbers import integer
from entity_tui.device.snapshot import Snapshot

ROOT = "/sys/class/power_supply"
_PATH = re.compile(re.escape(ROOT) + r"/([^/]+)/([^/]+)\Z")
SENTINELS = frozenset({-22, -1, -2147483648, 2147483647})
"""-EINVAL, "not known" and the ends of 32 bits: vendors print them for readings they do not have."""
_BATTERY_NAMES = ("battery", "bms", "maxfg", "gcpm", "mtk-gauge", "mainbattery", "main", "bat0", "bat1", "cw2015")


@dataclass(frozen=True, slots=True)
class Uevent:
    """The pairs of one uevent text. `doubles` holds every value of a key that was printed with different values."""

    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    doubles: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def number(self, key: str) -> int | None:
        """A reading; None when missing, no number, a sentinel, or printed with different values."""
        if key in self.doubles:
            return None
        value = integer(self.values.get(key, ""))
        return None if value in SENTINELS else value


_PAIR = re.compile(r"^[ \t]*(?:POWER_SUPPLY_)?([A-Z][A-Z0-9_]*)=(.*?)[ \t\r]*$")


def parse_uevent(text: str) -> Uevent:
    """`KEY=value` lines, with or without the POWER_SUPPLY_ prefix; other lines are skipped."""
    seen: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = _PAIR.match(line)
        if match is not None:
            values = seen.setdefault(match.group(1), [])
            if match.group(2) not in values:
                values.append(match.group(2))
    return Uevent(
        MappingProxyType({key: values[0] for key, values in seen.items()}),
        MappingProxyType({key: tuple(values) for key, values in seen.items() if len(values) > 1}),
    )


@dataclass(frozen=True, slots=True)
class Supply:
    """One power supply: its raw numbers (None where not readable) and the outcomes of what was asked of it."""

    name: str
    kind: str = ""
    """`Battery`, `USB`, `Mains`, …; empty when the type was not readable."""
    online: bool | None = None
    status: str = ""
    current_raw: int | None = None
    current_average_raw: int | None = None
    voltage_raw: int | None = None
    voltage_ocv_raw: int | None = None
    temperature_raw: int | None = None
    capacity_pct: int | None = None
    charge_counter_raw: int | None = None
    power_uw: int | None = None
    technology: str = ""
    denied: bool = False
    doubles: tuple[str, ...] = ()
    """Keys that were printed with contradicting values."""

    @property
    def has_current(self) -> bool:
        """True when a current was readable."""
        return self.current_raw is not None


def _supply(name: str, texts: Mapping[str, str], denied: bool) -> Supply:
    uevent = parse_uevent(texts.get("uevent", ""))

    def number(node: str, key: str) -> int | None:
        value = integer(texts[node]) if node in texts else None
        return value if value is not None and value not in SENTINELS else uevent.number(key)

    online = number("online", "ONLINE")
    return Supply(
        name=name,
        kind=texts.get("type", uevent.values.get("TYPE", "")).strip(),
        online=None if online is None else online > 0,
        status=texts.get("status", uevent.values.get("STATUS", "")).strip(),
        current_raw=number("current_now", "CURRENT_NOW"),
        current_average_raw=number("current_avg", "CURRENT_AVG"),
        voltage_raw=number("voltage_now", "VOLTAGE_NOW"),
        voltage_ocv_raw=number("voltage_ocv", "VOLTAGE_OCV"),
        temperature_raw=number("temp", "TEMP"),
        capacity_pct=number("capacity", "CAPACITY"),
        charge_counter_raw=number("charge_counter", "CHARGE_COUNTER"),
        power_uw=number("power_now", "POWER_NOW"),
        technology=texts.get("technology", uevent.values.get("TECHNOLOGY", "")).strip(),
        denied=denied,
        doubles=tuple(sorted(uevent.doubles)),
    )


def read_supplies(snapshot: Snapshot) -> tuple[Supply, ...]:
    """Every power supply a snapshot has text or a refusal of, batteries first."""
    texts: dict[str, dict[str, str]] = {}
    denied: dict[str, bool] = {}
    for path, reading in snapshot.files.items():
        match = _PATH.match(path)
        if match is None:
            continue
        own = texts.setdefault(match.group(1), {})
        if reading.ok:
            own[match.group(2)] = reading.text
        elif reading.outcome.value == "denied":
            denied[match.group(1)] = True
    supplies = [_supply(name, own, denied.get(name, False)) for name, own in texts.items()]
    return tuple(sorted(supplies, key=_place))


def _place(supply: Supply) -> tuple[int, str]:
    name = supply.name.lower()
    known = _BATTERY_NAMES.index(name) if name in _BATTERY_NAMES else len(_BATTERY_NAMES)
    return (known if supply.kind in ("Battery", "BMS", "") or name in _BATTERY_NAMES else 99, supply.name)


_TLP = re.compile(r"^[ \t]*(/\S+)/([a-z_]+)\s*=\s*(.*?)\s*(?:\[(\w+)\])?[ \t\r]*$")


def parse_tlp(text: str) -> Mapping[str, tuple[str, str]]:
    """`path = value [unit]` lines of tlp-stat as node -> (value, unit)."""
    rows = (_TLP.match(line) for line in text.splitlines())
    return MappingProxyType({row.group(2): (row.group(3), row.group(4) or "") for row in rows if row is not None})
