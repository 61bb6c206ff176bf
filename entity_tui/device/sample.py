"""One tick of the sampler: raw readings on the device's own clock, where a missing value is None and never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from entity_tui.device.snapshot import Reading

SAMPLER_VERSION = 1
"""Version of the sampler's line protocol."""


def _none() -> Mapping[str, int]:
    return MappingProxyType({})


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
