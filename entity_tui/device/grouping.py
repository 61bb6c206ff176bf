"""From gathered CPU texts to cores and ordered clusters; every guess is named, every contradiction kept in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from entity_tui.device.cluster_order import name_clusters, order_groups
from entity_tui.device.core_drafts import Draft, cpu_numbers, draft_core, kind_of, list_conflicts, physical_clusters
from entity_tui.device.core_names import name_cores
from entity_tui.device.cpu_tree import CpuTree
from entity_tui.device.topology import Topology

Key = tuple[tuple[int, int] | None, int | None, tuple[int, ...] | None, int | None]
"""Design, top speed, physical cluster, and the capacity where there is no speed."""


def _key(draft: Draft) -> Key:
    speed = draft.core.max_freq_khz
    return kind_of(draft.core), speed, draft.physical, None if speed is not None else draft.core.capacity


def _fits(draft: Draft, key: Key, members: Sequence[Draft]) -> bool:
    """True when nothing known of a core speaks against a group."""
    kind, speed, capacity = kind_of(draft.core), draft.core.max_freq_khz, draft.core.capacity
    capacities = {member.core.capacity for member in members if member.core.capacity is not None}
    return (
        (kind is None or key[0] == kind)
        and (speed is None or key[1] == speed)
        and (draft.physical is None or key[2] is None or key[2] == draft.physical)
        and (key[2] is None or draft.core.cpu in key[2])
        and (capacity is None or not capacities or capacity in capacities)
    )


def group_cores(drafts: Sequence[Draft]) -> list[list[Draft]]:
    """Cores of one kind, one top speed and one physical cluster. A core that lacks one of the three joins the only
    group its other marks fit; where several fit it stays apart, unknown.
    """
    groups: dict[Key, list[Draft]] = {}
    waiting: list[Draft] = []
    for draft in drafts:
        key = _key(draft)
        if key[0] is None or key[1] is None:
            waiting.append(draft)
        else:
            groups.setdefault(key, []).append(draft)
    lone: dict[Key, list[Draft]] = {}
    for draft in waiting:
        fitting = [key for key, members in groups.items() if _fits(draft, key, members)]
        marked = any(mark is not None for mark in _key(draft))
        if len(fitting) == 1 and marked:
            groups[fitting[0]].append(draft)
            draft.sources["cluster"] = "the only cluster that fits what is known of this core"
        else:
            lone.setdefault(_key(draft), []).append(draft)
    return [*groups.values(), *lone.values()]


def _sibling_files(tree: CpuTree) -> int | None:
    """Distinct `thread_siblings` lines counted from cpu0 up to the first missing file, as llama.cpp counts.

    The list form of the same file is there whenever the mask is, and serves where only it was asked for.
    """
    seen: set[str] = set()
    cpu = 0
    while (entry := tree.cpus.get(cpu)) is not None:
        text = entry.files.get("topology/thread_siblings", entry.files.get("topology/thread_siblings_list"))
        if text is None:
            break
        seen.add(text.strip())
        cpu += 1
    return len(seen) or None


def _list_sources(tree: CpuTree) -> Mapping[str, str]:
    return MappingProxyType({name: f"cpu/{name}" for name, value in tree.lists.items() if value is not None})


def group(tree: CpuTree) -> Topology:
    """The topology of gathered texts. Never raises; without CPU text there are no cores."""
    conflicts = list(tree.conflicts)
    notes: list[str] = []
    list_conflicts(tree, conflicts)
    numbers = cpu_numbers(tree, conflicts)
    drafts = [draft_core(cpu, tree) for cpu in numbers]
    physical = physical_clusters(tree, numbers)
    named = name_cores(tree, [draft.core for draft in drafts], physical, notes)
    for draft in drafts:
        draft.physical = physical.get(draft.core.cpu)
        found = named.get(draft.core.cpu)
        if found is not None:
            draft.core = found.apply(draft.core)
            draft.sources["name"] = found.source
    ordered, signal = order_groups(group_cores(drafts), conflicts)
    cores, clusters = name_clusters(ordered, signal)
    if any(entry.number("topology/cpu_capacity") for entry in tree.cpus.values()):
        notes.append("topology/cpu_capacity is the vendor's own scale and moves with the clock; it is not used")
    if cores and tree.lists["present"] is None and tree.lists["online"] is None:
        notes.append("no list of CPUs could be read: there may be more cores than these")
    return Topology(
        cores=cores,
        clusters=clusters,
        online=tree.lists["online"],
        present=tree.lists["present"],
        possible=tree.lists["possible"],
        signal=signal,
        conflicts=tuple(dict.fromkeys(conflicts)),
        notes=tuple(dict.fromkeys(notes)),
        userspace_bits=_userspace_bits(tree),
        thread_sibling_files=_sibling_files(tree),
        sources=_list_sources(tree),
    )


def _userspace_bits(tree: CpuTree) -> int | None:
    """32 or 64 by the names listed; None where a list holds both kinds or none."""
    if tree.cpuinfo.has_features_of_both_widths:
        return None
    names = (tree.cpuinfo.gate_line or "").split()
    if {"half", "thumb", "neon"} & set(names):
        return 32
    return 64 if "asimd" in names else None
