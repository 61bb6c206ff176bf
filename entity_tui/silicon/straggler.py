"""What lockstep costs: every token waits for the slowest thread, so one slow core can undo several fast ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.device.topology import Topology
from entity_tui.silicon.masks import core_weights, ranked


@dataclass(frozen=True, slots=True)
class StragglerRow:
    """`threads` on the fastest cores in equal shares: `rate` is threads x the slowest used weight, in units of one
    fastest core; `ideal` is the sum of the used weights, what an uneven split could reach at best.
    """

    threads: int
    rate: float
    ideal: float


@dataclass(frozen=True, slots=True)
class StragglerBound:
    """The bound for every width and the widths that matter.

    `bound` is rate(best)/rate(all): the most that leaving slow cores out can win by compute alone. It says nothing of
    memory bandwidth, heat or the scheduler: it stands beside a measured factor, never in its place.
    """

    rows: tuple[StragglerRow, ...]
    best_threads: int
    bound: float
    signal: str


def lockstep_rate(weights: Sequence[int | float]) -> float:
    """n threads with equal shares finish together with the slowest: n x min(w), 0 for none."""
    return len(weights) * min(weights) if weights else 0.0


def straggler(topology: Topology) -> StragglerBound | None:
    """The bound of a topology; None unless every usable core's weight is known (an unknown core bounds nothing)."""
    weights, signal = core_weights(topology)
    order = [weights[cpu] for cpu in ranked(topology)]
    known = [weight for weight in order if weight is not None]
    if not order or len(known) != len(order) or known[0] <= 0 or signal == "core id":
        return None
    top = known[0]
    rows = tuple(
        StragglerRow(n, lockstep_rate(known[:n]) / top, sum(known[:n]) / top) for n in range(1, len(known) + 1)
    )
    best = max(rows, key=lambda row: (row.rate, -row.threads))
    return StragglerBound(rows, best.threads, best.rate / rows[-1].rate, signal)


def predicted_factor(bound: StragglerBound, from_threads: int, to_threads: int) -> float | None:
    """rate(to)/rate(from) on the fastest cores; None when either width is not a row."""
    rates = {row.threads: row.rate for row in bound.rows}
    if from_threads not in rates or to_threads not in rates or rates[from_threads] <= 0:
        return None
    return rates[to_threads] / rates[from_threads]
