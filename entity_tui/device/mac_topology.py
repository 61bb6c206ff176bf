"""A Mac's cores by performance level: exact counts, no clocks, and no numbers a program could pin to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from entity_tui.device.topology import Cluster, Core, Topology

_LABELS = {1: ("ALL",), 2: ("PERF", "LITTLE")}


def mac_topology(sysctl: Mapping[str, int]) -> Topology:
    """The topology of `sysctl hw` values; without performance levels all cores are one cluster.

    Cores are numbered in the order of the levels, fastest first: macOS gives programs no numbers of its own.
    """
    levels = sysctl.get("hw.nperflevels", 0)
    counts = [sysctl.get(f"hw.perflevel{level}.physicalcpu", 0) for level in range(min(levels, 8))]
    counts = [count for count in counts if 0 < count <= 128]
    source = "sysctl hw.perflevelN.physicalcpu"
    if not counts:
        total = sysctl.get("hw.physicalcpu", 0) or sysctl.get("hw.ncpu", 0)
        counts, source = ([total] if 0 < total <= 256 else []), "sysctl hw.physicalcpu"
    labels = _LABELS.get(len(counts), ("PERF", *("MID",) * (len(counts) - 2), "LITTLE"))
    clusters: list[Cluster] = []
    cores: list[Core] = []
    for level, count in enumerate(counts):
        cpus = tuple(range(len(cores), len(cores) + count))
        clusters.append(Cluster(level, labels[level], cpus, rank=level, sources=MappingProxyType({"cpus": source})))
        cores += [Core(cpu, cluster=level, online=True, sources=MappingProxyType({"cluster": source})) for cpu in cpus]
    return Topology(
        tuple(cores),
        tuple(clusters),
        signal="core id" if len(clusters) > 1 else "none",
        notes=("macOS places threads itself: the numbers here are not its own",) if cores else (),
    )
