"""What a Mac tells of its heat, clocks and power: powermetrics text, pmset, and the sudoless samplers' JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_CLUSTER = re.compile(r"^(\w+)-Cluster HW active (frequency|residency):\s*([\d.]{1,12})\s*(MHz|%)", re.MULTILINE)
_POWER = re.compile(r"^([\w ()+]+?) Power(?: \([^)]*\))?:\s*(\d{1,9}) mW[ \t\r]*$", re.MULTILINE)
_PRESSURE = re.compile(r"^Current pressure level:\s*(\w+)[ \t\r]*$", re.MULTILINE)
_SPEED_LIMIT = re.compile(r"CPU_Speed_Limit\s*=\s*(\d{1,3})")


@dataclass(frozen=True, slots=True)
class PowerMetrics:
    """Clusters by the names they carry (they are not fixed), power in mW. A power printed twice with different
    values keeps every one of them: which is right is not for a parser to guess.
    """

    cluster_mhz: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    cluster_busy_pct: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    power_mw: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    pressure: str = ""


def parse_powermetrics(text: str) -> PowerMetrics:
    """Read the lines of one sample; anything else is left alone."""
    mhz: dict[str, float] = {}
    busy: dict[str, float] = {}
    for name, what, value, _ in _CLUSTER.findall(text):
        if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
            (mhz if what == "frequency" else busy)[name] = float(value)
    power: dict[str, list[int]] = {}
    for name, value in _POWER.findall(text):
        power.setdefault(name.strip(), []).append(int(value))
    pressure = _PRESSURE.search(text)
    return PowerMetrics(
        MappingProxyType(mhz),
        MappingProxyType(busy),
        MappingProxyType({name: tuple(values) for name, values in power.items()}),
        pressure.group(1) if pressure else "",
    )


def parse_pmset_therm(text: str) -> int | None:
    """The CPU speed limit in percent; None where nothing was recorded, which is not a statement about heat."""
    match = _SPEED_LIMIT.search(text)
    return int(match.group(1)) if match else None


@dataclass(frozen=True, slots=True)
class SudolessSample:
    """One JSON object of a sudoless sampler; None where a key is missing."""

    cpu_temp_c: float | None = None
    gpu_temp_c: float | None = None
    cpu_power_w: float | None = None
    system_power_w: float | None = None
    memory_total_bytes: int | None = None


def _without_comments(text: str) -> str:
    """JSON with `// …` comments and commas before a closing bracket taken out."""
    plain = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*', lambda match: match.group(1) or "", text)
    return re.sub(r",(\s*[}\]])", r"\1", plain)


def _number(data: Any, *path: str) -> float | None:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return float(data) if isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < 1e15 else None


def parse_sudoless(text: str) -> SudolessSample:
    """Read the first JSON object of the text, with comments and trailing commas if it has them."""
    start = text.find("{")
    if start < 0:
        return SudolessSample()
    try:
        data, _ = json.JSONDecoder().raw_decode(_without_comments(text[start:]))
    except (ValueError, RecursionError):
        return SudolessSample()
    total = _number(data, "memory", "ram_total")
    return SudolessSample(
        cpu_temp_c=_number(data, "temp", "cpu_temp_avg"),
        gpu_temp_c=_number(data, "temp", "gpu_temp_avg"),
        cpu_power_w=_number(data, "cpu_power"),
        system_power_w=_number(data, "sys_power"),
        memory_total_bytes=None if total is None else int(total),
    )
