"""The phone's own clock: seconds since it booted, running faster than ours when it is compressed."""

from __future__ import annotations

import time
from collections.abc import Callable


class PhoneClock:
    """Maps this computer's monotonic time to the phone's. `factor` 20 lets a minute of the phone pass in 3 s."""

    def __init__(
        self, factor: float = 1.0, booted_ago_s: float = 0.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        if not 0.1 <= factor <= 1000:
            raise ValueError(f"a clock factor of {factor} is outside 0.1 to 1000")
        self.factor = factor
        self._monotonic = monotonic
        self._origin = monotonic()
        self._booted_ago_s = booted_ago_s

    def uptime_s(self) -> float:
        """Seconds of the phone since its boot."""
        return (self._monotonic() - self._origin) * self.factor + self._booted_ago_s

    def reboot(self) -> None:
        """Start counting again."""
        self._origin = self._monotonic()
        self._booted_ago_s = 0.0
