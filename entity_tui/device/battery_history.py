"""`dumpsys batterystats` and `dumpsys meminfo PID`: slow services that are read once, never in a loop."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatteryStats:
    """Figures since the last charge, in mAh. None where the line is missing. Numbers follow the device's locale."""

    capacity_mah: int | None = None
    learned_capacity_mah: int | None = None
    discharge_mah: float | None = None
    computed_drain_mah: float | None = None
    actual_drain_mah: tuple[float, float] | None = None
    """Lower and upper end; equal when the text gives one number."""
    on_battery: bool | None = None


_ROW = re.compile(r"^[ \t]*([A-Za-z.][A-Za-z. ]{0,30}?)[ \t]+((?:\d{1,12}[ \t]+){4,8}\d{1,12})[ \t]*$", re.MULTILINE)


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else None


def locale_number(text: str | None) -> float | None:
    """`96,6` or `96.6` as a number; None for anything else."""
    word = (text or "").strip().replace(",", ".")
    return float(word) if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", word) else None


def parse_battery_stats(text: str) -> BatteryStats:
    """Read the lines worth having; the per-app list is left alone."""
    drain = re.search(r"actual drain:\s*([\d.,]+?)(?:-([\d.,]+))?[ \t\r]*$", text, re.MULTILINE)
    low = locale_number(drain.group(1)) if drain else None
    high = locale_number(drain.group(2)) if drain and drain.group(2) else low
    capacity = _first(r"^[ \t]*Estimated battery capacity:\s*(\d{1,6}) mAh", text)
    learned = _first(r"^[ \t]*Last learned battery capacity:\s*(\d{1,6}) mAh", text)
    state = _first(r"currently on battery:\s*(true|false)", text)
    return BatteryStats(
        capacity_mah=int(capacity) if capacity else None,
        learned_capacity_mah=int(learned) if learned else None,
        discharge_mah=locale_number(_first(r"^[ \t]*Discharge:\s*([\d.,]+) mAh", text)),
        computed_drain_mah=locale_number(_first(r"Computed drain:\s*([\d.,]+?),\s", text)),
        actual_drain_mah=None if low is None or high is None else (low, high),
        on_battery=None if state is None else state == "true",
    )


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Totals of one process in kB. PSS adds compressed swap and so can exceed RSS."""

    pid: int | None = None
    total_pss_kb: int | None = None
    swap_pss_kb: int | None = None
    total_rss_kb: int | None = None
    native_heap_pss_kb: int | None = None


def parse_process_memory(text: str) -> ProcessMemory:
    """Read `dumpsys meminfo PID`: the TOTAL row's columns by the header's order."""
    pid = _first(r"MEMINFO in pid (\d{1,9})", text)
    rows = {name.strip(): [int(word) for word in numbers.split()] for name, numbers in _ROW.findall(text)}
    total = rows.get("TOTAL", [])
    heap = rows.get("Native Heap", [])
    return ProcessMemory(
        pid=int(pid) if pid else None,
        total_pss_kb=total[0] if total else None,
        swap_pss_kb=total[3] if len(total) > 4 else None,
        total_rss_kb=total[4] if len(total) > 4 else None,
        native_heap_pss_kb=heap[0] if heap else None,
    )
