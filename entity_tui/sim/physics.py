"""Load becomes power, power becomes heat, heat takes the clocks down: the phone's body as a small thermal model.

The constants and the measured tables they were fitted to are in docs/demo-phone.md; tests hold them to those tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from entity_tui.sim.silicon import SimCluster, SimSilicon

STEP_S = 0.1
CLOCK_EXPONENT = 2.6
"""Power of a busy core over its clock: f times the square of a voltage that falls a little slower than f."""
IDLE_SHARE = 0.03
"""How busy a core is with the system's own work."""
GAUGE_NOISE = 0.015
"""Relative scatter of one reading of the gauge under a constant load."""


@dataclass(frozen=True, slots=True)
class Load:
    """What runs on the phone over a step.

    `busy` is the share of time each core computes, `waiting` the share it spins at a barrier, `memory_gb_per_s` what
    all of them move together.
    """

    busy: Mapping[int, float] = field(default_factory=dict)
    waiting: Mapping[int, float] = field(default_factory=dict)
    memory_gb_per_s: float = 0.0

    def use(self, cpu: int) -> float:
        """The share of time a core works for a load, 0 to 1."""
        return min(1.0, self.busy.get(cpu, 0.0) + self.waiting.get(cpu, 0.0))


@dataclass(slots=True)
class Body:
    """The state of one phone's physics. Advance it with `advance`; everything else reads."""

    silicon: SimSilicon
    chip_c: float = 0.0
    body_c: float = 0.0
    power_w: float = 0.0
    charging: bool = False
    plugged: bool = False
    charge_uah: float = 0.0
    forced_status: int | None = None
    offline: set[int] = field(default_factory=set)
    cap_khz: dict[str, int] = field(default_factory=dict)
    """The highest clock each cluster may use now."""
    now_khz: dict[str, int] = field(default_factory=dict)
    jiffies_busy: dict[int, float] = field(default_factory=dict)
    jiffies_idle: dict[int, float] = field(default_factory=dict)
    gauge_ua: float = 0.0
    gauge_mv: float = 0.0
    _gauge_due_s: float = 0.0
    _clock_s: float = 0.0
    _idle_due_s: float = 0.0
    _noise: Random = field(default_factory=lambda: Random(7300))
    _idle: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        body, battery = self.silicon.body, self.silicon.battery
        self.body_c = self.chip_c = body.start_c
        self.power_w = body.idle_w
        self.charge_uah = battery.capacity_mah * 1000 * battery.level_pct / 100
        for cluster in self.silicon.clusters:
            self.cap_khz[cluster.name] = cluster.max_khz
            self.now_khz[cluster.name] = cluster.steps_khz[0]
        for cpu in self.silicon.cpus:
            self.jiffies_busy[cpu] = 0.0
            self.jiffies_idle[cpu] = 0.0
        self._gauge()

    def advance(self, span_s: float, load: Load) -> None:
        """Let `span_s` seconds of the phone's time pass under a constant load."""
        while span_s > 1e-9:
            step_s = min(STEP_S, span_s)
            self._step(step_s, load)
            span_s -= step_s

    def _step(self, step_s: float, load: Load) -> None:
        if self._clock_s >= self._idle_due_s:
            self._idle = {cpu: min(0.2, self._noise.expovariate(1 / IDLE_SHARE)) for cpu in self.silicon.cpus}
            self._idle_due_s = self._clock_s + 1.0
        self._clocks(load)
        self.power_w = self._power(load)
        body = self.silicon.body
        heat_w = self.power_w + (body.charger_w if self.charging else 0.0)
        to_body_w = (self.chip_c - self.body_c) / body.chip_k_per_w
        to_air_w = (self.body_c - body.ambient_c) / body.body_k_per_w
        chip_heat_w = max(0.0, self.power_w - body.idle_w)
        self.chip_c += (chip_heat_w - to_body_w) * step_s / body.chip_j_per_k
        self.body_c += (heat_w - chip_heat_w + to_body_w - to_air_w) * step_s / body.body_j_per_k
        self._govern()
        self._count(step_s, load)
        self._clock_s += step_s
        current_ma = self.current_ma()
        limit_uah = self.silicon.battery.capacity_mah * 1000
        self.charge_uah = min(limit_uah, max(0.0, self.charge_uah + current_ma * 1000 * step_s / 3600))
        if self._clock_s >= self._gauge_due_s:
            self._gauge()

    def _use(self, load: Load, cpu: int) -> float:
        """How busy a core is; what no load asks for is left to the system's own small work."""
        return max(load.use(cpu), self._idle.get(cpu, IDLE_SHARE))

    def _clocks(self, load: Load) -> None:
        """The governor: a loaded cluster runs at its cap, an idle one at its lowest step."""
        for cluster in self.silicon.clusters:
            use = max((self._use(load, cpu) for cpu in self._online(cluster)), default=0.0)
            wanted = cluster.max_khz if use > 0.3 else int(cluster.max_khz * use * 1.25)
            allowed = [step for step in cluster.steps_khz if step <= self.cap_khz[cluster.name]]
            reached = [step for step in allowed if step >= wanted]
            self.now_khz[cluster.name] = (reached or allowed[-1:] or [cluster.steps_khz[0]])[0]

    def _power(self, load: Load) -> float:
        body = self.silicon.body
        watts: float = body.idle_w + body.memory_w_per_gb_s * load.memory_gb_per_s
        for cluster in self.silicon.clusters:
            scale = math.pow(self.now_khz[cluster.name] / cluster.max_khz, CLOCK_EXPONENT)
            for cpu in self._online(cluster):
                share = load.busy.get(cpu, 0.0) + body.wait_power_share * load.waiting.get(cpu, 0.0)
                watts += cluster.busy_w * scale * min(1.0, share)
        return watts

    def _govern(self) -> None:
        """Take the fast clusters down in big steps above the trip point, and back up slowly below the release point."""
        body = self.silicon.body
        for cluster in self.silicon.clusters:
            steps = cluster.steps_khz
            if cluster.capacity < max(other.capacity for other in self.silicon.clusters) // 2:
                continue
            place = steps.index(self.cap_khz[cluster.name])
            if self.chip_c > body.trip_c:
                floor = next(index for index, step in enumerate(steps) if step >= 0.36 * cluster.max_khz)
                self.cap_khz[cluster.name] = steps[max(floor, place - 3)]
            elif self.chip_c < body.release_c and place < len(steps) - 1:
                self.cap_khz[cluster.name] = steps[place + 1]

    def _count(self, step_s: float, load: Load) -> None:
        for cpu in self.silicon.cpus:
            if cpu not in self.offline:
                use = self._use(load, cpu)
                self.jiffies_busy[cpu] += use * step_s * 100
                self.jiffies_idle[cpu] += (1 - use) * step_s * 100

    def _online(self, cluster: SimCluster) -> Iterable[int]:
        return (cpu for cpu in cluster.cpus if cpu not in self.offline)

    def current_ma(self) -> float:
        """The true battery current, positive into the battery."""
        drawn_ma = self.power_w / self.voltage_mv() * 1e6
        if not self.charging:
            return 0.0 if self.plugged else -drawn_ma
        return self.silicon.battery.charge_current_ma - drawn_ma

    def level_pct(self) -> float:
        """State of charge."""
        return 100 * self.charge_uah / (self.silicon.battery.capacity_mah * 1000)

    def voltage_mv(self) -> float:
        """Terminal voltage: open circuit by charge, less what the load drops over the inner resistance."""
        battery = self.silicon.battery
        filled = math.pow(self.level_pct() / 100, 0.7)
        open_mv = battery.empty_mv + (battery.full_mv - battery.empty_mv) * filled
        return max(3000.0, open_mv - battery.resistance_ohm * self.power_w / open_mv * 1e6)

    def _gauge(self) -> None:
        """The fuel gauge refreshes now and then; between two refreshes it repeats itself."""
        battery = self.silicon.battery
        sign = 1 if battery.discharge_negative else -1
        self.gauge_ua = round(sign * self.current_ma() * self._noise.gauss(1.0, GAUGE_NOISE)) * 1000.0
        self.gauge_mv = round(self.voltage_mv())
        self._gauge_due_s = self._clock_s + battery.gauge_period_s

    def status(self) -> int:
        """Android's thermal status 0 to 6: it follows the skin, never the chip."""
        if self.forced_status is not None:
            return self.forced_status
        return sum(self.body_c >= limit for limit in self.silicon.body.skin_status_c)
