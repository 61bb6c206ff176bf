"""Which cores a device has, how they group into clusters, and what each of these statements rests on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from entity_tui.device.provenance import no_sources
from entity_tui.device.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Core:
    """One CPU of the kernel's numbering. None means the device did not say; it never means 0.

    `sources` names, per field (`name`, `max_freq_khz`, `capacity`, `online`, `cluster`), the file the value is from.
    """

    cpu: int
    cluster: int = 0
    """Index into `Topology.clusters`."""
    name: str | None = None
    """Core name by the MIDR table, e.g. `Cortex-A78`."""
    implementer: int | None = None
    part: int | None = None
    variant: int | None = None
    revision: int | None = None
    max_freq_khz: int | None = None
    min_freq_khz: int | None = None
    freq_limit_khz: int | None = None
    """`scaling_max_freq` at the time of the snapshot: below `max_freq_khz` means capped."""
    capacity: int | None = None
    policy: int | None = None
    """Number of the cpufreq policy that governs it."""
    online: bool | None = None
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)

    @property
    def midr(self) -> str | None:
        """`0x41/0xd41` where both halves are known."""
        return None if self.implementer is None or self.part is None else f"0x{self.implementer:02x}/0x{self.part:03x}"

    @property
    def short_name(self) -> str | None:
        """The name without the maker's family word: `A78` for `Cortex-A78`."""
        return None if self.name is None else self.name.removeprefix("Cortex-")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cores of one kind at one top speed. `label` only words the rank: PERF, MID, LITTLE, ALL, CORE, UNKNOWN."""

    index: int
    label: str
    cpus: tuple[int, ...]
    name: str | None = None
    max_freq_khz: int | None = None
    capacity: int | None = None
    policy: int | None = None
    """None when its cores belong to several policies or to none that could be read."""
    rank: int | None = 0
    """0 is the fastest; equal clusters share a rank; None when nothing says how fast it is."""
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)


@dataclass(frozen=True, slots=True)
class Topology:
    """Every core and cluster, fastest cluster first, with conflicts kept in words instead of settled silently."""

    cores: tuple[Core, ...] = ()
    """By CPU number."""
    clusters: tuple[Cluster, ...] = ()
    online: tuple[int, ...] | None = None
    present: tuple[int, ...] | None = None
    possible: tuple[int, ...] | None = None
    signal: str = "none"
    """What the order of the clusters rests on: `capacity`, `frequency`, `core id`, or `none`."""
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    userspace_bits: int | None = None
    """32 when the text was read by a 32-bit process."""
    thread_sibling_files: int | None = None
    """How many distinct `thread_siblings` lines stand in a row from cpu0: llama.cpp's own default thread count."""
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)

    def core(self, cpu: int) -> Core | None:
        """The core with that kernel number, None when there is none."""
        place = bisect_left(self.cores, cpu, key=lambda core: core.cpu)
        found = self.cores[place] if place < len(self.cores) else None
        return found if found is not None and found.cpu == cpu else None

    @property
    def usable(self) -> tuple[int, ...]:
        """CPUs a thread can be placed on: the online ones, or all known ones when `online` could not be read."""
        known = tuple(core.cpu for core in self.cores)
        if self.online is None:
            return tuple(core.cpu for core in self.cores if core.online is not False)
        online = set(self.online)
        return tuple(cpu for cpu in known if cpu in online) or known

    @property
    def shape(self) -> str:
        """Cluster sizes fastest first, e.g. `1+4+4`."""
        return "+".join(str(len(cluster.cpus)) for cluster in self.clusters)


def read_topology(snapshot: Snapshot) -> Topology:
    """The topology a snapshot tells, never raising. Without any CPU text the result has no cores."""
    from entity_tui.device.cpu_tree import collect
    from entity_tui.device.grouping import group
    from entity_tui.device.mac_topology import mac_topology

    tree = collect(snapshot)
    found = group(tree)
    if not found.cores and tree.macos:
        return mac_topology(tree.macos)
    return found


__all__ = ["Cluster", "Core", "Topology", "read_topology"]
