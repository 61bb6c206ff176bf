"""Inputs nobody's phone should print: real dumps cut, spliced, flipped and repeated, and noise in their vocabulary."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

from entity_tui.analysis.counters import parse_counters
from entity_tui.device.battery_dump import parse_battery_dump, parse_battery_history
from entity_tui.device.battery_history import parse_battery_stats, parse_process_memory
from entity_tui.device.board_monitor import parse_board_monitor, parse_core_events, parse_pi_throttle
from entity_tui.device.cpu_lists import parse_cpu_list, parse_mask
from entity_tui.device.cpu_tree import vendor_clusters
from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.energy_rails import parse_channel_list, parse_energy_value
from entity_tui.device.kernel_texts import (
    parse_key_values,
    parse_policy_caps,
    parse_refusals,
    parse_top_speeds,
    parse_uptime,
    parse_vmstat,
)
from entity_tui.device.mac_readings import parse_pmset_therm, parse_powermetrics, parse_sudoless
from entity_tui.device.memory_read import parse_meminfo, parse_mm_stat, parse_pressure, parse_vm_stat
from entity_tui.device.power_supply import parse_tlp, parse_uevent
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.telemetry_table import parse_telemetry_table
from entity_tui.device.termux_battery import parse_termux_battery
from entity_tui.device.thermal_service import parse_thermal_service
from entity_tui.device.thermal_zones import parse_zone_listing
from entity_tui.silicon.devicetree import judge, read_cpus
from entity_tui.silicon.devicetree_blob import parse_blob
from entity_tui.silicon.devicetree_source import parse_source
from tests.fixtures.tools import SHARED

Parser = Callable[[str], object]


def _tree(text: str) -> object:
    return judge(read_cpus(parse_source([text], lambda name: None)))


def _blob(text: str) -> object:
    return judge(read_cpus(parse_blob(b"\xd0\x0d\xfe\xed" + text.encode("utf-8", "replace"))))


PARSERS: tuple[tuple[str, Parser], ...] = (
    ("cpuinfo", parse_cpuinfo),
    ("cpu list", parse_cpu_list),
    ("cpu mask", parse_mask),
    ("vendor clusters", vendor_clusters),
    ("battery", parse_battery_dump),
    ("battery history", parse_battery_history),
    ("batterystats", parse_battery_stats),
    ("process memory", parse_process_memory),
    ("uevent", parse_uevent),
    ("tlp", parse_tlp),
    ("termux battery", parse_termux_battery),
    ("thermal service", parse_thermal_service),
    ("zone listing", parse_zone_listing),
    ("meminfo", parse_meminfo),
    ("pressure", parse_pressure),
    ("mm_stat", parse_mm_stat),
    ("vm_stat", parse_vm_stat),
    ("energy rails", parse_energy_value),
    ("rail list", parse_channel_list),
    ("board monitor", parse_board_monitor),
    ("core events", parse_core_events),
    ("pi throttle", parse_pi_throttle),
    ("powermetrics", parse_powermetrics),
    ("pmset", parse_pmset_therm),
    ("sudoless", parse_sudoless),
    ("uptime", parse_uptime),
    ("vmstat", parse_vmstat),
    ("refusals", parse_refusals),
    ("key values", parse_key_values),
    ("top speeds", parse_top_speeds),
    ("policy caps", parse_policy_caps),
    ("counters", parse_counters),
    ("telemetry table", parse_telemetry_table),
    ("device tree", _tree),
    ("device tree blob", _blob),
)
WORDS = (
    "processor",
    ":",
    "0",
    "CPU",
    "part",
    "0xd05",
    "&",
    "0xc0f",
    "Features",
    "fp",
    "asimd",
    "asimddp",
    "-1",
    "0",
    "NaN",
    "Infinity",
    "2147483648",
    "-2147483648",
    "99999999999999999999",
    "0x",
    "1e309",
    "Temperature{mValue=",
    "mType=",
    "mName=",
    "mStatus=",
    "}",
    "{",
    "HAL",
    "Ready:",
    "true",
    "Current",
    "temperatures",
    "from",
    "HAL:",
    "voltage:",
    "level:",
    "scale:",
    "POWER_SUPPLY_",
    "CURRENT_NOW=",
    "{}",
    "[]",
    "<>",
    ";",
    ",",
    "\t",
    "\r",
    "\n",
    "\x00",
    "\u0663",
    "\xbd",
    "\U0001d7d9",
    "\xe9",
    "\ud7ff",
)
FILES = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/pressure/memory",
    "/proc/uptime",
    "/proc/stat",
    "/sys/devices/system/cpu/present",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/offline",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/cputopo/glbinfo",
    "/sys/class/power_supply/battery/uevent",
    "/sys/class/power_supply/battery/current_now",
    "/sys/class/power_supply/battery/voltage_now",
    "/sys/class/power_supply/usb/online",
    *(f"/sys/class/thermal/thermal_zone{n}/{leaf}" for n in (0, 1, 10) for leaf in ("type", "temp")),
    *(
        f"/sys/devices/system/cpu/cpu{cpu}/{leaf}"
        for cpu in (0, 1, 2, 4, 7)
        for leaf in (
            "cpu_capacity",
            "cpufreq/cpuinfo_max_freq",
            "cpufreq/related_cpus",
            "cpufreq/scaling_max_freq",
            "cpufreq/stats/time_in_state",
            "regs/identification/midr_el1",
            "topology/core_siblings_list",
            "topology/thread_siblings",
        )
    ),
    *(
        f"/sys/devices/system/cpu/cpufreq/policy{n}/{leaf}"
        for n in (0, 4)
        for leaf in ("related_cpus", "cpuinfo_max_freq")
    ),
    "/sys/class/hwmon/hwmon0/temp1_input",
)
COMMANDS = (
    "dumpsys battery",
    "dumpsys thermalservice",
    "cmd battery get -f current_now",
    "termux-battery-status",
    "pmset -g batt",
    "uname -a",
    "id",
    "command -v",
    "vm_stat",
    "sysctl hw",
)
FAILURES = (Outcome.DENIED, Outcome.ABSENT, Outcome.TIMEOUT, Outcome.TRANSIENT)


@cache
def corpus() -> tuple[str, ...]:
    """Texts to start from: every recording and some phones where the companion data is there, else a few lines."""
    texts = [
        "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n",
        "Current Battery Service state:\n  level: 50\n  scale: 100\n  voltage: 3900\n  temperature: 300\n",
        "0-3,8\n",
        "446 1024\n",
        "1804800\n",
    ]
    recordings = SHARED / "recordings" / "android"
    if recordings.is_dir():
        for path in sorted(recordings.rglob("*.txt")):
            texts.append(path.read_text(encoding="utf-8", errors="replace")[:6000])
    trees = SHARED / "devices" / "dts"
    if trees.is_dir():
        texts += [path.read_text(encoding="utf-8")[:4000] for path in sorted(trees.iterdir())]
    phones = SHARED / "devices"
    if phones.is_dir():
        import json

        for name in ("pixel-8", "huawei-honor-6", "meizu-pro-6", "nexus-s", "hwloc-gb10"):
            files = json.loads((phones / f"{name}.json").read_text(encoding="utf-8"))["files"]
            texts += [text[:4000] for text in list(files.values())[:40]]
    return tuple(texts)


def text_from(rng: random.Random) -> str:
    """One hostile text."""
    kind = rng.random()
    if kind < 0.15:
        return "".join(
            chr(rng.choice((rng.randrange(0, 128), rng.randrange(0, 0x2FFF)))) for _ in range(rng.randrange(80))
        )
    if kind < 0.35:
        return rng.choice((" ", "\n", "")).join(rng.choice(WORDS) for _ in range(rng.randrange(40)))
    text = rng.choice(corpus())
    for _ in range(rng.randrange(1, 5)):
        text = _mutated(text, rng)
    return text


def _mutated(text: str, rng: random.Random) -> str:
    """The text with one thing done to it that links, shells and vendors do."""
    if not text:
        return rng.choice(WORDS)
    at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    action = rng.randrange(8)
    if action == 0:
        return text[:at]
    if action == 1:
        return text[:at] + text[to:]
    if action == 2:
        return text[:at] + rng.choice(WORDS) + text[at:]
    if action == 3:
        return text[:to] + text[at:][:2000]
    if action == 4:
        return text.replace("\n", rng.choice(("\r\n", " ", "\n\n", "\t")))
    if action == 5:
        return "".join(ch if rng.random() > 0.03 else rng.choice("0-9: ,={}\0ÿ٣") for ch in text)
    if action == 6:
        lines = text.split("\n")
        rng.shuffle(lines)
        return "\n".join(lines)
    other = rng.choice(corpus())
    return text[:at] + other[rng.randrange(len(other) + 1) :][:1500] + text[to:]


def snapshot_from(seed: int, *, readable: bool = True) -> Snapshot:
    """A hostile snapshot; with `readable=False` every single read failed in one of the four ways."""
    rng = random.Random(seed)

    def reading(source: str) -> Reading:
        if not readable or rng.random() < 0.2:
            return Reading(source, rng.choice(FAILURES), detail=rng.choice(("Permission denied", "", "No such file")))
        return Reading(source, Outcome.OK, text_from(rng))

    files = {path: reading(path) for path in FILES if rng.random() < 0.7}
    commands = {line: reading(line) for line in COMMANDS if rng.random() < 0.7}
    props = {"ro.product.model": text_from(rng)[:40]} if readable and rng.random() < 0.5 else {}
    return Snapshot(files=files, commands=commands, props=props)
