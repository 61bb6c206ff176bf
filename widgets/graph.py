"""Lines of samples on a grid of dots: time bins without interpolation, gaps for the unknown, dashes to tell apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from entity_tui.widgets.ink import SERIES, Ink, Line, Span

Floats: TypeAlias = NDArray[np.float64]

DASHES = ((1,), (1, 1, 0, 0), (1, 1, 1, 0), (1, 0, 0, 0))
"""Which dot columns each series may use, in the order of the series: solid, dotted, dashed, sparse."""
DASH_GLYPHS = ("⠶", "⠂⠂", "⠒⠂", "⠁ ⠁")
ASCII_MARKS = ("*", "o", "+", "x")
HOLD_PERIODS = 1.6
"""A value counts as known for so many sampling periods; later than that is a gap."""
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], dtype=np.uint8)

_BRAILLE = (" ", *(chr(0x2800 + code) for code in range(1, 256)))


@dataclass(frozen=True, eq=False, slots=True)
class Track:
    """One series: its name and its samples. Times and values are parallel, times ascend, NaN is a gap."""

    name: str
    times_s: Floats
    values: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Bins:
    """What one series did in each column: lowest, highest and last value; NaN where nothing was known."""

    low: Floats
    high: Floats
    last: Floats


def bin_track(track: Track, start_s: float, step_s: float, columns: int, period_s: float) -> Bins:
    """Sort samples into `columns` bins of `step_s` seconds from `start_s` on.

    A bin without a sample repeats the one before it while that is younger than `HOLD_PERIODS` sampling periods, so that
    a span with more columns than samples has no holes and a late sample still shows as one.
    """
    nothing = np.full(columns, math.nan)
    times, values = track.times_s, track.values
    if columns <= 0 or len(times) == 0:
        return Bins(nothing, nothing.copy(), nothing.copy())
    edges = start_s + step_s * np.arange(columns + 1)
    begins = np.searchsorted(times, edges[:-1], side="left")
    ends = np.searchsorted(times, edges[1:], side="left")
    low, high, last = nothing, nothing.copy(), nothing.copy()
    filled = np.flatnonzero(ends > begins)
    if len(filled):
        inside = values[: ends[filled[-1]]]
        low[filled] = np.fmin.reduceat(inside, begins[filled])
        high[filled] = np.fmax.reduceat(inside, begins[filled])
        last[filled] = values[ends[filled] - 1]
    empty = np.flatnonzero((ends == begins) & (begins > 0))
    if len(empty):
        before = begins[empty] - 1
        young = edges[empty] - times[before] <= HOLD_PERIODS * period_s
        held = np.where(young, values[before], math.nan)
        low[empty] = high[empty] = last[empty] = held
    return Bins(low, high, last)


def nice_range(low: float, high: float, *, least: float = 1.0) -> tuple[float, float]:
    """Round limits that hold all values with some air, at least `least` apart; they change seldom."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, least
    extent = max(high - low, least)
    step = 10.0 ** math.floor(math.log10(extent))
    for factor in (0.5, 1.0, 2.0, 5.0):
        if extent / (step * factor) <= 4:
            step *= factor
            break
    bottom = math.floor((low - 0.05 * extent) / step) * step
    top = math.ceil((high + 0.05 * extent) / step) * step
    return bottom, max(top, bottom + least)


def limits(bins: Sequence[Bins], *, least: float, floor: float | None = None) -> tuple[float, float]:
    """The vertical range of a graph; `floor` keeps its bottom from going lower (0 for rates and watts)."""
    lows = [float(np.nanmin(b.low)) for b in bins if np.isfinite(b.low).any()]
    highs = [float(np.nanmax(b.high)) for b in bins if np.isfinite(b.high).any()]
    if not lows:
        return (floor or 0.0), (floor or 0.0) + least
    bottom, top = nice_range(min(lows), max(highs), least=least)
    return (bottom if floor is None else max(floor, bottom)), top


def _levels(values: Floats, low: float, high: float, rows: int) -> NDArray[np.int64]:
    """Dot rows from the top, -1 for a gap."""
    with np.errstate(invalid="ignore"):
        place = np.rint((high - values) / (high - low) * (rows - 1))
    place = np.where(np.isfinite(place), np.clip(place, 0, rows - 1), -1)
    return place.astype(np.int64)


def dots(bins: Bins, low: float, high: float, rows: int, dash: Sequence[int], phase: int) -> NDArray[np.bool_]:
    """A (rows, columns) grid of dots of one line; neighbours are joined by a vertical stroke, gaps are not."""
    columns = len(bins.last)
    grid = np.zeros((rows, columns), dtype=np.bool_)
    tops = _levels(bins.high, low, high, rows).tolist()
    floors = _levels(bins.low, low, high, rows).tolist()
    lasts = _levels(bins.last, low, high, rows).tolist()
    before = -1
    for column in range(columns):
        top, bottom = tops[column], floors[column]
        if top < 0:
            before = -1
            continue
        if before >= 0:
            top, bottom = min(top, before + 1), max(bottom, before - 1)
        if dash[(column + phase) % len(dash)]:
            grid[max(0, top) : bottom + 1, column] = True
        before = lasts[column] if lasts[column] >= 0 else bottom
    return grid


def braille_rows(grids: Sequence[NDArray[np.bool_]], width: int, height: int) -> list[Line]:
    """Grids of (4·height, 2·width) dots as rows of braille; in a shared cell the earlier series gives the ink."""
    codes = np.zeros((height, width), dtype=np.uint8)
    owners = np.full((height, width), len(grids), dtype=np.int8)
    for number, grid in reversed(list(enumerate(grids))):
        mine = np.zeros((height, width), dtype=np.uint8)
        for y in range(4):
            for x in range(2):
                mine |= np.where(grid[y::4, x::2], _BITS[y, x], 0).astype(np.uint8)
        codes |= mine
        owners[mine != 0] = number
    return [_runs([_BRAILLE[code] for code in codes[y].tolist()], owners[y].tolist()) for y in range(height)]


def mark_rows(grids: Sequence[NDArray[np.bool_]], width: int, height: int) -> list[Line]:
    """Grids of (height, width) as rows of one ASCII mark per series."""
    owners = np.full((height, width), len(grids), dtype=np.int8)
    for number, grid in reversed(list(enumerate(grids))):
        owners[grid] = number
    marks = (*ASCII_MARKS[: len(grids)], " ")
    return [_runs([marks[owner] for owner in owners[y]], owners[y].tolist()) for y in range(height)]


def _runs(characters: Sequence[str], owners: Sequence[int]) -> Line:
    """Characters joined into spans of one ink; empty cells become spaces and join the run before them."""
    spans: list[Span] = []
    text, owner = "", -1
    for character, mine in zip(characters, owners, strict=True):
        if character == " ":
            text += " "
            continue
        if mine != owner and text.strip():
            spans.append((text, SERIES[owner] if owner >= 0 else Ink.TEXT))
            text = ""
        owner = mine
        text += character
    if text:
        spans.append((text, SERIES[owner] if 0 <= owner < len(SERIES) else Ink.TEXT))
    return tuple(spans)


def sparkline(values: Floats, width: int, *, ascii: bool = False) -> str:
    """One row of bars for the newest `width` values, scaled to their own range; a gap is a space."""
    shown = values[-width:]
    finite = shown[np.isfinite(shown)]
    if len(finite) == 0:
        return " " * width
    low, high = float(finite.min()), float(finite.max())
    steps = ".-=#" if ascii else "⣀⣤⣶⣿"
    scale = (len(steps) - 1) / (high - low) if high > low else 0.0
    text = "".join(steps[round((v - low) * scale)] if math.isfinite(v) else " " for v in shown.tolist())
    return text.rjust(width)
