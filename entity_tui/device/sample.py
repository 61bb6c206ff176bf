"""One tick of the sampler: raw readings on the device's own clock, where a missing value is None and never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.device.probe_text import outcome_of
from entity_tui.device.snapshot import Outcome, Reading
from entity_tui.digits import decimal, whole

SAMPLER_VERSION = 1
"""Version of the sampler's line protocol."""

_OF_SEVERAL_LINES = ("stat", "mem")
"""Values that stand at the end of their line, whatever their outcome was at the start."""

TICKS_PER_SECOND = 100
"""USER_HZ: fixed at 100 in the interface between Linux and its programs, on every phone."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """One `cpuN` line of /proc/stat in clock ticks: busy is everything but idle and iowait."""

    busy: int
    total: int


@dataclass(frozen=True, slots=True)
class Sample:
    """What the device said in one tick. Units are the device's own ("raw") unless the name carries one."""

    sequence: int
    t_boot_s: float
    """Device clock (CLOCK_BOOTTIME from /proc/uptime, or the source named in the stream's header)."""
    cpu_times: Mapping[int, CpuTimes] = field(default_factory=lambda: MappingProxyType({}))
    cpu_busy_pct: Mapping[int, float | None] = field(default_factory=lambda: MappingProxyType({}))
    """By CPU, from this and the previous tick; None for a CPU without two readings. Empty when /proc/stat is denied."""
    freq_khz: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}))
    """By policy (`policy0`) or, where there are no policies, by `cpuN`: scaling_cur_freq."""
    max_freq_khz: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}))
    """By the same names: scaling_max_freq, the cap in force."""
    zone_raw: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}))
    """By zone directory name (`thermal_zone3`): temp as read."""
    cooling_state: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}))
    """By cooling device directory name: cur_state."""
    current_raw: int | None = None
    voltage_raw: int | None = None
    charge_counter_raw: int | None = None
    battery_temp_raw: int | None = None
    battery_pct: int | None = None
    battery_status: str | None = None
    """The node's own word: Charging, Discharging, Not charging, Full."""
    plugged: bool | None = None
    """True when any power supply says online=1; None when none could be read."""
    mem_available_kb: int | None = None
    load_1m: float | None = None
    commands: Mapping[str, Reading] = field(default_factory=lambda: MappingProxyType({}))
    """Newest output of each slow command (`dumpsys thermalservice`), carried along until the next one."""
    command_t_boot_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """When each of those was read."""
    late_ms: float | None = None
    """How late the tick was against its absolute schedule."""
    missed: int = 0
    """Ticks of the schedule that were skipped because the device was too slow, since the previous sample."""
    own_cpu_pct: float | None = None
    """CPU time of the sampler itself since the previous sample, in % of one core."""
    own_cpu_ticks: int | None = None
    clock: str = "uptime"
    outcomes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Why a series is empty: node name -> denied, absent or transient."""


@dataclass(slots=True)
class _Pending:
    """One slow command whose lines are still arriving."""

    lines: list[str] = field(default_factory=list)


class SampleParser:
    """Turns the sampler's lines into samples. Feed it every line; a line that is no use is counted, never fatal."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        """Shell, clock, way of waiting and period, as the sampler announced them."""
        self.outcomes: dict[str, str] = {}
        self.rejected = 0
        """Lines that were cut or unknown."""
        self._names: dict[str, list[str]] = {"fast": [], "slow": []}
        self._slow: dict[str, str] = {}
        self._own_ticks: int | None = None
        self._own_pct: float | None = None
        self._own_at: tuple[float, int] | None = None
        self._times: Mapping[int, CpuTimes] = MappingProxyType({})
        self._pending: dict[str, _Pending] = {}
        self._commands: dict[str, Reading] = {}
        self._command_times: dict[str, float] = {}

    def feed(self, line: str) -> Sample | None:
        """The sample that `line` completes, or None."""
        line = line.rstrip("\r")
        word, _, rest = line.partition(" ")
        if word == "s":
            return self._fast(rest)
        if word == "z":
            self._slow_tick(rest)
        elif word == ">":
            number, _, text = rest.partition(" ")
            self._pending.setdefault(number, _Pending()).lines.append(text)
        elif word == "x":
            self._command(rest)
        elif word == "node":
            self._node(rest)
        elif word in ("info", "entity-sampler", "start"):
            for part in rest.split():
                key, equals, value = part.partition("=")
                if equals:
                    self.header[key] = value
            if word == "entity-sampler":
                self.header["version"] = rest.strip()
        else:
            self.rejected += 1
        return None

    def _node(self, rest: str) -> None:
        parts = rest.split(" ", 2)
        if len(parts) != 3 or parts[0] not in self._names:
            self.rejected += 1
            return
        kind, outcome, name = parts
        self.outcomes[name] = outcome
        if outcome == "ok" and name not in _OF_SEVERAL_LINES:
            self._names[kind].append(name)

    def _values(self, kind: str, rest: str, extra: int) -> tuple[list[str], dict[str, str], list[str]] | None:
        head, *values = rest.split("|")
        names = self._names[kind]
        fields = head.split()
        if len(fields) != 4 or len(values) != len(names) + extra:
            self.rejected += 1
            return None
        return fields, dict(zip(names, values, strict=False)), values[len(names) :]

    def _slow_tick(self, rest: str) -> None:
        parsed = self._values("slow", rest, 1)
        if parsed is None:
            return
        fields, self._slow, (memory,) = parsed
        self._slow["mem"] = memory
        now_s, ticks = _decimal(fields[1]), _integer(fields[2])
        if now_s is None or ticks is None or ticks < 0:
            return
        if self._own_at is not None and now_s > self._own_at[0]:
            self._own_pct = 100.0 * (ticks - self._own_at[1]) / TICKS_PER_SECOND / (now_s - self._own_at[0])
        self._own_at = (now_s, ticks)
        self._own_ticks = ticks

    def _command(self, rest: str) -> None:
        parts = rest.split(" ", 3)
        status = _integer(parts[1]) if len(parts) == 4 else None
        if status is None:
            self.rejected += 1
            return
        number, command = parts[0], parts[3]
        text = "\n".join(self._pending.pop(number, _Pending()).lines)
        outcome = outcome_of(text, status=status, command=True)
        ok = outcome is Outcome.OK
        self._commands[command] = Reading(command, outcome, text if ok else "", "" if ok else text[:500])
        read_at = _decimal(parts[2])
        if read_at is not None:
            self._command_times[command] = read_at

    def _fast(self, rest: str) -> Sample | None:
        parsed = self._values("fast", rest, 1)
        if parsed is None:
            return None
        fields, values, (stat,) = parsed
        sequence, t_boot_s = _integer(fields[0]), _decimal(fields[1])
        if sequence is None or t_boot_s is None:
            self.rejected += 1
            return None
        times = parse_cpu_times(stat.replace(";", "\n"))
        busy = busy_pct(self._times, times)
        self._times = times or self._times
        slow = self._slow
        late_cs = _integer(fields[2])
        load = slow.get("load", "").split()
        online = [value for name, value in slow.items() if name.startswith("online.") and value]
        return Sample(
            sequence=sequence,
            t_boot_s=t_boot_s,
            cpu_times=times,
            cpu_busy_pct=busy,
            freq_khz=_named(values, "freq."),
            max_freq_khz=_named(values, "cap."),
            zone_raw=_named(slow, "zone."),
            cooling_state=_named(slow, "cooling."),
            current_raw=_integer(slow.get("battery.current_now", "")),
            voltage_raw=_integer(slow.get("battery.voltage_now", "")),
            charge_counter_raw=_integer(slow.get("battery.charge_counter", "")),
            battery_temp_raw=_integer(slow.get("battery.temp", "")),
            battery_pct=_integer(slow.get("battery.capacity", "")),
            battery_status=slow.get("battery.status", "").strip() or None,
            plugged=any(value.strip() not in ("0", "") for value in online) if online else None,
            mem_available_kb=_integer(slow.get("mem", "")),
            load_1m=_decimal(load[0]) if load else None,
            commands=MappingProxyType(dict(self._commands)),
            command_t_boot_s=MappingProxyType(dict(self._command_times)),
            late_ms=None if late_cs is None else late_cs * 10.0,
            missed=_integer(fields[3]) or 0,
            own_cpu_pct=self._own_pct,
            own_cpu_ticks=self._own_ticks,
            clock=self.header.get("clock", "uptime"),
            outcomes=MappingProxyType(self.outcomes),
        )


def parse_cpu_times(stat: str) -> Mapping[int, CpuTimes]:
    """Ticks by CPU number from the `cpuN` lines of /proc/stat; a CPU that is offline has no line."""
    times: dict[int, CpuTimes] = {}
    for line in stat.splitlines():
        name, _, rest = line.partition(" ")
        cpu = whole(name[3:]) if name.startswith("cpu") else None
        if cpu is None or cpu < 0:
            continue
        values = [_integer(word) for word in rest.split()]
        if len(values) < 4 or any(value is None or value < 0 for value in values):
            continue
        # guest time is already part of user time, so the sum stops at steal
        ticks = [value or 0 for value in values[:8]]
        total = sum(ticks)
        idle = ticks[3] + (ticks[4] if len(ticks) > 4 else 0)
        times[cpu] = CpuTimes(busy=total - idle, total=total)
    return MappingProxyType(times)


def busy_pct(before: Mapping[int, CpuTimes], after: Mapping[int, CpuTimes]) -> Mapping[int, float | None]:
    """Busy share of each CPU of `after` between two readings, 0..100; None without two readings or without a tick.

    The kernel's iowait and steal can step back by a tick, so a share is clamped rather than shown below 0.
    """
    shares: dict[int, float | None] = {}
    for cpu, now in after.items():
        then = before.get(cpu)
        if then is None or now.total <= then.total:
            shares[cpu] = None
        else:
            shares[cpu] = min(100.0, max(0.0, 100.0 * (now.busy - then.busy) / (now.total - then.total)))
    return MappingProxyType(shares)


def _named(values: Mapping[str, str], prefix: str) -> Mapping[str, int | None]:
    return MappingProxyType(
        {name[len(prefix) :]: _integer(value) for name, value in values.items() if name.startswith(prefix)}
    )


def _integer(text: str) -> int | None:
    return whole(text.strip())


def _decimal(text: str) -> float | None:
    value = decimal(text.strip())
    return value if value is not None and value >= 0 else None
