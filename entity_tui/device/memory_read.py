"""Memory and pressure out of the kernel's texts, and out of a Mac's commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from entity_tui.device.memory import Memory, Pressure
from entity_tui.device.numbers import decimal, integer
from entity_tui.device.snapshot import Outcome, Snapshot

_LINE = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9_()]*):\s+(\d{1,15})(?:\s*kB)?[ \t\r]*$", re.MULTILINE)
_PRESSURE = re.compile(r"^(some|full)\s+(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(avg10|avg60|avg300|total)=(\S+)")
_VM_STAT = re.compile(r'^"?([A-Z][A-Za-z -]+?)"?:\s+(\d{1,15})\.?[ \t\r]*$', re.MULTILINE)


def parse_meminfo(text: str) -> Mapping[str, int]:
    """`/proc/meminfo` as key -> kB; lines that are no `Name: number kB` are skipped."""
    found: dict[str, int] = {}
    for key, value in _LINE.findall(text):
        found.setdefault(key, int(value))
    return MappingProxyType(found)


def parse_pressure(text: str) -> tuple[Pressure, ...]:
    """The `some` and `full` lines of a PSI file."""
    rows = []
    for kind, rest in _PRESSURE.findall(text):
        values = dict(_PAIR.findall(rest))
        if "total" in values or "avg10" in values:
            rows.append(
                Pressure(
                    kind,
                    decimal(values.get("avg10", "")),
                    decimal(values.get("avg60", "")),
                    decimal(values.get("avg300", "")),
                    integer(values.get("total", "")),
                )
            )
    return tuple(rows)


def parse_mm_stat(text: str) -> tuple[int, int] | None:
    """zram's (original, compressed) bytes from `mm_stat`; None when it is not one."""
    words = [integer(word) for word in text.split()]
    if len(words) < 3 or words[0] is None or words[1] is None or words[0] < 0 or words[1] < 0:
        return None
    return words[0], words[1]


def parse_vm_stat(text: str) -> tuple[int | None, Mapping[str, int]]:
    """A Mac's `vm_stat`: (page size in bytes, pages by name)."""
    size = re.search(r"page size of (\d{3,6}) bytes", text)
    pages = {key.strip(): int(value) for key, value in _VM_STAT.findall(text)}
    return (int(size.group(1)) if size else None), MappingProxyType(pages)


def _mac(snapshot: Snapshot) -> Memory:
    total = None
    for line in ("sysctl hw", "sysctl hw.memsize"):
        match = re.search(r"^hw\.memsize:\s*(\d{6,15})[ \t\r]*$", snapshot.command(line).text, re.MULTILINE)
        total = total or (int(match.group(1)) // 1024 if match else None)
    size, pages = parse_vm_stat(snapshot.command("vm_stat").text)
    names = ("Pages free", "Pages inactive", "Pages speculative", "Pages purgeable")
    available = None
    if size is not None and "Pages free" in pages:
        available = sum(pages.get(name, 0) for name in names) * size // 1024
    if total is None and available is None:
        return Memory()
    return Memory(
        total_kb=total,
        available_kb=available,
        page_bytes=size,
        outcome=Outcome.OK.value,
        sources=MappingProxyType({"total_kb": "sysctl hw.memsize", "available_kb": "vm_stat (free and reclaimable)"}),
    )


def read_memory(snapshot: Snapshot) -> Memory:
    """The memory of a snapshot. MemAvailable is never replaced by MemFree: without the line it stays None."""
    reading = snapshot.file("/proc/meminfo")
    pressure = snapshot.file("/proc/pressure/memory")
    lines = parse_pressure(pressure.text) if pressure.ok else ()
    if not reading.ok:
        mac = _mac(snapshot)
        if mac.outcome == "ok":
            return mac
        return Memory(outcome=reading.outcome.value, pressure=lines, pressure_outcome=pressure.outcome.value)
    values = parse_meminfo(reading.text)
    zram = parse_mm_stat(snapshot.file("/sys/block/zram0/mm_stat").text)
    names = {
        "total_kb": "MemTotal",
        "available_kb": "MemAvailable",
        "free_kb": "MemFree",
        "cached_kb": "Cached",
        "swap_total_kb": "SwapTotal",
        "swap_free_kb": "SwapFree",
    }
    return Memory(
        total_kb=values.get("MemTotal") or None,
        available_kb=values.get("MemAvailable"),
        free_kb=values.get("MemFree"),
        cached_kb=values.get("Cached"),
        swap_total_kb=values.get("SwapTotal"),
        swap_free_kb=values.get("SwapFree"),
        zram_original_bytes=None if zram is None else zram[0],
        zram_compressed_bytes=None if zram is None else zram[1],
        pressure=lines,
        outcome=Outcome.OK.value if values else Outcome.SUSPECT.value,
        pressure_outcome=pressure.outcome.value,
        sources=MappingProxyType({field: f"/proc/meminfo {name}" for field, name in names.items() if name in values}),
    )
