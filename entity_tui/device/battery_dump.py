"""What `dumpsys battery` prints: live values only, never the vendor's history, records or prose about them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from entity_tui.device.battery import ChargeState
from entity_tui.device.numbers import integer

_LINE = re.compile(r"^[ \t]*([A-Za-z][A-Za-z _]*?)\s*:\s*(.*?)[ \t\r]*$")
_SECTION = re.compile(r"^[ \t]*Current (\S+ )?Battery Service state:", re.MULTILINE)
_STOPPED = re.compile(r"UPDATES STOPPED", re.IGNORECASE)
STATES = {
    1: ChargeState.UNKNOWN,
    2: ChargeState.CHARGING,
    3: ChargeState.DISCHARGING,
    4: ChargeState.NOT_CHARGING,
    5: ChargeState.FULL,
}
HEALTH = {
    1: "unknown",
    2: "good",
    3: "overheat",
    4: "dead",
    5: "overvoltage",
    6: "failure",
    7: "cold",
}
_POWERED = {"AC powered": "ac", "USB powered": "usb", "Wireless powered": "wireless", "Dock powered": "dock"}


@dataclass(frozen=True, slots=True)
class BatteryDump:
    """The raw integers of the dump; None where a line is missing or holds no number."""

    complete: bool = False
    """True when the service's own block was found."""
    plugged_by: tuple[str, ...] = ()
    powered_known: bool = False
    status: ChargeState = ChargeState.UNKNOWN
    health: str = ""
    present: bool | None = None
    level: int | None = None
    scale: int | None = None
    voltage_raw: int | None = None
    temperature_raw: int | None = None
    charge_counter_uah: int | None = None
    current_raw: int | None = None
    current_line: str = ""
    """The line the current came from, as printed."""
    technology: str = ""
    frozen: bool = False


def _blocks(text: str) -> tuple[str, str]:
    """(the service's own block, the vendor's block); either may be empty. History buffers are cut off."""
    own, vendor = "", ""
    heads = list(_SECTION.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        body = re.split(r"^[ \t]*\[\w+LogBuffer\]", text[head.end() : end], maxsplit=1, flags=re.MULTILINE)[0]
        if head.group(1):
            vendor = vendor or body
        else:
            own = own or body
    if (
        not heads
        and re.search(r"^[ \t]*level:", text, re.MULTILINE)
        and re.search(r"^[ \t]*scale:", text, re.MULTILINE)
    ):
        # Notes and excerpts lose the heading; the lines are still the service's own.
        own = re.split(r"^[ \t]*\[\w+LogBuffer\]", text, maxsplit=1, flags=re.MULTILINE)[0]
    return own, vendor


def _values(block: str) -> dict[str, str]:
    """First occurrence of each key. A line of prose has more words than any key and is no exact key."""
    found: dict[str, str] = {}
    for line in block.splitlines():
        match = _LINE.match(line)
        if match is not None:
            found.setdefault(match.group(1), match.group(2))
    return found


def _truth(word: str | None) -> bool | None:
    return {"true": True, "false": False}.get((word or "").lower())


def parse_battery_dump(text: str) -> BatteryDump:
    """Read the dump. CRLF, tabs, lost indentation and cut texts are accepted; what is not there stays None."""
    text = text.replace("\r", "")
    own, vendor = _blocks(text)
    values, vendor_values = _values(own), _values(vendor)
    powered = {name: _truth(values.get(key)) for key, name in _POWERED.items()}
    current_key = "current now" if "current now" in values else "Battery current"
    current_text = values.get("current now", vendor_values.get("Battery current", ""))
    status = integer(values.get("status", ""))
    frozen = bool(_STOPPED.search(text)) or _truth(vendor_values.get("UpdatesStopped")) is True
    return BatteryDump(
        complete=bool(own) and _SECTION.search(text) is not None,
        plugged_by=tuple(name for name, on in powered.items() if on),
        powered_known=any(on is not None for on in powered.values()),
        status=STATES.get(status or 0, ChargeState.UNKNOWN),
        health=HEALTH.get(integer(values.get("health", "")) or 0, ""),
        present=_truth(values.get("present")),
        level=integer(values.get("level", "")),
        scale=integer(values.get("scale", "")),
        voltage_raw=integer(values.get("voltage", "")),
        temperature_raw=integer(values.get("temperature", "")),
        charge_counter_uah=integer(values.get("Charge counter", "")),
        current_raw=integer(current_text),
        current_line=f"{current_key}: {current_text}" if current_text else "",
        technology=values.get("technology", ""),
        frozen=frozen,
    )


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One line of a vendor's battery history: the past, shown as such."""

    clock: str
    level: int | None
    voltage_mv: int | None
    temperature_raw: int | None
    current_raw: int | None
    charge_counter_uah: int | None


_HISTORY_CLOCK = re.compile(r"\b(\d{2}:\d{2}:\d{2})\b")
_HISTORY_PAIR = re.compile(r"\b(level|voltage|temperature|current_avg|cc):(-?\d{1,12})\b")


def parse_battery_history(text: str) -> tuple[HistoryRow, ...]:
    """Rows of `level:57 voltage:3740 … current_avg:-1503 cc:2163750`, one a line that has a clock and a level."""
    rows = []
    for line in text.splitlines():
        clock = _HISTORY_CLOCK.search(line)
        pairs = {key: int(value) for key, value in _HISTORY_PAIR.findall(line)}
        if clock is not None and "level" in pairs:
            rows.append(
                HistoryRow(
                    clock.group(1),
                    pairs.get("level"),
                    pairs.get("voltage"),
                    pairs.get("temperature"),
                    pairs.get("current_avg"),
                    pairs.get("cc"),
                )
            )
    return tuple(rows)
