"""Small kernel texts: uptime, vmstat, SELinux refusals, and key-value reports of other tools about clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.numbers import decimal, positive


def parse_uptime(text: str) -> tuple[float, float | None] | None:
    """(seconds since boot, idle seconds summed over cores, which may be more); None when the text is no uptime."""
    words = text.split()
    if not words or (up := decimal(words[0])) is None or up < 0:
        return None
    return up, decimal(words[1]) if len(words) > 1 else None


def parse_vmstat(text: str) -> Mapping[str, int]:
    """`/proc/vmstat` as name -> count."""
    rows = re.findall(r"^([a-z][a-z0-9_]{1,60}) (\d{1,18})[ \t\r]*$", text, re.MULTILINE)
    return MappingProxyType({name: int(value) for name, value in rows})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One SELinux denial: who was refused what on which kind of object."""

    permissions: tuple[str, ...]
    source_domain: str
    target_type: str
    object_class: str
    name: str


_AVC = re.compile(
    r"avc:\s+denied\s+\{([^}]*)\}\s+for\s+([^{}]{0,600}?)scontext=\w+:\w+:(\w+):s0\S*\s+tcontext=\w+:\w+:(\w+):s0\S*\s+tclass=(\w+)",
    re.DOTALL,
)


def parse_refusals(text: str) -> tuple[Refusal, ...]:
    """Every `avc: denied` of a log; a denial may run over two lines."""
    found = []
    for permissions, middle, source, target, kind in _AVC.findall(text):
        name = re.search(r'name="([^"]*)"', middle)
        found.append(Refusal(tuple(permissions.split()), source, target, kind, name.group(1) if name else ""))
    return tuple(found)


def parse_key_values(text: str) -> Mapping[str, str]:
    """`key=value` lines of a report, first value wins."""
    found: dict[str, str] = {}
    for key, value in re.findall(r"^[ \t]*([A-Za-z][\w.]*)=(.*?)[ \t\r]*$", text, re.MULTILINE):
        found.setdefault(key, value)
    return MappingProxyType(found)


def parse_top_speeds(text: str) -> Mapping[int, int]:
    """`/sys/devices/system/cpu/cpuN KHZ` lines as CPU -> kHz; a line without a speed is left out."""
    rows = re.findall(r"^/sys/devices/system/cpu/cpu(\d{1,4})\s+(\d{1,9})[ \t\r]*$", text, re.MULTILINE)
    return MappingProxyType({int(cpu): khz for cpu, value in rows if (khz := positive(value)) is not None})


def parse_policy_caps(text: str) -> Mapping[str, tuple[int, int]]:
    """`cores=policyN,LIMIT,HARDWARE_MAX` lines as policy -> (limit, top speed), in kHz."""
    rows = re.findall(r"^cores=(policy\d{1,4}),(\d{1,9}),(\d{1,9})[ \t\r]*$", text, re.MULTILINE)
    return MappingProxyType({name: (int(limit), int(top)) for name, limit, top in rows})
