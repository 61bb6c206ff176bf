"""What the phone looked like before and after a cell: heat, charger, screen, memory, and who else kept it busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.probe_text import parse_probe
from entity_tui.device.snapshot import Snapshot
from entity_tui.digits import whole
from entity_tui.records.journal_events import CellEvent, LaunchEnd

LOOK_NONCE = "cell"
"""The word the runner puts into the headers of a look, which is otherwise a probe."""
WAKEFULNESS = "dumpsys power | grep mWakefulness"
TICKS_PER_S = 100.0
MB_PER_KB = 1024 / 1e6


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The two looks around one cell, compared. None and empty mean that it could not be read."""

    charging_state: str = ""
    charging_changed: str = ""
    """What changed, in words; empty when nothing did."""
    screen_state: str = ""
    screen_changed: str = ""
    battery_pct: float | None = None
    thermal_status_max: int | None = None
    mem_available_mb: float | None = None
    foreign_cpu_pct: float | None = None
    """CPU time of everything but the workload and the recorder, in % of one core."""
    caps_lowered: str = ""
    """Clock caps that are lower behind the cell than before it, in words."""


def look(data: bytes) -> Snapshot | None:
    """One look as a snapshot; None where the runner left none."""
    text = data.decode("utf-8", "replace")
    return parse_probe(text, LOOK_NONCE) if text.strip() else None


def surroundings(before: bytes, after: bytes, event: CellEvent) -> Surroundings:
    """Compare the look before a cell with the one behind it. Never raises; what is not there stays unknown."""
    first, last = look(before), look(after)
    if first is None:
        return Surroundings()
    one = read_facts(first)
    two = read_facts(last) if last is not None else one
    statuses = [facts.thermal.status for facts in (one, two) if facts.thermal.status is not None]
    screen, screen_after = _screen(first), _screen(last) if last is not None else ""
    return Surroundings(
        charging_state=_charging(one),
        charging_changed=_change(_charging(one), _charging(two)),
        screen_state=screen,
        screen_changed=_change(screen, screen_after or screen),
        battery_pct=one.battery.level_pct,
        thermal_status_max=max(statuses, default=None),
        mem_available_mb=_megabytes(one.memory.available_kb),
        foreign_cpu_pct=None if last is None else _foreign(first, last, event),
        caps_lowered="" if last is None else _caps(first, last),
    )


def _charging(facts: Facts) -> str:
    battery = facts.battery
    if battery.charging is None:
        return ""
    return (
        str(battery.status)
        if battery.status.value != "unknown"
        else ("charging" if battery.charging else "discharging")
    )


def _change(one: str, two: str) -> str:
    return f"{one} → {two}" if one and two and one != two else ""


def _screen(snapshot: Snapshot) -> str:
    text = snapshot.command(WAKEFULNESS).text
    _, _, rest = text.partition("mWakefulness=")
    return rest.split()[0].lower() if rest.split() else ""


def _megabytes(kilobytes: int | None) -> float | None:
    return None if kilobytes is None else round(kilobytes * MB_PER_KB, 1)


def _busy_ticks(snapshot: Snapshot) -> int | None:
    """Ticks all CPUs together were busy since boot (everything but idle and iowait)."""
    for line in snapshot.file("/proc/stat").text.splitlines():
        words = line.split()
        if words and words[0] == "cpu" and len(words) > 8:
            numbers = [number for word in words[1:9] if (number := whole(word)) is not None]
            return sum(numbers) - numbers[3] - numbers[4] if len(numbers) == 8 else None
    return None


def _uptime(snapshot: Snapshot) -> float | None:
    words = snapshot.file("/proc/uptime").text.split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _foreign(first: Snapshot, last: Snapshot, event: CellEvent) -> float | None:
    ticks = _busy_ticks(first), _busy_ticks(last)
    times = _uptime(first), _uptime(last)
    if ticks[0] is None or ticks[1] is None or times[0] is None or times[1] is None or times[1] <= times[0]:
        return None
    own = sum(_own_ticks(launch) for launch in event.launches)
    own += sum(launch.recorder_ticks or 0 for launch in event.launches)
    return round(max(0.0, 100.0 * (ticks[1] - ticks[0] - own) / TICKS_PER_S / (times[1] - times[0])), 1)


def _own_ticks(launch: LaunchEnd) -> float:
    """CPU time of one launch: what its threads were last seen with, or all they could have used if that is more.

    The last look is some time before the end, so the threads' own figures fall short; the bound errs towards calling
    the device quiet, never towards inventing somebody else's load.
    """
    seen = float(sum(thread.cpu_ticks for thread in launch.threads))
    most = launch.threads_requested * (launch.t_end_s - launch.t_start_s) * TICKS_PER_S
    return max(seen, most)


def _clock_caps(snapshot: Snapshot) -> Mapping[str, int]:
    return {
        path: khz
        for path, reading in snapshot.files.items()
        if path.endswith("/scaling_max_freq") and reading.ok and (khz := whole(reading.text.strip())) is not None
    }


def _caps(first: Snapshot, last: Snapshot) -> str:
    one, two = _clock_caps(first), _clock_caps(last)
    fallen = [
        f"{path.split('/')[-2]} {one[path] // 1000} → {two[path] // 1000} MHz"
        for path in sorted(one)
        if path in two and two[path] < one[path]
    ]
    return ", ".join(fallen)
