"""Watches every cluster's clock while it works: a cap or a drop is told whatever the thermal status says."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from entity_tui.device.sample import Sample
from entity_tui.device.throttle import ClockVerdict, ThrottleSign, judge_cap, judge_drop, silent_throttle
from entity_tui.device.topology import Cluster, Topology

LOADED_PCT = 95.0
"""Mean load of a cluster's busiest half, in this tick and the one before, from which its clock is expected to be up.

The load is the mean over a tick, the clock is read at its end: work that stopped within the tick leaves a lower load.
"""
WINDOW = 15
"""Newest ticks a drop is judged on: three seconds at five a second."""


@dataclass(frozen=True, slots=True)
class ThrottleNow:
    """One verdict a cluster, and the sentence for a reader; both clean when nothing throttles."""

    verdicts: tuple[ClockVerdict, ...] = ()
    sentence: str = ""
    """Set only where clocks are held down although Android's status is below MODERATE."""

    @property
    def short(self) -> str:
        """`PERF 36 %` for the worst cluster, empty when none is held down."""
        bad = [
            v for v in self.verdicts if v.sign in (ThrottleSign.CAPPED, ThrottleSign.DROPPED) and v.share is not None
        ]
        worst = min(bad, key=lambda verdict: verdict.share or 0.0, default=None)
        return "" if worst is None else f"{worst.name} {worst.share:.0%}".replace("%", " %")


class ThrottleWatch:
    """Keeps the newest clocks of each cluster of known top speed."""

    def __init__(self, topology: Topology) -> None:
        self._clusters = tuple(cluster for cluster in topology.clusters if cluster.max_freq_khz is not None)
        self._names = {core.cpu: (f"policy{core.policy}", f"cpu{core.cpu}") for core in topology.cores}
        self._clocks: dict[int, deque[int | None]] = {c.index: deque(maxlen=WINDOW) for c in self._clusters}
        self._worked: dict[int, bool] = {}
        self._loaded: dict[int, deque[bool | None]] = {c.index: deque(maxlen=WINDOW) for c in self._clusters}

    def feed(self, sample: Sample, status: int | None) -> ThrottleNow:
        """Take one tick; `status` is Android's thermal status, None where it has none."""
        verdicts = tuple(self._judge(cluster, sample) for cluster in self._clusters)
        return ThrottleNow(verdicts, silent_throttle(status, verdicts))

    def _judge(self, cluster: Cluster, sample: Sample) -> ClockVerdict:
        cap = judge_cap(cluster.label, self._of(cluster, sample.max_freq_khz), cluster.max_freq_khz)
        busy = sorted(value for cpu in cluster.cpus if (value := sample.cpu_busy_pct.get(cpu)) is not None)
        working = fmean(busy[len(busy) // 2 :]) >= LOADED_PCT if busy else None
        clocks, loaded = self._clocks[cluster.index], self._loaded[cluster.index]
        steady = working and self._worked.get(cluster.index, False)
        self._worked[cluster.index] = bool(working)
        clocks.append(self._of(cluster, sample.freq_khz))
        loaded.append(steady)
        drop = judge_drop(
            cluster.label, list(clocks), reference_khz=cluster.max_freq_khz, loaded=[mark or False for mark in loaded]
        )
        # A drop that is going on says more than the cap that may have caused it.
        return drop if drop.sign is ThrottleSign.DROPPED else cap

    def _of(self, cluster: Cluster, readings: Mapping[str, int | None]) -> int | None:
        """The lowest reading of a cluster's policies or cores, None when none was readable."""
        found = [
            value
            for cpu in cluster.cpus
            for name in self._names.get(cpu, ())
            if (value := readings.get(name)) is not None
        ]
        return min(found) if found else None
