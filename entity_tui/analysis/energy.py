"""Joules from a slow gauge: a trapezoid with closed ends, no bridged gaps, a reason instead of a doubtful number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from entity_tui.analysis.signed_rank import Floats

PERIOD_S = 0.150
"""How often the recorder reads the gauge inside a cell."""

BRIDGED_PERIODS = 3.0
"""A gap longer than this many periods is not bridged."""

SMALLEST_COVERAGE = 0.95
CLAIM_SECONDS = 60.0
"""Decode seconds from which a cell may carry an energy claim: gauges refresh every 1 to 7 s."""

PLAUSIBLE_W = (0.05, 25.0)
"""A phone that runs a model draws no less and no more; outside, the unit or the gauge is wrong."""


class GaugeFlag(StrEnum):
    """What the readings themselves say about the gauge."""

    FINE = ""
    STATIC = "gauge_static"
    SLOW = "gauge_slow"


class EndRule(StrEnum):
    """How the window's ends are closed: by interpolation with the readings outside, or not at all (the seeds)."""

    CLOSED = "closed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """Readings inside and around a window, sorted, without repeated time stamps.

    `discarded` counts readings that could not be used (empty, not a number) and repeated stamps.
    """

    t_s: Floats
    watts: Floats
    discarded: int


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of one window. `energy_j` and `mean_w` are None when `reason` says why.

    `coverage` is the fraction of the window that lies under the trapezoid; `refresh_s` the median time between two
    values of the gauge, None when it never moved.
    """

    energy_j: float | None
    mean_w: float | None
    coverage: float
    flag: GaugeFlag
    refresh_s: float | None
    samples: int
    discarded: int
    gaps: int
    gap_s: float
    reason: str = ""

    @property
    def claimable(self) -> bool:
        """True when nothing but the length of the window stands between this number and a claim."""
        return self.energy_j is not None and self.flag is GaugeFlag.FINE


def trace(t_s: Sequence[float | None], watts: Sequence[float | None]) -> PowerTrace:
    """Sort the readings by time, drop unusable ones and repeated stamps (the first stays), and count what was dropped.

    The magnitude is used: many gauges report discharge as negative. Shapes (n,) and (n,).
    """
    pairs = [
        (float(t), abs(float(w)))
        for t, w in zip(t_s, watts, strict=True)
        if t is not None and w is not None and math.isfinite(t) and math.isfinite(w)
    ]
    pairs.sort(key=lambda item: item[0])
    kept: list[tuple[float, float]] = []
    for item in pairs:
        if not kept or item[0] > kept[-1][0]:
            kept.append(item)
    data = np.asarray(kept, dtype=np.float64).reshape(-1, 2)
    return PowerTrace(data[:, 0], data[:, 1], len(t_s) - len(kept))


def integrate(
    readings: PowerTrace,
    start_s: float,
    end_s: float,
    *,
    longest_gap_s: float = BRIDGED_PERIODS * PERIOD_S,
    ends: EndRule = EndRule.CLOSED,
) -> Energy:
    """The energy between two times, whatever its coverage: the rules of `measure` come after this.

    With closed ends a reading outside the window within the bridged gap is interpolated to the end; where there is
    none, the nearest reading inside is held to the end if it is no further away than that. Open ends are the seeds'
    way: only the rows inside the window. Pairs further apart than `longest_gap_s` are counted as gaps and left out.
    """
    t, w = readings.t_s, readings.watts
    inside = (t >= start_s) & (t <= end_s)
    t_in, w_in = t[inside], w[inside]
    if ends is EndRule.CLOSED:
        t_in, w_in = _close(readings, t_in, w_in, start_s, end_s, longest_gap_s)
    elif t_in.size < 2:
        return _nothing("fewer than two readings", int(inside.sum()), readings.discarded)
    if t_in.size < 2 or end_s <= start_s:
        return _nothing("no readings", int(inside.sum()), readings.discarded)
    steps = np.diff(t_in)
    bridged = steps <= longest_gap_s
    joules = float(np.sum((w_in[1:] + w_in[:-1])[bridged] / 2.0 * steps[bridged]))
    seconds = float(np.sum(steps[bridged]))
    flag, refresh = gauge(t[inside], w[inside], end_s - start_s)
    return Energy(
        energy_j=joules,
        mean_w=joules / seconds if seconds > 0 else None,
        coverage=seconds / (end_s - start_s),
        flag=flag,
        refresh_s=refresh,
        samples=int(inside.sum()),
        discarded=readings.discarded,
        gaps=int(np.count_nonzero(~bridged)),
        gap_s=float(np.sum(steps[~bridged])),
    )


def _close(
    readings: PowerTrace, t_in: Floats, w_in: Floats, start_s: float, end_s: float, longest_gap_s: float
) -> tuple[Floats, Floats]:
    t, w = readings.t_s, readings.watts
    before, after = t < start_s, t > end_s
    left = _edge(t[before][-1:], w[before][-1:], t_in[:1], w_in[:1], start_s, longest_gap_s)
    right = _edge(t[after][:1], w[after][:1], t_in[-1:], w_in[-1:], end_s, longest_gap_s)
    parts_t, parts_w = [t_in], [w_in]
    if left is not None and (t_in.size == 0 or t_in[0] > start_s):
        parts_t.insert(0, np.array([start_s]))
        parts_w.insert(0, np.array([left]))
    if right is not None and (t_in.size == 0 or t_in[-1] < end_s):
        parts_t.append(np.array([end_s]))
        parts_w.append(np.array([right]))
    return np.concatenate(parts_t), np.concatenate(parts_w)


def _edge(t_out: Floats, w_out: Floats, t_in: Floats, w_in: Floats, at_s: float, longest_gap_s: float) -> float | None:
    """The power at an end of the window: interpolated, or held from inside, or None when nothing is near enough."""
    if t_out.size and t_in.size and abs(t_in[0] - t_out[0]) <= longest_gap_s:
        share = (at_s - t_out[0]) / (t_in[0] - t_out[0])
        return float(w_out[0] + share * (w_in[0] - w_out[0]))
    if t_in.size and abs(t_in[0] - at_s) <= longest_gap_s:
        return float(w_in[0])
    return None


def gauge(t_s: Floats, watts: Floats, window_s: float) -> tuple[GaugeFlag, float | None]:
    """Whether the gauge moved: static when it never did, slow when its refresh exceeds a quarter of the window."""
    if t_s.size < 2:
        return GaugeFlag.STATIC, None
    moved = np.flatnonzero(np.diff(watts) != 0.0) + 1
    if moved.size == 0:
        return GaugeFlag.STATIC, None
    stamps = np.concatenate((t_s[:1], t_s[moved]))
    refresh = float(np.median(np.diff(stamps)))
    return (GaugeFlag.SLOW if refresh > window_s / 4.0 else GaugeFlag.FINE), refresh


def measure(
    readings: PowerTrace,
    start_s: float,
    end_s: float,
    *,
    charging: bool,
    period_s: float = PERIOD_S,
    plausible_w: tuple[float, float] = PLAUSIBLE_W,
) -> Energy:
    """The energy of a window by the method, or a reason: charging, coverage below 95 %, an implausible mean."""
    found = integrate(readings, start_s, end_s, longest_gap_s=BRIDGED_PERIODS * period_s)
    if found.energy_j is None:
        return found
    if charging:
        return _without(found, "charging")
    if found.coverage < SMALLEST_COVERAGE - 1e-9:
        return _without(found, f"coverage {100 * found.coverage:.0f} %, 95 % is needed")
    if found.mean_w is None or not plausible_w[0] <= found.mean_w <= plausible_w[1]:
        return _without(found, "power_implausible")
    return found


def _without(found: Energy, reason: str) -> Energy:
    return Energy(
        None,
        None,
        found.coverage,
        found.flag,
        found.refresh_s,
        found.samples,
        found.discarded,
        found.gaps,
        found.gap_s,
        reason,
    )


def _nothing(reason: str, samples: int, discarded: int) -> Energy:
    return Energy(None, None, 0.0, GaugeFlag.STATIC, None, samples, discarded, 0, 0.0, reason)


def entity_pass_power_w(watts: Sequence[float]) -> float | None:
    """ENTITY's whole-pass watts: the mean of the samples above zero; None when there is none."""
    positive = [value for value in watts if value > 0]
    return float(np.mean(positive)) if positive else None


def entity_pass_seconds(prompt_tok_s: float, decode_tok_s: float, n_prompt: int = 512, n_gen: int = 128) -> float:
    """ENTITY's length of a pass: PP/pp + TG/tg seconds, prefill included."""
    return n_prompt / prompt_tok_s + n_gen / decode_tok_s
