"""Which cluster is faster than which, on what evidence, and what to call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from entity_tui.device.core_drafts import Draft
from entity_tui.device.cpu_lists import format_cpu_list
from entity_tui.device.midr import TIER_ORDER, core_model
from entity_tui.device.topology import Cluster, Core


def _most_common(values: Sequence[object]) -> object:
    return Counter(values).most_common(1)[0][0]


def _cluster_of(members: Sequence[Draft]) -> Cluster:
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


def _tier(members: Sequence[Draft]) -> int | None:
    tiers = [
        TIER_ORDER[model.tier]
        for draft in members
        if (model := core_model(draft.core.implementer, draft.core.part, draft.core.variant)) is not None
    ]
    return max(tiers) if tiers else None


def order_groups(
    groups: Sequence[list[Draft]], conflicts: list[str]
) -> tuple[list[tuple[list[Draft], Cluster, tuple[int, ...] | None]], str]:
    """Groups fastest first with the key they were ordered by (None: nothing says how fast they are)."""
    rows = [(members, _cluster_of(members), _tier(members)) for members in groups]
    by_capacity = bool(rows) and all(draft.core.capacity is not None for members, _, _ in rows for draft in members)
    signal = "capacity" if by_capacity else _second_signal([(cluster, tier) for _, cluster, tier in rows])

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


def _second_signal(rows: Sequence[tuple[Cluster, int | None]]) -> str:
    """Frequency, unless some cluster lacks one and the designs alone settle the order."""
    clocks = [cluster.max_freq_khz for cluster, _ in rows]
    tiers = [tier for _, tier in rows]
    if rows and None in clocks and None not in tiers and len(set(tiers)) == len(rows):
        return "core id"
    if any(clock is not None for clock in clocks):
        return "frequency"
    return "core id" if any(tier is not None for tier in tiers) else "none"


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
    """PERF, MID…, LITTLE by rank; ALL where every core is of one rank; UNKNOWN where nothing says how fast.

    Beside an unknown cluster nothing is called LITTLE, and a lone known one is CORE: the unknown may be either.
    """
    highest = max((rank for rank in ranks if rank is not None), default=-1)
    last = highest if None not in ranks else highest + 1
    middle = {rank for rank in ranks if rank is not None and 0 < rank < last}
    words = []
    for rank in ranks:
        if rank is None:
            words.append("UNKNOWN")
        elif highest == 0:
            words.append("CORE" if None in ranks else "ALL")
        elif rank == 0:
            words.append("PERF")
        elif rank == highest and None not in ranks:
            words.append("LITTLE")
        else:
            words.append("MID" if len(middle) == 1 else f"MID{rank}")
    return words


def name_clusters(
    ordered: Sequence[tuple[list[Draft], Cluster, tuple[int, ...] | None]], signal: str
) -> tuple[tuple[Core, ...], tuple[Cluster, ...]]:
    """Give each cluster its index, rank and label, and each core its cluster."""
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
    if len(ordered) == 1 and ranks == [None] and ordered[0][1].name is not None:
        # One design everywhere: all cores are equally fast, however fast that is.
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
