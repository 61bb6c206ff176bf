"""How fast the simulated engine is: a bandwidth roof, the slowest thread's share, and what a full phone costs.

decode  every token streams all weights once, split evenly over the threads: the slowest core sets the pace, the
        memory is the roof. `CLOCK_SHARE` of a core's time follows its clock, the rest is memory latency.
prompt  multiplications, split the same way, fully proportional to the clock.
full    a thread for every core the kernel may use leaves none for the system: whoever is preempted holds all others
        at the next barrier. The measured phones lose a third of the prompt speed and half of the decode speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from entity_tui.sim.physics import Load
from entity_tui.sim.silicon import SimCluster, SimSilicon

CLOCK_SHARE = 0.7
FULL_DECODE, FULL_PROMPT = 0.5, 0.66
UNPINNED_DECODE, UNPINNED_PROMPT = 0.93, 0.985
"""What is left when the scheduler moves threads about instead of leaving them on the fast cores."""
TOKEN_OVERHEAD_S = 0.0008
"""Barriers, sampling and graph set-up of one token."""


@dataclass(frozen=True, slots=True)
class Work:
    """The model as the engine sees it: bytes a token streams, and multiply-adds a prompt token costs (2 per weight)."""

    bytes_per_token: float
    flop_per_token: float


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds one token takes, the cores it runs on, and the load that puts on the phone."""

    seconds_per_token: float
    cpus: tuple[int, ...]
    load: Load
    noise: float
    """Relative standard deviation of repeated measurements."""


def place(silicon: SimSilicon, threads: int, allowed: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The cores the threads land on, fastest first, and how many threads the busiest of them carries."""
    capacity = {cpu: cluster.capacity for cpu, cluster in silicon.cluster_of().items()}
    ranked = sorted(allowed, key=lambda cpu: (-capacity[cpu], cpu))
    chosen = tuple(ranked[:threads])
    return chosen, -(-threads // max(1, len(chosen)))


def pace(
    silicon: SimSilicon,
    work: Work,
    *,
    threads: int,
    allowed: Sequence[int],
    online: Sequence[int],
    now_khz: Mapping[str, int],
    prompt: bool,
    foreign: Mapping[int, float] | None = None,
) -> Pace:
    """The pace of a phase with `threads` threads that may run on `allowed` cores at the present clocks.

    `foreign` is how busy other work keeps each core. Raises ValueError when no core is allowed.
    """
    usable = [cpu for cpu in allowed if cpu in set(online)]
    if not usable:
        raise ValueError("no core of the mask is online")
    cpus, stacked = place(silicon, threads, usable)
    cluster_of = silicon.cluster_of()
    shares = foreign or {}
    slowest = min(_core_rate(cluster_of[cpu], now_khz, prompt) * (1 - shares.get(cpu, 0.0)) for cpu in cpus)
    together = slowest * len(cpus) / (1 if stacked == 1 else stacked * 1.6)
    full, moved, noise = len(cpus) >= len(online), len(usable) > len(cpus), 0.012
    if full and len(cpus) > 2:
        together = min(together, silicon.bandwidth_gb_per_s) if not prompt else together
        together *= FULL_PROMPT if prompt else FULL_DECODE
        noise = 0.06
    elif moved:
        together *= UNPINNED_PROMPT if prompt else UNPINNED_DECODE
        noise = 0.02
    if any(shares.get(cpu, 0.0) > 0.05 for cpu in cpus):
        together *= 0.45
        noise = 0.12
    if prompt:
        seconds = work.flop_per_token / (together * 1e9)
        moved_gb_s = silicon.bandwidth_gb_per_s * 0.35
    else:
        rate = min(together, silicon.bandwidth_gb_per_s)
        seconds = work.bytes_per_token / (rate * 1e9) + TOKEN_OVERHEAD_S
        moved_gb_s = work.bytes_per_token / seconds / 1e9
    waiting = 0.5 if full and len(cpus) > 2 else 0.08
    load = Load(busy=dict.fromkeys(cpus, 1 - waiting), waiting=dict.fromkeys(cpus, waiting), memory_gb_per_s=moved_gb_s)
    return Pace(seconds, cpus, load, noise)


def _core_rate(cluster: SimCluster, now_khz: Mapping[str, int], prompt: bool) -> float:
    """GB/s or Gflop/s of one core at its cluster's present clock."""
    slowdown = cluster.max_khz / max(1, now_khz[cluster.name])
    if prompt:
        return cluster.prompt_gflop_per_s / slowdown
    return cluster.decode_gb_per_s / (CLOCK_SHARE * slowdown + 1 - CLOCK_SHARE)


def jitter(random: Random, noise: float) -> float:
    """A factor around 1 for one repetition; slow outliers are likelier than fast ones, as on a phone."""
    return max(0.5, random.gauss(1.0, noise) + (abs(random.gauss(0, noise)) if random.random() < 0.15 else 0.0))
