"""Holes in a series of readings: how a phone that slept gives itself away."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def longest_hole(times: Sequence[float], start_s: float, end_s: float) -> float | None:
    """The longest stretch between two readings of a window, its own ends included; None without a window."""
    if end_s <= start_s:
        return None
    inside = [start_s, *(at for at in sorted(times) if start_s < at < end_s), end_s]
    return max((later - earlier for earlier, later in pairwise(inside)), default=0.0)
