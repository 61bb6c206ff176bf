"""What one tick of the sampler means on this device: raw readings in, named series with units out, gaps kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from entity_tui.device.battery import CurrentUnit
from entity_tui.device.facts import Facts
from entity_tui.device.gauge_verdict import GaugeJudge, GaugeVerdict
from entity_tui.device.power_units import watts
from entity_tui.device.sample import Sample
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.thermal import Domain, Sensor, SensorState, Thermal
from entity_tui.device.thermal_service import SOURCE, windows_c
from entity_tui.device.throttle_watch import ThrottleNow, ThrottleWatch

PLAUSIBLE_W = (0.05, 25.0)
"""Battery power outside this range is refused at the source, never shown: no phone draws it."""


@dataclass(frozen=True, slots=True)
class Live:
    """One tick, interpreted. `values` are series by name; a missing one is None and draws as a gap.

    Series: `busy_pct.N`, `mhz.N`, `cap_mhz.N` by CPU, `temp_c.DOMAIN` (hottest usable sensor), `temp_c.zone.NAME`,
    `power_w`, `battery_pct`, `battery_c`, `mem_available_mb`, `sampler_pct`.
    """

    values: dict[str, float | None] = field(default_factory=dict)
    power_note: str = ""
    """Why there is no power: `chg`, `frozen`, `?W`, or the outcome of the gauge."""
    thermal_status: int | None = None
    hottest: dict[str, str] = field(default_factory=dict)
    """Which sensor `temp_c.DOMAIN` came from."""
    charging: bool | None = None
    gauge: GaugeVerdict | None = None
    """What the stream has proved of the battery gauge so far: unit, sign, refresh."""
    throttle: ThrottleNow | None = None
    """What the clocks say of throttling, beside Android's status."""


def begun(before: Live | None, now: Live) -> str:
    """A sentence when clocks begin to be held down although the status is calm; empty before, during and after."""
    held = before is not None and before.throttle is not None and bool(before.throttle.sentence)
    return now.throttle.sentence if now.throttle is not None and not held else ""


class Interpreter:
    """Reads ticks of one device with what is known of it. Units and signs were decided once, in `facts`."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._judge = GaugeJudge(facts.battery)
        self._watch = ThrottleWatch(facts.topology)
        self._zones = {
            f"thermal_zone{sensor.index}": sensor
            for sensor in facts.thermal.sensors
            if sensor.index is not None and sensor.scale is not None
        }
        self._text: str | None = None
        self._service: Thermal | None = None

    def read(self, sample: Sample) -> Live:
        """The series of one tick."""
        values: dict[str, float | None] = {}
        for cpu, busy in sample.cpu_busy_pct.items():
            values[f"busy_pct.{cpu}"] = busy
        for core in self.facts.topology.cores:
            policy = f"policy{core.policy}" if core.policy is not None else f"cpu{core.cpu}"
            for name, readings in (("mhz", sample.freq_khz), ("cap_mhz", sample.max_freq_khz)):
                khz = readings.get(policy, readings.get(f"cpu{core.cpu}"))
                values[f"{name}.{core.cpu}"] = None if khz is None else khz / 1000
        status, hottest = self._temperatures(sample, values)
        self._judge.feed(sample)
        note, charging = self._power(sample, values)
        available = sample.mem_available_kb
        values["mem_available_mb"] = None if available is None else available * 1024 / 1e6
        values["sampler_pct"] = sample.own_cpu_pct
        values["battery_pct"] = None if sample.battery_pct is None else float(sample.battery_pct)
        gauge = self._judge.verdict
        values["gauge_refresh_s"], values["gauge_age_s"] = gauge.refresh.interval_s, gauge.age_s
        return Live(values, note, status, hottest, charging, gauge, self._watch.feed(sample, status))

    def _temperatures(self, sample: Sample, values: dict[str, float | None]) -> tuple[int | None, dict[str, str]]:
        """Fill `temp_c.*` from the service's live block and the kernel's zones; the service wins within a domain."""
        found: list[tuple[Domain, float, str]] = []
        service = self._thermal_service(sample.commands.get(SOURCE))
        if service is not None:
            found += [
                (sensor.domain, sensor.celsius, sensor.name)
                for sensor in service.sensors
                if sensor.state is SensorState.OK and sensor.celsius is not None
            ]
        served = {domain for domain, _, _ in found}
        for zone, raw in sample.zone_raw.items():
            sensor = self._zones.get(zone)
            if sensor is None or raw is None or sensor.scale is None or sensor.state is not SensorState.OK:
                continue
            celsius = raw * sensor.scale
            if not _plausible(sensor, celsius):
                continue
            values[f"temp_c.zone.{sensor.name}"] = celsius
            if sensor.domain not in served:
                found.append((sensor.domain, celsius, sensor.name))
        hottest: dict[str, str] = {}
        for domain, celsius, name in sorted(found, key=lambda item: item[1]):
            values[f"temp_c.{domain.value}"] = celsius
            hottest[domain.value] = name
        if sample.battery_temp_raw is not None and "temp_c.battery" not in values:
            celsius = sample.battery_temp_raw / 10
            if -20 <= celsius <= 70 and celsius != 0:
                values["temp_c.battery"] = celsius
                hottest["battery"] = "power_supply temp"
        return (service.status if service is not None else None), hottest

    def _thermal_service(self, reading: Reading | None) -> Thermal | None:
        """The parsed dump, parsed again only when its text changed."""
        if reading is None or not reading.ok:
            return None
        if reading.text != self._text:
            from entity_tui.device.thermal_read import read_thermal

            self._text = reading.text
            only = Snapshot(commands={SOURCE: Reading(SOURCE, Outcome.OK, reading.text)})
            self._service = read_thermal(only)
        return self._service

    def _power(self, sample: Sample, values: dict[str, float | None]) -> tuple[str, bool | None]:
        """Fill `power_w`; returns why it is missing, and whether the device charges."""
        battery = self.facts.battery
        charging = sample.plugged
        word = (sample.battery_status or "").lower()
        if word in ("charging", "full"):
            charging = True
        if charging is None:
            charging = battery.charging
        values["power_w"] = None
        if charging:
            return "chg", charging
        if battery.frozen:
            return "frozen", charging
        if sample.current_raw is None or sample.voltage_raw is None:
            return sample.outcomes.get(
                "current_now", battery.outcome if battery.outcome != "ok" else "absent"
            ), charging
        if self._judge.unit is CurrentUnit.UNKNOWN:
            return "unit?", charging
        millivolts = _millivolts(sample.voltage_raw)
        if millivolts is None:
            return "voltage?", charging
        power = watts(sample.current_raw, self._judge.unit, millivolts)
        if power is None or not PLAUSIBLE_W[0] <= power <= PLAUSIBLE_W[1]:
            return "?W", charging
        values["power_w"] = power
        return "", charging


def _millivolts(raw: int) -> float | None:
    """A kernel voltage in mV: µV by the kernel's contract, mV on some vendors; anything else is refused."""
    if raw > 1_000_000:
        return raw / 1000
    return float(raw) if 2_500 <= raw <= 20_000 else None


def _plausible(sensor: Sensor, celsius: float) -> bool:
    low, high = windows_c()[sensor.domain]
    return low <= celsius <= high and celsius != 0.0
