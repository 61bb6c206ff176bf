"""How many threads each rule gives a device: the only place in the program where a width is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.device.cpu_lists import format_mask
from entity_tui.device.topology import Topology
from entity_tui.silicon.masks import core_weights, fastest, slowest

AUTO_LOWEST, AUTO_HIGHEST = 2, 6
"""ENTITY's clamp of the automatic decode width (`ai_chat.cpp`, top_cluster_core_count)."""
PREFILL_HIGHEST = 6
NAIVE_THREADS = 8
SWEEP_WIDTHS = (2, 4, 6, 8)


def top_cluster_core_count(max_freq_khz: Sequence[int | None]) -> int:
    """ENTITY: cores within 10 % of the fastest clock, inclusive; half the cores when no clock is readable.

    The threshold is f - f // 10 in integer kHz. A core without a clock (None or 0) is never counted.
    """
    known = [freq for freq in max_freq_khz if freq is not None and freq > 0]
    if not known:
        return max(1, len(max_freq_khz) // 2)
    top = max(known)
    threshold = top - top // 10
    return sum(1 for freq in known if freq >= threshold)


def decode_width(max_freq_khz: Sequence[int | None]) -> int:
    """ENTITY's automatic decode width: the top cluster's count, clamped to 2..6."""
    return min(AUTO_HIGHEST, max(AUTO_LOWEST, top_cluster_core_count(max_freq_khz)))


def user_width(asked: int, online: int) -> int:
    """A width the user chose: at least 1, at most the online cores; the automatic clamp does not apply."""
    return max(1, min(online, asked))


def strong_core_count(weights: Sequence[int | None]) -> int:
    """Cores strictly above the weakest known weight; all of them when all are equal; 0 when none is known."""
    known = [weight for weight in weights if weight is not None and weight > 0]
    if not known:
        return 0
    low = min(known)
    return len(weights) if max(known) == low and len(known) == len(weights) else sum(w > low for w in known)


def prefill_width(weights: Sequence[int | None], decode: int) -> int:
    """ENTITY's prefill width: the cores above the slowest tier, at most 6, never narrower than decode."""
    strong = strong_core_count(weights)
    return decode if strong <= 0 else max(decode, min(PREFILL_HIGHEST, strong))


def unity_width(weights: Sequence[int | None]) -> int:
    """Cores at twice the slowest weight or more: another engine's rule, kept as a comparison only."""
    known = [weight for weight in weights if weight is not None and weight > 0]
    return sum(weight >= 2 * min(known) for weight in known) if known else 0


def littletai_threads(online: int) -> int:
    """LITTLETai's decode threads: half the online cores, clamped to 2..6, never above the cores there are."""
    return max(1, min(max(2, min(6, online // 2)), online))


def littletai_reserve(online: int) -> int:
    """LITTLETai's cores left to the system: 2 from six cores up, 1 from three, else none."""
    return 2 if online >= 6 else 1 if online >= 3 else 0


def littletai_batch_threads(online: int) -> int:
    """LITTLETai's prefill threads without a mask: all online cores but the reserve."""
    return max(1, online - littletai_reserve(online))


def background_share(online: int) -> int:
    """LITTLETai's background cores on a device of one class: half of them, at least one."""
    return max(1, online // 2)


def engine_default_width(topology: Topology) -> int | None:
    """What llama.cpp itself would use: distinct thread-sibling lines counted from cpu0 to the first gap.

    Without these files it takes the core count up to 4, else half of it. None when no core is known.
    """
    if topology.thread_sibling_files is not None:
        return topology.thread_sibling_files
    count = len(topology.usable)
    if count == 0:
        return None
    return count if count <= 4 else count // 2


@dataclass(frozen=True, slots=True)
class Widths:
    """The widths and pin sets of one topology. CPU sets are ascending; `pin` is max(decode, prefill) fastest CPUs."""

    decode: int
    prefill: int
    online: int
    decode_cpus: tuple[int, ...]
    prefill_cpus: tuple[int, ...]
    pin_cpus: tuple[int, ...]
    all_cpus: tuple[int, ...]
    top_cluster: int
    """Cores within 10 % of the fastest clock, before the clamp."""
    fast_cores: int
    """Cores strictly above the slowest clock: a description, never a width."""
    little_cpus: tuple[int, ...]
    efficiency: int
    """Threads of the efficiency arm, 0 where the device has no slower tier."""
    efficiency_cpus: tuple[int, ...]
    naive: int
    sweep: tuple[int, ...]
    engine_default: int | None
    signal: str
    """`cpu_capacity`, `cpuinfo_max_freq`, `core id` or `none`: what ranked the CPUs."""
    decode_source: str
    prefill_source: str
    notes: tuple[str, ...] = ()

    @property
    def decode_mask(self) -> str:
        """Hex mask of the decode CPUs."""
        return format_mask(self.decode_cpus)

    @property
    def prefill_mask(self) -> str:
        """Hex mask of the prefill CPUs."""
        return format_mask(self.prefill_cpus)

    @property
    def pin_mask(self) -> str:
        """Hex mask of the pin set."""
        return format_mask(self.pin_cpus)

    @property
    def all_mask(self) -> str:
        """Hex mask of every usable CPU."""
        return format_mask(self.all_cpus)

    @property
    def efficiency_mask(self) -> str:
        """Hex mask of the efficiency arm's CPUs."""
        return format_mask(self.efficiency_cpus)


def _little(clocks: dict[int, int | None]) -> tuple[int, tuple[int, ...]]:
    """(fast count, LITTLE CPUs) by clock, as ENTITY describes a device; CPUs without a clock are neither."""
    known = {cpu: clock for cpu, clock in clocks.items() if clock is not None}
    if not known:
        return len(clocks), ()
    low = min(known.values())
    fast = sum(clock > low for clock in known.values())
    if fast == 0:
        return len(known), ()
    return fast, tuple(sorted(cpu for cpu, clock in known.items() if clock == low))


def widths(topology: Topology) -> Widths:
    """Every width and pin set of a topology, with the signal each one is from."""
    usable = topology.usable
    online = len(usable)
    weights, signal = core_weights(topology)
    clocks = {cpu: core.max_freq_khz for cpu in usable if (core := topology.core(cpu)) is not None}
    clock_list, weight_list = list(clocks.values()), list(weights.values())
    known_clocks = [clock for clock in clock_list if clock is not None]
    notes: list[str] = []
    automatic = decode_width(clock_list) if online else AUTO_LOWEST
    decode = min(automatic, online) if online else automatic
    if decode < automatic:
        notes.append(f"the rule gives {automatic} decode threads; only {online} core is usable")
    prefill = min(prefill_width(weight_list, decode), online) if online else decode
    if len(known_clocks) < len(clock_list):
        notes.append(f"{len(clock_list) - len(known_clocks)} of {len(clock_list)} cores have no readable top clock")
    if signal == "none" and online:
        notes.append("no core's speed is known: the CPUs are taken in numerical order")
    if topology.online is None:
        notes.append("which cores are online could not be read")
    fast, little = _little(clocks)
    efficiency = min(len(little), decode)
    return Widths(
        decode=decode,
        prefill=prefill,
        online=online,
        decode_cpus=fastest(topology, decode),
        prefill_cpus=fastest(topology, prefill),
        pin_cpus=fastest(topology, max(decode, prefill)),
        all_cpus=usable,
        top_cluster=top_cluster_core_count(clock_list) if online else 0,
        fast_cores=fast,
        little_cpus=little,
        efficiency=efficiency,
        efficiency_cpus=slowest(topology, efficiency),
        naive=min(NAIVE_THREADS, online) if online else NAIVE_THREADS,
        sweep=tuple(sorted(width for width in {*SWEEP_WIDTHS, decode} if 2 <= width <= max(online, 1))),
        engine_default=engine_default_width(topology),
        signal=signal,
        decode_source="cores within 10 % of the fastest cpuinfo_max_freq, clamped 2..6"
        if known_clocks
        else "half the cores, clamped 2..6: no clock is readable",
        prefill_source=f"cores above the slowest tier by {signal}, at most 6",
        notes=tuple(notes),
    )
