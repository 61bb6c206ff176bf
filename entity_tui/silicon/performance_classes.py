"""LITTLETai's performance classes: cores of one top speed and one design, fastest first, evicted from the slow end."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.device.core_drafts import kind_of
from entity_tui.device.midr import core_model
from entity_tui.device.topology import Core, Topology


@dataclass(frozen=True, slots=True)
class PerformanceClass:
    """CPUs a preset treats alike. `max_freq_khz` is None where the classes rest on the core design alone."""

    cpus: tuple[int, ...]
    max_freq_khz: int | None
    name: str | None


def _tier(core: Core) -> int:
    """0 for a little design, 1 for everything else, unknown ones included."""
    model = core_model(core.implementer, core.part, core.variant)
    return 0 if model is not None and model.tier == "little" else 1


def performance_classes(topology: Topology) -> tuple[tuple[PerformanceClass, ...], str]:
    """The classes of the usable cores, fastest first, and what they rest on.

    Key: top speed and design (implementer, part); the text of the register, its revision and its padding do not
    split a class. Order: speed, then little or not, then first appearance. Where a core's speed is unknown, speeds
    are not used at all: the designs decide if all are known, else everything is one class. A core without a speed is
    never the slowest by that.
    """
    cores = [core for cpu in topology.usable if (core := topology.core(cpu)) is not None]
    if cores and all(core.max_freq_khz is not None for core in cores):
        signal = "frequency and design"
        keys = [(core.max_freq_khz or 0, _tier(core), kind_of(core)) for core in cores]
    elif cores and all(kind_of(core) is not None for core in cores):
        signal = "design, frequency unknown"
        keys = [(0, _tier(core), kind_of(core)) for core in cores]
    else:
        signal = "one class, frequency unknown"
        keys = [(0, 0, None) for _ in cores]
    groups: dict[tuple[int, int, tuple[int, int] | None], list[Core]] = {}
    for key, core in zip(keys, cores, strict=True):
        groups.setdefault(key, []).append(core)
    ordered = sorted(groups.items(), key=lambda item: (-item[0][0], -item[0][1]))
    return (
        tuple(
            PerformanceClass(
                tuple(core.cpu for core in members),
                key[0] or None,
                members[0].name if len({core.name for core in members}) == 1 else None,
            )
            for key, members in ordered
        ),
        signal,
    )


def eviction_order(classes: tuple[PerformanceClass, ...]) -> tuple[int, ...]:
    """CPUs in the order a reserve takes them: slowest class first, highest number first within it."""
    return tuple(cpu for group in reversed(classes) for cpu in sorted(group.cpus, reverse=True))
