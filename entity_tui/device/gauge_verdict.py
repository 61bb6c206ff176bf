"""What a running sampler proves about a battery gauge: its unit, its sign, how often it refreshes, whether it moves."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean

from entity_tui.device.battery import Battery, CurrentUnit, Standing
from entity_tui.device.gauge import GaugeRefresh, refresh
from entity_tui.device.power_units import (
    GaugeSample,
    SignVerdict,
    UnitVerdict,
    counter_unit,
    resolve_sign,
    resolve_unit,
    voltage_mv,
)
from entity_tui.device.sample import Sample

KEPT = 3600
"""Readings kept: an hour at one a second."""
LOADED_PCT = 25.0
"""Mean load of all cores from which a reading counts as under load."""
RECOUNT_EVERY = 16
REFRESH_WINDOW = 240
"""Newest readings the refresh interval is measured on."""


@dataclass(frozen=True, slots=True)
class GaugeVerdict:
    """Unit and sign with their standing, and the gauge's own pace. `words` is one line for a reader."""

    unit: UnitVerdict
    sign: SignVerdict
    refresh: GaugeRefresh
    age_s: float | None = None
    """Seconds since the value last changed, on the device's clock."""

    @property
    def words(self) -> str:
        """`uA, unit verified, sign assumed, refresh 2.0 s`, or that the gauge has not moved."""
        parts = [self.unit.unit.value, f"unit {self.unit.standing.value}", f"sign {self.sign.standing.value}"]
        if self.refresh.static:
            parts.append("has not moved yet")
        elif self.refresh.interval_s is not None:
            parts.append(f"refresh {self.refresh.interval_s:.1f} s")
        return ", ".join(parts)


class GaugeJudge:
    """Collects a device's gauge readings; the unit it started with changes only when the charge counter proves it."""

    def __init__(self, battery: Battery) -> None:
        self._assumed = UnitVerdict(battery.current_unit, battery.unit, battery.evidence)
        self._samples: deque[GaugeSample] = deque(maxlen=KEPT)
        self._counted = UnitVerdict()
        self._counter: int | None = None
        self._changed_s: float | None = None
        self._value: int | None = None
        self._fed = 0
        self._verdict: GaugeVerdict | None = None

    def feed(self, sample: Sample) -> None:
        """Take one tick's readings; ticks without a current are left out, never taken for 0."""
        if sample.current_raw is None:
            return
        busy = [value for value in sample.cpu_busy_pct.values() if value is not None]
        reading = GaugeSample(
            sample.t_boot_s,
            sample.current_raw,
            voltage_mv(sample.voltage_raw)[0],
            sample.charge_counter_raw or None,
            sample.plugged,
            fmean(busy) >= LOADED_PCT if busy else None,
        )
        if self._samples and reading.t_s < self._samples[-1].t_s:
            # The device restarted: its clock began anew, and so does the evidence.
            self._samples.clear()
        self._samples.append(reading)
        self._fed += 1
        if self._fed <= 2 * RECOUNT_EVERY or self._fed % RECOUNT_EVERY == 0:
            self._verdict = None
        if sample.current_raw != self._value:
            self._value, self._changed_s = sample.current_raw, sample.t_boot_s
        if reading.charge_counter_uah != self._counter:
            self._counter, self._verdict = reading.charge_counter_uah, None
            if self._counted.standing is not Standing.VERIFIED:
                self._counted = counter_unit(list(self._samples))

    @property
    def unit(self) -> CurrentUnit:
        """The unit in force: the counter's if it has proved one, else what was assumed at the start."""
        return self._counted.unit if self._counted.standing is Standing.VERIFIED else self._assumed.unit

    @property
    def verdict(self) -> GaugeVerdict:
        """Everything known so far; on a long stream counted anew every few readings only."""
        if self._verdict is None:
            self._verdict = self._count()
        return self._verdict

    def _count(self) -> GaugeVerdict:
        newest = list(self._samples)[-REFRESH_WINDOW:]
        age_s = None if self._changed_s is None or not newest else max(0.0, newest[-1].t_s - self._changed_s)
        return GaugeVerdict(
            resolve_unit(self._assumed, self._counted),
            resolve_sign(list(self._samples)),
            refresh([reading.t_s for reading in newest], [reading.current_raw for reading in newest]),
            age_s,
        )
