"""Each core as its own texts tell it, before cores are compared with one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from entity_tui.device.cpu_lists import format_cpu_list
from entity_tui.device.cpu_tree import CpuTree, Policy, RawCpu, siblings_of, top_speed
from entity_tui.device.numbers import integer
from entity_tui.device.topology import Core

_EMPTY = RawCpu(-1)


@dataclass(slots=True)
class Draft:
    """A core while it is being put together."""

    core: Core
    sources: dict[str, str] = field(default_factory=dict)
    physical: tuple[int, ...] | None = None


def cpu_numbers(tree: CpuTree, conflicts: list[str]) -> tuple[int, ...]:
    """Every CPU the device has: `present`, widened by what other texts name (said as a conflict)."""
    listed = set(tree.cpuinfo.processors)
    present = tree.lists["present"]
    named = {cpu for cpu, entry in tree.cpus.items() if entry.files}
    online = set(tree.lists["online"] or ())
    if present:
        extra = (listed | online) - set(present)
        if extra:
            conflicts.append(f"present lists {format_cpu_list(present)}, but CPUs {format_cpu_list(extra)} appear too")
        return tuple(sorted({*present, *extra}))
    offline = set(tree.lists["offline"] or ()) if online else set()
    governed = {cpu for policy in tree.policies for cpu in policy.related}
    numbers = listed | named | online | offline | governed
    if not numbers and tree.cpuinfo.shared is not None:
        numbers = {0}
    if not numbers and (tree.cpuinfo.kinds or tree.cpuinfo.gate_line):
        numbers = {0}
    return tuple(sorted(numbers))


def list_conflicts(tree: CpuTree, conflicts: list[str]) -> None:
    """Put into words where the kernel's lists, cpuinfo and the cpufreq directories contradict each other."""
    online, offline = tree.lists["online"], tree.lists["offline"]
    present, listed = tree.lists["present"], tree.cpuinfo.processors
    if online is not None and offline is not None and (both := set(online) & set(offline)):
        conflicts.append(f"CPUs {format_cpu_list(both)} are listed online and offline")
    if online is not None and listed:
        if extra := set(listed) - set(online):
            conflicts.append(f"cpuinfo lists CPUs {format_cpu_list(extra)}, which are not in online")
        if lost := set(online) - set(listed):
            conflicts.append(f"CPUs {format_cpu_list(lost)} are online, but cpuinfo does not list them")
    if present and online is not None and (extra := set(online) - set(present)):
        conflicts.append(f"CPUs {format_cpu_list(extra)} are online but not present")
    for cpu, entry in sorted(tree.cpus.items()):
        related = entry.cpus("cpufreq/related_cpus")
        if related and cpu not in related:
            conflicts.append(f"cpu{cpu}/cpufreq answers for CPUs {format_cpu_list(related)}, not for itself")
            # A directory that answers for other cores says nothing about this one.


def _policy_of(cpu: int, policies: Sequence[Policy]) -> Policy | None:
    """The policy that governs a CPU; of several the one with a speed, then the smallest."""
    having = [policy for policy in policies if cpu in policy.related]
    return min(having, key=lambda policy: (policy.max_freq_khz is None, len(policy.related)), default=None)


def _frequency(cpu: int, entry: RawCpu, policy: Policy | None) -> tuple[int, str] | None:
    related = entry.cpus("cpufreq/related_cpus")
    if (related is None or cpu in related) and (own := top_speed(entry)) is not None:
        return own[0], f"cpu{cpu}/{own[1]}"
    if policy is not None and policy.max_freq_khz is not None:
        return policy.max_freq_khz, f"{policy.source}, same policy"
    return None


def _online(cpu: int, tree: CpuTree) -> tuple[bool | None, str]:
    online, offline = tree.lists["online"], tree.lists["offline"]
    if online is not None:
        return cpu in online, "cpu/online"
    own = tree.cpus.get(cpu, _EMPTY).files.get("online")
    if own is not None and (value := integer(own)) in (0, 1):
        return value == 1, f"cpu{cpu}/online"
    if offline:
        return cpu not in offline, "cpu/offline"
    return None, ""


def draft_core(cpu: int, tree: CpuTree) -> Draft:
    """A core with what its own files and its policy say; its design is not yet known."""
    entry = tree.cpus.get(cpu, RawCpu(cpu))
    policy = _policy_of(cpu, tree.policies)
    sources: dict[str, str] = {}
    frequency = _frequency(cpu, entry, policy)
    if frequency is not None:
        sources["max_freq_khz"] = frequency[1]
    capacity = entry.number("cpu_capacity")
    if capacity is not None:
        sources["capacity"] = f"cpu{cpu}/cpu_capacity"
    online, online_source = _online(cpu, tree)
    if online_source:
        sources["online"] = online_source
    if policy is not None:
        sources["policy"] = policy.source
    lowest = entry.number("cpufreq/cpuinfo_min_freq") or (policy.min_freq_khz if policy is not None else None)
    core = Core(
        cpu=cpu,
        max_freq_khz=None if frequency is None else frequency[0],
        min_freq_khz=lowest,
        freq_limit_khz=entry.number("cpufreq/scaling_max_freq"),
        capacity=capacity,
        policy=None if policy is None else policy.number,
        online=online,
    )
    return Draft(core, sources)


def physical_clusters(tree: CpuTree, cpus: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The physical cluster of each CPU, where the kernel or the vendor's own topology file names one.

    A list names its members whether they are on or off, so one readable list settles all of them. A CPU that two
    lists claim keeps its own; claimed twice by others it has none. Lists of one CPU each say nothing and are dropped.
    """
    own: dict[int, tuple[int, ...]] = {}
    for cpu in cpus:
        found = siblings_of(tree.cpus.get(cpu, RawCpu(cpu)))
        if found is not None:
            own[cpu] = found[0]
    groups = set(own.values())
    if not groups or all(len(group) == 1 for group in groups) or any(set(cpus) <= set(group) for group in groups):
        # Nothing told, or one list for everything: the vendor's file may still know more.
        groups |= set(tree.vendor_clusters)
    claims: dict[int, set[tuple[int, ...]]] = {}
    for group in groups:
        for cpu in group:
            claims.setdefault(cpu, set()).add(group)
    for group in tree.vendor_clusters:
        for cpu in group:
            claims.setdefault(cpu, {group})
    settled = {cpu: own.get(cpu) or next(iter(found)) for cpu, found in claims.items() if cpu in own or len(found) == 1}
    if all(len(group) == 1 for group in settled.values()):
        return {}
    return settled


def kind_of(core: Core) -> tuple[int, int] | None:
    """(implementer, part) of a core, None while either is unknown."""
    return None if core.implementer is None or core.part is None else (core.implementer, core.part)
