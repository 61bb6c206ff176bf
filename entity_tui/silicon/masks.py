"""CPU masks as the command line wants them, and which CPUs are the fastest or the slowest of a topology."""

from __future__ import annotations

from collections.abc import Sequence

from entity_tui.device.cpu_lists import format_cpu_list, format_mask, parse_cpu_list, parse_mask
from entity_tui.device.topology import Topology


def core_weights(topology: Topology) -> tuple[dict[int, int | None], str]:
    """The speed weight of every usable CPU and the signal it is from.

    ENTITY's rule: capacity when every CPU reports one above 0, else the highest clock. A CPU without either has the
    weight None; it is never taken for the slowest.
    """
    usable = [core for cpu in topology.usable if (core := topology.core(cpu)) is not None]
    if usable and all(core.capacity is not None for core in usable):
        return {core.cpu: core.capacity for core in usable}, "cpu_capacity"
    if usable and all(core.max_freq_khz is not None for core in usable):
        return {core.cpu: core.max_freq_khz for core in usable}, "cpuinfo_max_freq"
    if topology.signal == "core id":
        ranks = {cluster.index: cluster.rank for cluster in topology.clusters}
        highest = max((rank for rank in ranks.values() if rank is not None), default=0)
        weights = {core.cpu: None if (rank := ranks[core.cluster]) is None else highest - rank + 1 for core in usable}
        return weights, "core id"
    if any(core.max_freq_khz is not None for core in usable):
        return {core.cpu: core.max_freq_khz for core in usable}, "cpuinfo_max_freq"
    return {core.cpu: None for core in usable}, "none"


def cluster_ranks(topology: Topology) -> dict[int, int]:
    """Each usable CPU's cluster rank, 0 the fastest; unknown ranks last."""
    ranks = {cluster.index: cluster.rank for cluster in topology.clusters}
    found: dict[int, int] = {}
    for cpu in topology.usable:
        core = topology.core(cpu)
        rank = None if core is None else ranks.get(core.cluster)
        found[cpu] = len(ranks) if rank is None else rank
    return found


def ranked(topology: Topology) -> tuple[int, ...]:
    """Usable CPUs fastest first, unknown ones last; equals by their cluster's rank, then by CPU number.

    ENTITY leaves the order among equals open; here a bigger design of the same clock goes first.
    """
    weights, _ = core_weights(topology)
    ranks = cluster_ranks(topology)
    return tuple(sorted(weights, key=lambda cpu: (-(weights[cpu] or 0), ranks[cpu], cpu)))


def fastest(topology: Topology, k: int) -> tuple[int, ...]:
    """The k fastest usable CPUs in ascending order; unknown ones only when the known ones do not suffice."""
    return tuple(sorted(ranked(topology)[: max(0, k)]))


def slowest(topology: Topology, k: int) -> tuple[int, ...]:
    """The k slowest usable CPUs of known speed, ascending; fewer when fewer are known."""
    weights, signal = core_weights(topology)
    known = [cpu for cpu in weights if weights[cpu] is not None]
    if signal == "none":
        known = list(weights)
    ranks = cluster_ranks(topology)
    known.sort(key=lambda cpu: (weights[cpu] or 0, -ranks[cpu], cpu))
    return tuple(sorted(known[: max(0, k)]))


def mask_of(cpus: Sequence[int]) -> str | None:
    """The mask of some CPUs, None for none: an empty mask is refused by every tool."""
    return format_mask(cpus) if cpus else None


__all__ = [
    "core_weights",
    "fastest",
    "format_cpu_list",
    "format_mask",
    "mask_of",
    "parse_cpu_list",
    "parse_mask",
    "ranked",
    "slowest",
]
