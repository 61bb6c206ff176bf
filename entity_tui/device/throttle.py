"""Finding a throttled clock by the clock itself: Android's thermal status can say NONE while it falls to a third."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.device.topology import Topology
from entity_tui.profiles.library import merged


def _limits() -> dict[str, float]:
    """`capped_below` and `dropped_below` as shares of the reference, and the readings a drop must last."""
    found: dict[str, float] = merged("thresholds.yaml")["throttle"]
    return found


class ThrottleSign(StrEnum):
    """What a clock says."""

    NONE = "none"
    CAPPED = "capped"
    DROPPED = "dropped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClockVerdict:
    """One cluster's or policy's clock judged. `share` is the lowest smoothed clock over the reference, 0..1."""

    name: str
    sign: ThrottleSign
    share: float | None = None
    detail: str = ""


def judge_cap(name: str, limit_khz: int | None, hardware_max_khz: int | None) -> ClockVerdict:
    """A cap by `scaling_max_freq` against `cpuinfo_max_freq`."""
    if limit_khz is None or not hardware_max_khz:
        return ClockVerdict(name, ThrottleSign.UNKNOWN, detail="the limit or the top speed is not readable")
    share = limit_khz / hardware_max_khz
    if share < _limits()["capped_below"]:
        words = f"limited to {limit_khz} of {hardware_max_khz} kHz ({share:.0%})"
        return ClockVerdict(name, ThrottleSign.CAPPED, share, words)
    return ClockVerdict(name, ThrottleSign.NONE, share)


def caps(topology: Topology) -> tuple[ClockVerdict, ...]:
    """The caps in force when the snapshot was taken, one verdict per cluster, fastest first."""
    verdicts = []
    for cluster in topology.clusters:
        limits = [
            core.freq_limit_khz
            for cpu in cluster.cpus
            if (core := topology.core(cpu)) is not None and core.freq_limit_khz is not None
        ]
        verdicts.append(judge_cap(cluster.label, min(limits) if limits else None, cluster.max_freq_khz))
    return tuple(verdicts)


def _rolling_low(values: Sequence[int], width: int) -> float:
    """The lowest of the medians of `width` neighbours: one stray reading is no drop."""
    windows = [sorted(values[start : start + width]) for start in range(max(1, len(values) - width + 1))]
    return float(min(window[len(window) // 2] for window in windows))


def judge_drop(
    name: str,
    clocks_khz: Sequence[int | None],
    *,
    reference_khz: int | None = None,
    loaded: Sequence[bool | None] | None = None,
) -> ClockVerdict:
    """A drop of the clock while the core works.

    `reference_khz` is the hardware's top speed or the clock of an unthrottled run; without it the highest clock of the
    series serves, which is blind to a clamp that held throughout, and the detail says so. `loaded` marks readings that
    count; idle cores may clock down freely.
    """
    marks = loaded if loaded is not None else [True] * len(clocks_khz)
    used = [clock for clock, mark in zip(clocks_khz, marks, strict=True) if clock is not None and clock > 0 and mark]
    readings = int(_limits()["readings"])
    if len(used) < readings:
        return ClockVerdict(name, ThrottleSign.UNKNOWN, detail="too few loaded readings")
    own = reference_khz is None or reference_khz <= 0
    reference = max(used) if reference_khz is None or reference_khz <= 0 else reference_khz
    low = _rolling_low(used, readings)
    share = low / reference
    words = f"down to {low:.0f} of {reference} kHz ({share:.0%})"
    if own:
        words += ", against its own highest reading"
    if share < _limits()["dropped_below"]:
        return ClockVerdict(name, ThrottleSign.DROPPED, share, words)
    return ClockVerdict(name, ThrottleSign.NONE, share, words)


def silent_throttle(status: int | None, verdicts: Mapping[str, ClockVerdict] | Sequence[ClockVerdict]) -> str:
    """A sentence when clocks are capped or dropped although Android's status is below MODERATE; empty otherwise."""
    rows = list(verdicts.values()) if isinstance(verdicts, Mapping) else list(verdicts)
    bad = [row for row in rows if row.sign in (ThrottleSign.CAPPED, ThrottleSign.DROPPED)]
    if not bad or (status is not None and status >= 2):
        return ""
    word = "unknown" if status is None else ("NONE", "LIGHT")[status]
    return f"thermal status {word}, yet " + "; ".join(f"{row.name} is {row.detail}" for row in bad)
