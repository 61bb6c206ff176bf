"""What one snapshot shows to be possible on a device, from real reads only: file modes prove nothing under SELinux."""

from __future__ import annotations

from collections.abc import Iterable

from entity_tui.device.battery import Battery, Standing
from entity_tui.device.capabilities import Ability, Capabilities, Capability
from entity_tui.device.identity import Identity
from entity_tui.device.isa import IsaFeatures
from entity_tui.device.memory import Memory
from entity_tui.device.numbers import integer
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.thermal import SensorState, Thermal
from entity_tui.device.topology import Topology

CPU = "/sys/devices/system/cpu/"
_WORDS = {
    Outcome.DENIED: Ability.DENIED,
    Outcome.ABSENT: Ability.ABSENT,
    Outcome.TIMEOUT: Ability.DEGRADED,
    Outcome.TRANSIENT: Ability.DEGRADED,
    Outcome.SUSPECT: Ability.DEGRADED,
    Outcome.OK: Ability.PRESENT,
}


def _by_reading(key: str, title: str, reading: Reading, *, good: str = "readable") -> Capability:
    if reading.outcome is Outcome.ABSENT and reading.detail in ("not read", "not run"):
        return Capability(key, title, Ability.UNKNOWN, "was not asked", reading.source)
    detail = good if reading.ok else (reading.detail.strip().splitlines() or [reading.outcome.value])[0]
    return Capability(key, title, _WORDS[reading.outcome], detail, reading.source)


def _files(snapshot: Snapshot, ending: str) -> list[Reading]:
    return [reading for path, reading in snapshot.files.items() if path.startswith(CPU) and path.endswith(ending)]


def _clock(snapshot: Snapshot) -> Capability:
    readings = _files(snapshot, "/scaling_cur_freq")
    title = "live clock of each cluster"
    good = [reading for reading in readings if reading.ok and integer(reading.text)]
    if good:
        return Capability("clock", title, Ability.PRESENT, f"{len(good)} nodes read", good[0].source)
    denied = next((reading for reading in readings if reading.outcome is Outcome.DENIED), None)
    if denied is not None:
        return Capability("clock", title, Ability.DENIED, denied.detail, denied.source)
    return Capability("clock", title, Ability.ABSENT, "no scaling_cur_freq node was readable", CPU)


def tools_on_device(snapshot: Snapshot) -> frozenset[str] | None:
    """Names of the tools the device's shell found, None when it was not asked."""
    reading = snapshot.command("command -v")
    if not reading.ok:
        return None
    words = (line.strip().removeprefix("alias ").split("=")[0] for line in reading.text.splitlines())
    return frozenset(word.rsplit("/", 1)[-1] for word in words if word)


def _tool(snapshot: Snapshot, key: str, title: str, name: str, missing: Ability = Ability.ABSENT) -> Capability:
    tools = tools_on_device(snapshot)
    if tools is None:
        return Capability(key, title, Ability.UNKNOWN, "was not asked", "command -v")
    if name in tools:
        return Capability(key, title, Ability.PRESENT, f"{name} is there", "command -v")
    return Capability(key, title, missing, f"no {name} on the device", "command -v")


def _asked(snapshot: Snapshot, *beginnings: str) -> bool:
    """True when the snapshot holds a reading, of whatever outcome, whose source begins so."""
    return any(source.startswith(beginnings) for source in (*snapshot.files, *snapshot.commands))


def _not_asked(key: str, title: str, source: str) -> Capability:
    return Capability(key, title, Ability.UNKNOWN, "was not asked", source)


def _power(snapshot: Snapshot, battery: Battery) -> Capability:
    title = "battery current and voltage"
    places = ("/sys/class/power_supply", "ls /sys/class/power_supply", "dumpsys battery", "termux-battery", "pmset")
    if not _asked(snapshot, *places):
        return _not_asked("power", title, "dumpsys battery")
    if battery.outcome == Outcome.DENIED.value:
        return Capability("power", title, Ability.DENIED, "the battery's nodes refuse to be read")
    if battery.current_raw is None:
        words = "no current readable" if battery.voltage_mv is not None else "no battery readable"
        return Capability("power", title, Ability.ABSENT, words, battery.sources.get("voltage_mv", ""))
    detail = f"{battery.current_unit.value}, unit {battery.unit.value}"
    if battery.frozen:
        detail += "; the battery service is frozen, its values are fakes"
    good = battery.unit is not Standing.UNVERIFIED and battery.voltage_mv is not None and not battery.frozen
    source = battery.sources.get("current_raw", "")
    return Capability("power", title, Ability.PRESENT if good else Ability.DEGRADED, detail, source)


def _zones(snapshot: Snapshot, thermal: Thermal) -> Capability:
    zones = [sensor for sensor in thermal.sensors if sensor.index is not None]
    good = sum(sensor.state is SensorState.OK for sensor in zones)
    title = "thermal zones"
    if not _asked(snapshot, "/sys/class/thermal", "ls /sys/class/thermal"):
        return _not_asked("zones", title, "/sys/class/thermal")
    if good:
        return Capability("zones", title, Ability.PRESENT, f"{good} of {len(zones)} usable", "/sys/class/thermal")
    if thermal.zones_outcome == Outcome.DENIED.value:
        return Capability("zones", title, Ability.DENIED, f"all {len(zones)} refuse to be read", "/sys/class/thermal")
    words = "none" if not zones else f"none of {len(zones)} gives a temperature"
    return Capability("zones", title, Ability.ABSENT, words, "/sys/class/thermal")


def _status(snapshot: Snapshot, identity: Identity, thermal: Thermal) -> Capability:
    title = "Android thermal status"
    source = "dumpsys thermalservice"
    if not _asked(snapshot, source):
        if identity.system in ("linux", "macos"):
            return Capability("status", title, Ability.ABSENT, f"{identity.system} has no such status", source)
        return _not_asked("status", title, source)
    if thermal.status is None:
        words = {"denied": Ability.DENIED, "absent": Ability.ABSENT}
        return Capability(
            "status", title, words.get(thermal.service_outcome, Ability.DEGRADED), thermal.service_outcome, source
        )
    if thermal.hal_ready is False:
        return Capability("status", title, Ability.DEGRADED, "HAL not ready: the status never moves", source)
    return Capability("status", title, Ability.PRESENT, f"status {thermal.status_name}", source)


def _pressure(snapshot: Snapshot, memory: Memory) -> Capability:
    title = "memory pressure (PSI)"
    if not _asked(snapshot, "/proc/pressure/memory"):
        return _not_asked("psi", title, "/proc/pressure/memory")
    if memory.pressure:
        return Capability("psi", title, Ability.PRESENT, "readable", "/proc/pressure/memory")
    word = {"denied": Ability.DENIED, "absent": Ability.ABSENT}.get(memory.pressure_outcome, Ability.DEGRADED)
    return Capability("psi", title, word, memory.pressure_outcome, "/proc/pressure/memory")


def _energy_rails(snapshot: Snapshot) -> Capability:
    rails = [reading for path, reading in snapshot.files.items() if path.endswith("/energy_value")]
    title = "energy rails (ODPM)"
    if not rails and not _asked(snapshot, "probe", "/sys/bus/iio"):
        return _not_asked("rails", title, "/sys/bus/iio/devices")
    if not rails:
        return Capability("rails", title, Ability.ABSENT, "no energy meter found", "/sys/bus/iio/devices")
    best = next((reading for reading in rails if reading.ok), rails[0])
    return _by_reading("rails", title, best)


def read_capabilities(
    snapshot: Snapshot,
    *,
    identity: Identity,
    topology: Topology,
    isa: IsaFeatures,
    battery: Battery,
    thermal: Thermal,
    memory: Memory,
) -> Capabilities:
    """Every ability in a fixed order, each from what was really read."""

    def items() -> Iterable[Capability]:
        known = sum(core.max_freq_khz is not None for core in topology.cores)
        yield Capability(
            "topology",
            "cores and their top speeds",
            Ability.PRESENT
            if topology.cores and known == len(topology.cores)
            else Ability.DEGRADED
            if topology.cores
            else Ability.ABSENT,
            f"{known} of {len(topology.cores)} cores with a top speed",
            CPU,
        )
        yield _clock(snapshot)
        yield _by_reading("load", "load of each core", snapshot.file("/proc/stat"))
        yield _tool(snapshot, "affinity", "placing threads on cores (taskset)", "taskset")
        yield Capability(
            "features",
            "instruction-set features",
            Ability.ABSENT if not isa.names else Ability.DEGRADED if isa.hidden else Ability.PRESENT,
            "a 32-bit list hides newer names" if isa.hidden else f"{len(isa.names)} names",
            isa.source or "/proc/cpuinfo",
        )
        yield _power(snapshot, battery)
        yield _energy_rails(snapshot)
        yield _status(snapshot, identity, thermal)
        yield _zones(snapshot, thermal)
        yield _by_reading("memory", "free memory", snapshot.file("/proc/meminfo"))
        yield _pressure(snapshot, memory)
        yield _by_reading("uptime", "the device's own clock", snapshot.file("/proc/uptime"))
        yield _tool(snapshot, "counters", "hardware counters (simpleperf)", "simpleperf")
        yield _tool(snapshot, "hash", "checking files on the device (sha256sum)", "sha256sum", Ability.DEGRADED)

    return Capabilities(tuple(items()))
