"""Ring buffers of what the sampler said: one value per tick and series, NaN where there was none."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GAPS_AT_ONCE = 50
"""More missed ticks than this in a row are one gap: a phone that slept for an hour draws no hour of nothing."""

CAPACITY = 18_000
"""An hour at 5 Hz: what the longest graph span shows; older ticks fall out."""


class RingBuffer:
    """A fixed-size history of floats. A missing value is NaN and draws as a gap."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._values = array("d", [math.nan]) * capacity
        self._written = 0

    def append(self, value: float | None) -> None:
        """Store one tick; None becomes NaN."""
        self._values[self._written % len(self._values)] = math.nan if value is None else value
        self._written += 1

    def window(self, n: int) -> NDArray[np.float64]:
        """The newest `n` values, oldest first; shorter while there are fewer."""
        # Imported with the first graph: the first paint does not need it.
        import numpy as np

        size = len(self._values)
        n = min(n, self._written, size)
        end = self._written % size
        start = (end - n) % size
        if n == 0:
            return np.empty(0)
        values = np.frombuffer(self._values, dtype=np.float64)
        if start < end:
            return values[start:end].copy()
        return np.concatenate((values[start:], values[:end]))

    @property
    def newest(self) -> float:
        """The last value, NaN when there is none."""
        return math.nan if self._written == 0 else float(self._values[(self._written - 1) % len(self._values)])

    def __len__(self) -> int:
        return min(self._written, len(self._values))


class Telemetry:
    """Named series that advance together, so that one index is one moment in all of them.

    `time_s` holds the device's clock. A series that appears later starts with NaN for the ticks before it.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._series: dict[str, RingBuffer] = {}
        self.time_s = RingBuffer(capacity)
        self.sequence = 0
        """Ticks stored so far; changes exactly when there is something new to draw."""

    def append(self, time_s: float, values: Mapping[str, float | None]) -> None:
        """Store one tick. Series that are known but not in `values` get a gap."""
        for name in values:
            if name not in self._series:
                fresh = RingBuffer(self._capacity)
                for _ in range(min(self.sequence, self._capacity)):
                    fresh.append(None)
                self._series[name] = fresh
        for name, series in self._series.items():
            series.append(values.get(name))
        self.time_s.append(time_s)
        self.sequence += 1

    def store(self, time_s: float, values: Mapping[str, float | None], *, missed: int = 0) -> None:
        """Store one tick behind the gaps of those that were missed before it."""
        for _ in range(min(missed, GAPS_AT_ONCE)):
            self.gap(time_s)
        self.append(time_s, values)

    def gap(self, time_s: float) -> None:
        """Store one tick in which nothing was known."""
        self.append(time_s, {})

    def series(self, name: str) -> RingBuffer | None:
        """The history of one name, or None when it never had a value."""
        return self._series.get(name)

    def names(self) -> tuple[str, ...]:
        """The series known so far, in order of appearance: `busy_pct.0`, `freq_khz.4`, `temp_c.skin`, `power_w` ..."""
        return tuple(self._series)

    def clear(self) -> None:
        """Forget everything, for another device."""
        self._series.clear()
        self.time_s = RingBuffer(self._capacity)
        self.sequence = 0
