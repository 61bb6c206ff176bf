"""Boards: the rows of a monitor that prints clocks and heat, kernel lines about cores that were switched off for heat,
and the Raspberry Pi's throttle bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from entity_tui.device.numbers import decimal

SENTINEL_C = frozenset({-75000.0, -75.0, 0.0})
_ROW = re.compile(r"^(\d{2}:\d{2}:\d{2}):\s+(\S+)\s+([\d.]+)\s+(\d{1,3})%")
_TEMPERATURE = re.compile(r"(-?\d{1,6}(?:\.\d+)?)°C")
_WATTS = re.compile(r"\s([\d.]{1,8})W\b")
_MILLIWATTS_HEAD = re.compile(r"\bmW[ \t\r]*$")


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row: clocks in MHz in the header's order (empty when not available), °C or None with the raw text kept."""

    clock: str
    mhz: tuple[int, ...]
    load_pct: int
    celsius: float | None
    celsius_raw: str
    pmic_w: float | None = None
    wall_mw: int | None = None


@dataclass(frozen=True, slots=True)
class BoardMonitor:
    """A monitor's rows and the clock domains its header names. `kernel_and_firmware` means the two clocks are one
    core's, as the kernel and as the firmware see it.
    """

    domains: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    kernel_and_firmware: bool = False


def _clocks(word: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,5}(?:/\d{1,5})*)MHz", word)
    return tuple(int(part) for part in match.group(1).split("/")) if match else ()


def _row(line: str, has_wall: bool) -> BoardRow | None:
    match = _ROW.match(line)
    if match is None:
        return None
    heat = _TEMPERATURE.search(line)
    raw = heat.group(1) if heat else ""
    value = decimal(raw)
    watts = _WATTS.search(line)
    wall = re.search(r"\s(\d{1,7})[ \t\r]*$", line) if has_wall else None
    wall_mw = int(wall.group(1)) if wall else None
    return BoardRow(
        clock=match.group(1),
        mhz=_clocks(match.group(2)),
        load_pct=int(match.group(4)),
        celsius=None if value is None or value in SENTINEL_C or not -30 <= value <= 130 else value,
        celsius_raw=raw,
        pmic_w=decimal(watts.group(1)) if watts else None,
        # The first sample of the wall meter is 0 before it has measured anything.
        wall_mw=wall_mw or None,
    )


def parse_board_monitor(text: str) -> BoardMonitor:
    """Rows of `HH:MM:SS: CLOCKS load %cpu … Temp`; the header names the clock domains."""
    lines = text.splitlines()
    header = next((line for line in lines if line.strip().startswith("Time")), "")
    words = header.split()
    domains = tuple(words[1].split("/")) if len(words) > 1 and "/" in words[1] else ()
    if len(words) > 1 and words[1] == "big.LITTLE":
        domains = ("big", "LITTLE")
    has_wall = bool(_MILLIWATTS_HEAD.search(header))
    rows = tuple(row for line in lines if (row := _row(line, has_wall)) is not None)
    return BoardMonitor(domains, rows, kernel_and_firmware=domains == ("fake", "real"))


@dataclass(frozen=True, slots=True)
class CoreEvent:
    """A core that went off or came back, with the kernel's time in seconds."""

    t_s: float
    cpu: int
    online: bool


_OFF = re.compile(r"^\[\s*([\d.]{1,15})\]\s+CPU(\d{1,4}): shutdown[ \t\r]*$", re.MULTILINE)
_ON = re.compile(r"^\[\s*([\d.]{1,15})\]\s+CPU(\d{1,4}): Booted secondary processor", re.MULTILINE)
_UNDERVOLTAGE = re.compile(r"Undervoltage detected", re.IGNORECASE)


def parse_core_events(text: str) -> tuple[CoreEvent, ...]:
    """Cores the kernel switched off and on again, in time order."""
    events = [CoreEvent(t, int(cpu), False) for at, cpu in _OFF.findall(text) if (t := decimal(at)) is not None]
    events += [CoreEvent(t, int(cpu), True) for at, cpu in _ON.findall(text) if (t := decimal(at)) is not None]
    return tuple(sorted(events, key=lambda event: (event.t_s, event.cpu)))


def count_undervoltage(text: str) -> int:
    """How often the kernel reported under-voltage."""
    return len(_UNDERVOLTAGE.findall(text))


@dataclass(frozen=True, slots=True)
class PiThrottle:
    """`vcgencmd get_throttled`: what holds now, and what has happened since boot, kept apart."""

    now: tuple[str, ...]
    since_boot: tuple[str, ...]


_BITS = ("under-voltage", "frequency capped", "throttled", "soft temperature limit")


def parse_pi_throttle(text: str) -> PiThrottle | None:
    """Bits 0..3 are now, 16..19 since boot; None when the text is no such answer."""
    match = re.search(r"throttled=0x([0-9a-fA-F]{1,8})\b", text)
    if match is None:
        return None
    value = int(match.group(1), 16)
    return PiThrottle(
        tuple(name for bit, name in enumerate(_BITS) if value >> bit & 1),
        tuple(name for bit, name in enumerate(_BITS) if value >> (16 + bit) & 1),
    )
