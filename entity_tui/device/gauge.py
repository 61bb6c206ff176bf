"""How often a gauge really changes, and whether it moved at all while something was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median


@dataclass(frozen=True, slots=True)
class GaugeRefresh:
    """What a series of readings tells about the gauge behind it.

    `interval_s` is the median time between changes of the value, None with fewer than two changes. `held_s` is the
    longest time one value stood. `static` is True when the value never changed over at least two readings.
    """

    readings: int
    changes: int
    interval_s: float | None
    held_s: float | None
    static: bool


def refresh(times_s: Sequence[float], values: Sequence[int | float | None]) -> GaugeRefresh:
    """Measure the refresh of a gauge from equally long series; None values are readings that were not there."""
    known = [(t, value) for t, value in zip(times_s, values, strict=True) if value is not None]
    if not known:
        return GaugeRefresh(0, 0, None, None, False)
    moments = [known[0][0]] + [t1 for (_, v0), (t1, v1) in pairwise(known) if v0 != v1]
    changes = len(moments) - 1
    between = [later - earlier for earlier, later in pairwise(moments)]
    # The first stretch began before the series did, so it is no interval; it still counts as held.
    intervals = between[1:]
    held = max([*between, known[-1][0] - moments[-1]])
    return GaugeRefresh(
        readings=len(known),
        changes=changes,
        interval_s=median(intervals) if intervals else None,
        held_s=held,
        static=changes == 0 and len(known) > 1,
    )
