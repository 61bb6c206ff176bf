"""From gathered CPU texts to cores and ordered clusters; every guess is named, every contradiction kept in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType

from entity_tui.device.core_names import name_cores
from entity_tui.device.cpu_lists import format_cpu_list
from entity_tui.device.cpu_tree import CpuTree, Policy, RawCpu, siblings_of, top_speed
from entity_tui.device.midr import core_model
from entity_tui.device.numbers import integer
from entity_tui.device.topology import Cluster, Core, Topology

_EMPTY = RawCpu(-1)


@dataclass(slots=True)
class _Draft:
    """A core while it is being put together."""

    core: Core
    sources: dict[str, str] = field(default_factory=dict)
    physical: tuple[int, ...] | None = None


def _cpu_numbers(tree: CpuTree, conflicts: list[str]) -> tuple[int, ...]:
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
    numbers = listed | named | online | offline
    if not numbers and tree.cpuinfo.shared is not None:
        numbers = {0}
    if not numbers and (tree.cpuinfo.kinds or tree.cpuinfo.gate_line):
        numbers = {0}
    return tuple(sorted(numbers))


def _list_conflicts(tree: CpuTree, conflicts: list[str]) -> None:
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
        return policy.max_freq_khz, f"{policy.source}/cpuinfo_max_freq (same policy)"
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


def _draft(cpu: int, tree: CpuTree) -> _Draft:
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
    return _Draft(core, sources)


def _physical(tree: CpuTree, cpus: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Physical clusters, believed only where every member names the same set and more than one set exists."""
    named: dict[int, tuple[int, ...]] = {}
    for cpu in cpus:
        found = siblings_of(tree.cpus.get(cpu, RawCpu(cpu)))
        if found is not None:
            named[cpu] = found[0]
    agreed = {cpu: group for cpu, group in named.items() if all(named.get(other, group) == group for other in group)}
    groups = set(agreed.values())
    if len(groups) < 2 or all(len(group) == 1 for group in groups):
        return {}
    return agreed


Key = tuple[tuple[int, int] | None, int | None, tuple[int, ...] | None]


def _kind(core: Core) -> tuple[int, int] | None:
    return None if core.implementer is None or core.part is None else (core.implementer, core.part)


def _group(drafts: Sequence[_Draft]) -> list[list[_Draft]]:
    """Cores of one kind, one top speed and one physical cluster. A core that lacks one of the three joins the only
    group its other marks fit; where several fit it stays apart, unknown.
    """
    groups: dict[Key, list[_Draft]] = {}
    waiting: list[_Draft] = []
    for draft in drafts:
        kind, freq = _kind(draft.core), draft.core.max_freq_khz
        if kind is None or freq is None:
            waiting.append(draft)
        else:
            groups.setdefault((kind, freq, draft.physical), []).append(draft)
    lone: dict[Key, list[_Draft]] = {}
    for draft in waiting:
        kind, freq = _kind(draft.core), draft.core.max_freq_khz
        fitting = [
            key
            for key in groups
            if (kind is None or key[0] == kind)
            and (freq is None or key[1] == freq)
            and (draft.physical is None or key[2] is None or key[2] == draft.physical)
        ]
        marked = kind is not None or freq is not None or draft.physical is not None
        if len(fitting) == 1 and marked:
            groups[fitting[0]].append(draft)
            draft.sources["cluster"] = "the only cluster that fits what is known of this core"
        else:
            lone.setdefault((kind, freq, draft.physical), []).append(draft)
    return [*groups.values(), *lone.values()]


def _most_common(values: Sequence[object]) -> object:
    return Counter(values).most_common(1)[0][0]


def _cluster_of(members: Sequence[_Draft]) -> Cluster:
    cores = [draft.core for draft in members]
    names = [core.name for core in cores if core.name is not None]
    freqs = [core.max_freq_khz for core in cores if core.max_freq_khz is not None]
    capacities = [core.capacity for core in cores if core.capacity is not None]
    policies = {core.policy for core in cores}
    first = min(cores, key=lambda core: core.cpu)
    sources = {
        key: source
        for key in ("name", "max_freq_khz", "capacity")
        if (source := next((d.sources[key] for d in members if key in d.sources), ""))
    }
    return Cluster(
        index=0,
        label="",
        cpus=tuple(sorted(core.cpu for core in cores)),
        name=str(_most_common(names)) if names else None,
        max_freq_khz=max(freqs) if freqs else None,
        capacity=max(capacities) if capacities else None,
        policy=first.policy if len(policies) == 1 else None,
        sources=MappingProxyType(sources),
    )


_TIERS = {"little": 0, "big": 1, "prime": 2}


def _tier(members: Sequence[_Draft]) -> int | None:
    tiers = [
        _TIERS[model.tier]
        for draft in members
        if (model := core_model(draft.core.implementer, draft.core.part, draft.core.variant)) is not None
    ]
    return max(tiers) if tiers else None


def _order(
    groups: Sequence[list[_Draft]], conflicts: list[str]
) -> tuple[list[tuple[list[_Draft], Cluster, tuple[int, ...] | None]], str]:
    """Groups fastest first with the key they were ordered by (None: nothing says how fast they are)."""
    rows = [(members, _cluster_of(members), _tier(members)) for members in groups]
    by_capacity = bool(rows) and all(draft.core.capacity is not None for members, _, _ in rows for draft in members)
    any_freq = any(cluster.max_freq_khz is not None for _, cluster, _ in rows)
    any_tier = any(tier is not None for _, _, tier in rows)
    signal = "capacity" if by_capacity else "frequency" if any_freq else "core id" if any_tier else "none"

    def key(cluster: Cluster, tier: int | None) -> tuple[int, ...] | None:
        if signal == "capacity":
            return (cluster.capacity or 0, cluster.max_freq_khz or 0, tier or 0)
        if signal == "frequency":
            return None if cluster.max_freq_khz is None else (cluster.max_freq_khz, 1 if tier is None else min(tier, 1))
        return None if tier is None else (tier,)

    keyed = [(members, cluster, key(cluster, tier)) for members, cluster, tier in rows]
    known = sorted((row for row in keyed if row[2] is not None), key=lambda row: row[1].cpus)
    known.sort(key=lambda row: row[2] or (), reverse=True)
    unknown = sorted((row for row in keyed if row[2] is None), key=lambda row: row[1].cpus)
    tiers = {id(members): tier for members, _, tier in rows}
    for faster, slower in pairwise(known):
        _speed_conflicts(faster[1], slower[1], (tiers[id(faster[0])], tiers[id(slower[0])]), signal, conflicts)
    return [*known, *unknown], signal


def _speed_conflicts(
    faster: Cluster, slower: Cluster, tiers: tuple[int | None, int | None], signal: str, conflicts: list[str]
) -> None:
    top, low = faster.max_freq_khz, slower.max_freq_khz
    if signal == "capacity" and top is not None and low is not None and top < low:
        conflicts.append(
            f"capacity and clock disagree: CPUs {format_cpu_list(faster.cpus)} are stronger at {top} kHz than "
            f"CPUs {format_cpu_list(slower.cpus)} at {low} kHz"
        )
    if signal == "frequency" and tiers[0] == 0 and tiers[1] is not None and tiers[1] > 0:
        conflicts.append(
            f"{faster.name} clocks higher than {slower.name}; the order follows the clock, the core says otherwise"
        )


def _labels(ranks: Sequence[int | None]) -> list[str]:
    """PERF, MID…, LITTLE by rank; ALL where every core is of one rank; UNKNOWN where nothing says how fast."""
    highest = max((rank for rank in ranks if rank is not None), default=-1)
    words = []
    for rank in ranks:
        if rank is None:
            words.append("UNKNOWN")
        elif highest == 0:
            words.append("ALL" if all(other is not None for other in ranks) else "PERF")
        elif rank == 0:
            words.append("PERF")
        elif rank == highest:
            words.append("LITTLE")
        else:
            words.append("MID" if highest == 2 else f"MID{rank}")
    return words


def _finish(
    ordered: Sequence[tuple[list[_Draft], Cluster, tuple[int, ...] | None]], signal: str
) -> tuple[tuple[Core, ...], tuple[Cluster, ...]]:
    ranks: list[int | None] = []
    for _, _, key in ordered:
        if key is None or (signal == "none" and len(ordered) > 1):
            ranks.append(None)
        elif not ranks:
            ranks.append(0)
        else:
            previous = next(row[2] for row in ordered[: len(ranks)][::-1])
            before = next(rank for rank in ranks[::-1] if rank is not None)
            ranks.append(before if previous == key else before + 1)
    if len(ordered) == 1 and ordered[0][1].cpus and ranks == [None]:
        ranks = [0]
    labels = _labels(ranks)
    clusters: list[Cluster] = []
    cores: list[Core] = []
    for index, ((members, cluster, _), rank, label) in enumerate(zip(ordered, ranks, labels, strict=True)):
        clusters.append(replace(cluster, index=index, rank=rank, label=label))
        cores.extend(
            replace(draft.core, cluster=index, sources=MappingProxyType(dict(draft.sources))) for draft in members
        )
    return tuple(sorted(cores, key=lambda core: core.cpu)), tuple(clusters)


def _sibling_files(tree: CpuTree) -> int | None:
    """Distinct `thread_siblings` lines counted from cpu0 up to the first missing file, as llama.cpp counts."""
    seen: set[str] = set()
    cpu = 0
    while (entry := tree.cpus.get(cpu)) is not None and "topology/thread_siblings" in entry.files:
        seen.add(entry.files["topology/thread_siblings"].strip())
        cpu += 1
    return len(seen) or None


def _list_sources(tree: CpuTree) -> Mapping[str, str]:
    return MappingProxyType({name: f"cpu/{name}" for name, value in tree.lists.items() if value is not None})


def group(tree: CpuTree) -> Topology:
    """The topology of gathered texts. Never raises; without CPU text there are no cores."""
    conflicts = list(tree.conflicts)
    notes: list[str] = []
    _list_conflicts(tree, conflicts)
    numbers = _cpu_numbers(tree, conflicts)
    drafts = [_draft(cpu, tree) for cpu in numbers]
    physical = _physical(tree, numbers)
    named = name_cores(tree, [draft.core for draft in drafts], physical, notes)
    for draft in drafts:
        draft.physical = physical.get(draft.core.cpu)
        found = named.get(draft.core.cpu)
        if found is not None:
            draft.core = found.apply(draft.core)
            draft.sources["name"] = found.source
    ordered, signal = _order(_group(drafts), conflicts)
    cores, clusters = _finish(ordered, signal)
    if any(entry.number("topology/cpu_capacity") for entry in tree.cpus.values()):
        notes.append("topology/cpu_capacity is the vendor's own scale and moves with the clock; it is not used")
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
    line = (tree.cpuinfo.gate_line or "").split()
    if "half" in line or "thumb" in line or "neon" in line:
        return 32
    return 64 if "asimd" in line else None
