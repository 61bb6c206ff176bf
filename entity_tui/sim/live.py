"""The files of a simulated phone that move: clocks, temperatures, battery and counters, as its shell reads them."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from entity_tui.sim.cpu_text import cpu_list
from entity_tui.sim.physics import Body
from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.tree import is_denied

PROC_ROOM_BYTES = {"stat": 4096, "meminfo": 1024, "uptime": 40, "loadavg": 48}
"""A file laid over one of /proc keeps its inode and its length: it is rewritten in place and padded with blanks."""
STATUS_WORDS = {2: "Charging", 3: "Discharging", 4: "Not charging", 5: "Full"}


@dataclass(slots=True)
class LiveFiles:
    """Writes what changed. `root` is the phone's root folder here, `live` holds the files laid over /proc."""

    image: PhoneImage
    root: Path
    live: Path
    body: Body
    boot_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    _last: dict[Path, str] = field(default_factory=dict)
    _proc_files: dict[str, int] = field(default_factory=dict)
    _clock_places: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock_places = self._find_clocks()

    def prepare(self) -> tuple[tuple[str, str], ...]:
        """Make every file laid over /proc once; returns (file, place below the phone's /proc) for process 1."""
        folder = self.live / "proc"
        places = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                places[path] = self.root / "proc" / path.relative_to(folder)
        boot = folder / "boot_id"
        boot.write_text(self.boot_id + "\n")
        places[boot] = self.root / "proc/sys/kernel/random/boot_id"
        self.uptime(0.0)
        self.refresh(0.0)
        for name in PROC_ROOM_BYTES:
            places[folder / name] = self.root / "proc" / name
        if not (folder / "version").exists():
            (folder / "version").write_text("Linux version 6.1.75-simulated (entity-tui demo phone) #1 SMP PREEMPT\n")
            places[folder / "version"] = self.root / "proc/version"
        release = (folder / "version").read_text().split()[2]
        (folder / "osrelease").write_text(release + "\n")
        places[folder / "osrelease"] = self.root / "proc/sys/kernel/osrelease"
        for path in places:
            if self.image.files.get("/proc/" + str(path.relative_to(folder))) is None:
                path.chmod(0o444)
        return tuple((str(path), str(place)) for path, place in places.items())

    def uptime(self, uptime_s: float) -> None:
        """/proc/uptime alone: it is refreshed far more often than the rest."""
        idle_s = sum(self.body.jiffies_idle.values()) / 100
        self._over_proc("uptime", f"{uptime_s:.2f} {idle_s:.2f}")

    def refresh(self, uptime_s: float) -> None:
        """Everything else."""
        self._over_proc("stat", self._stat())
        self._over_proc("meminfo", self._meminfo())
        busy = sum(self.body.jiffies_busy.values()) and self.body.power_w - self.image.silicon.body.idle_w
        self._over_proc("loadavg", f"{max(0.4, busy):.2f} {max(0.4, busy):.2f} 1.20 2/987 4242")
        self._clocks()
        self._zones()
        self._battery()
        self._services()

    def _over_proc(self, name: str, text: str) -> None:
        room = PROC_ROOM_BYTES[name]
        data = text.encode()[: room - 1].ljust(room - 1) + b"\n"
        descriptor = self._proc_files.get(name)
        if descriptor is None:
            path = self.live / "proc" / name
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o444)
            self._proc_files[name] = descriptor
        os.pwrite(descriptor, data, 0)

    def close(self) -> None:
        """Let go of the open files."""
        for descriptor in self._proc_files.values():
            os.close(descriptor)
        self._proc_files.clear()

    def put(self, path: str, text: str) -> None:
        """Replace one file of the phone, at once for whoever reads it; a denied one stays denied."""
        target = self.root / path.lstrip("/")
        if self._last.get(target) == text:
            return
        self._last[target] = text
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        new.write_text(text)
        new.chmod(0o400 if is_denied(self.image, path) else 0o444)
        new.replace(target)

    def _stat(self) -> str:
        body = self.body
        rows, total_busy, total_idle = [], 0, 0
        for cpu in self.image.silicon.cpus:
            busy, idle = int(body.jiffies_busy[cpu]), int(body.jiffies_idle[cpu])
            total_busy, total_idle = total_busy + busy, total_idle + idle
            if cpu not in body.offline:
                rows.append(f"cpu{cpu} {busy * 4 // 5} 0 {busy - busy * 4 // 5} {idle} 0 0 0 0 0 0")
        first = f"cpu  {total_busy * 4 // 5} 0 {total_busy - total_busy * 4 // 5} {total_idle} 0 0 0 0 0 0"
        rest = ["intr 0", "ctxt 123456", "btime 1764500000", "processes 4242", "procs_running 1", "procs_blocked 0"]
        return "\n".join([first, *rows, *rest])

    def _meminfo(self) -> str:
        silicon = self.image.silicon
        available = silicon.memory_available_kb
        rows = {
            "MemTotal": silicon.memory_kb,
            "MemFree": available // 8,
            "MemAvailable": available,
            "Buffers": 4096,
            "Cached": available * 3 // 4,
            "SwapCached": 1024,
            "SwapTotal": silicon.memory_kb // 2,
            "SwapFree": silicon.memory_kb // 3,
        }
        return "\n".join(f"{key + ':':<15}{value:>9} kB" for key, value in rows.items())

    def _clocks(self) -> None:
        base = "/sys/devices/system/cpu"
        body = self.body
        online = [cpu for cpu in self.image.silicon.cpus if cpu not in body.offline]
        self.put(f"{base}/online", cpu_list(online) + "\n")
        self.put(f"{base}/offline", cpu_list(sorted(body.offline)) + "\n")
        for cluster in self.image.silicon.clusters:
            alive = [cpu for cpu in cluster.cpus if cpu not in body.offline]
            for cpu in cluster.cpus:
                if f"{base}/cpu{cpu}/online" in self.image.files:
                    self.put(f"{base}/cpu{cpu}/online", "1\n" if cpu in alive else "0\n")
        for place, cpu in self._clock_places:
            cluster = self.image.silicon.cluster_of()[cpu]
            self.put(f"{place}/scaling_cur_freq", f"{body.now_khz[cluster.name]}\n")
            self.put(f"{place}/scaling_max_freq", f"{body.cap_khz[cluster.name]}\n")

    def _find_clocks(self) -> list[tuple[str, int]]:
        """Every folder of cpufreq files with a core it speaks for."""
        found = []
        for path in self.image.files:
            match = re.fullmatch(
                r"(/sys/devices/system/cpu/(?:cpufreq/policy|cpu)(\d+)(?:/cpufreq)?)/cpuinfo_max_freq", path
            )
            if match and int(match[2]) in self.image.silicon.cpus:
                found.append((match[1], int(match[2])))
        return found

    def _zones(self) -> None:
        for number, kind in enumerate(self.image.zones):
            place = f"/sys/class/thermal/thermal_zone{number}"
            self.put(f"{place}/type", f"{kind}\n")
            self.put(f"{place}/temp", f"{round(self.temperature_c(kind) * 1000)}\n")
        for number, cluster in enumerate(self.image.silicon.clusters):
            place = f"/sys/class/thermal/cooling_device{number}"
            steps = cluster.steps_khz
            state = len(steps) - 1 - steps.index(self.body.cap_khz[cluster.name])
            self.put(f"{place}/type", f"thermal-cpufreq-{number}\n")
            self.put(f"{place}/max_state", f"{len(steps) - 1}\n")
            self.put(f"{place}/cur_state", f"{state}\n")

    def temperature_c(self, kind: str) -> float:
        """What a sensor of this name shows: of the chip, near it, or of the body."""
        word = kind.lower()
        if "batt" in word or "bms" in word or "maxfg" in word:
            return self.body.body_c
        if any(part in word for part in ("skin", "shell", "back", "board", "ap_ntc", "mtktsap", "quiet")):
            return self.body.body_c + 0.15 * (self.body.chip_c - self.body.body_c)
        if "gpu" in word or "little" in word:
            return self.body.body_c + 0.75 * (self.body.chip_c - self.body.body_c)
        return self.body.chip_c

    def status_code(self) -> int:
        """The battery's status as Android numbers it."""
        if self.body.charging:
            return 2
        return 4 if self.body.plugged else 3

    def _battery(self) -> None:
        body, battery = self.body, self.image.silicon.battery
        place = "/sys/class/power_supply/battery"
        current = body.gauge_ua if battery.current_unit_ua else body.gauge_ua / 1000
        self.put(f"{place}/current_now", f"{round(current)}\n")
        self.put(f"{place}/voltage_now", f"{round(body.gauge_mv * (1000 if battery.current_unit_ua else 1))}\n")
        self.put(f"{place}/temp", f"{round(body.body_c * 10)}\n")
        self.put(f"{place}/capacity", f"{round(body.level_pct())}\n")
        self.put(f"{place}/charge_counter", f"{round(body.charge_uah / 1000) * 1000}\n")
        self.put(f"{place}/charge_full_design", f"{round(battery.capacity_mah * 1000)}\n")
        self.put(f"{place}/status", f"{STATUS_WORDS[self.status_code()]}\n")
        self.put(f"{place}/health", "Good\n")
        self.put(f"{place}/present", "1\n")
        self.put(f"{place}/technology", "Li-poly\n")
        self.put(f"{place}/type", "Battery\n")
        self.put("/sys/class/power_supply/usb/online", f"{int(body.plugged)}\n")
        self.put("/sys/class/power_supply/usb/type", "USB\n")

    def _services(self) -> None:
        body, battery = self.body, self.image.silicon.battery
        place = "/dev/entity/commands"
        current = round(body.gauge_ua if battery.current_unit_ua else body.gauge_ua / 1000)
        self.put(f"{place}/cmd.battery.current_now", f"{current}\n")
        self.put(f"{place}/cmd.battery.current_average", f"{current}\n")
        self.put(f"{place}/cmd.battery.level", f"{round(body.level_pct())}\n")
        self.put(f"{place}/cmd.battery.temp", f"{round(body.body_c * 10)}\n")
        self.put(f"{place}/cmd.battery.status", f"{self.status_code()}\n")
        self.put(f"{place}/cmd.battery.counter", f"{round(body.charge_uah / 1000) * 1000}\n")
        self.put(f"{place}/dumpsys.battery", self._dump_battery())
        self.put(f"{place}/dumpsys.thermalservice", self._dump_thermal())

    def _dump_battery(self) -> str:
        body = self.body
        rows = {
            "AC powered": "false",
            "USB powered": str(body.plugged).lower(),
            "Wireless powered": "false",
            "Dock powered": "false",
            "Max charging current": 900000 if body.plugged else 0,
            "Max charging voltage": 5000000 if body.plugged else 0,
            "Charge counter": round(body.charge_uah / 1000) * 1000,
            "status": self.status_code(),
            "health": 2,
            "present": "true",
            "level": round(body.level_pct()),
            "scale": 100,
            "voltage": round(body.gauge_mv),
            "temperature": round(body.body_c * 10),
            "technology": "Li-poly",
        }
        return "Current Battery Service state:\n" + "".join(f"  {key}: {value}\n" for key, value in rows.items())

    def _dump_thermal(self) -> str:
        names = self.image.thermal_names
        status = self.body.status()
        kinds = {"CPU": 0, "GPU": 1, "BATTERY": 2, "SKIN": 3}
        live, cached = "", ""
        for kind, name in names.items():
            value = self.temperature_c({"CPU": "cpu", "GPU": "gpu", "BATTERY": "battery", "SKIN": "skin"}[kind])
            own = status if kind == "SKIN" else 0
            live += f"\tTemperature{{mValue={value:.3f}, mType={kinds[kind]}, mName={name}, mStatus={own}}}\n"
            cached += f"\tTemperature{{mValue={value + 6:.1f}, mType={kinds[kind]}, mName={name}, mStatus=0}}\n"
        limits = ", ".join(f"{value:.1f}" for value in (0.0, *self.image.silicon.body.skin_status_c))
        cooling = "".join(
            f"\tCoolingDevice{{mValue={self._cooling(name)}, mType=2, mName=thermal-cpufreq-{number}}}\n"
            for number, name in enumerate(cluster.name for cluster in self.image.silicon.clusters)
        )
        return (
            f"IsStatusOverride: {str(self.body.forced_status is not None).lower()}\n"
            "ThermalEventListeners:\n\tcallbacks: 1\n\tkilled: false\n\tbroadcasts count: -1\n"
            "ThermalStatusListeners:\n\tcallbacks: 1\n\tkilled: false\n\tbroadcasts count: -1\n"
            f"Thermal Status: {status}\nCached temperatures:\n{cached}HAL Ready: true\nHAL connection:\n"
            f"\tThermalHAL AIDL 2  connected: yes\nCurrent temperatures from HAL:\n{live}"
            f"Current cooling devices from HAL:\n{cooling}Temperature static thresholds from HAL:\n"
            f"\tTemperatureThreshold{{mType=3, mName={names.get('SKIN', 'SKIN')}, mHotThrottlingThresholds="
            f"[{limits}], mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}}\n"
        )

    def _cooling(self, name: str) -> int:
        steps = next(cluster.steps_khz for cluster in self.image.silicon.clusters if cluster.name == name)
        with contextlib.suppress(ValueError):
            return len(steps) - 1 - steps.index(self.body.cap_khz[name])
        return 0
