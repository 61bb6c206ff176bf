"""Turns a recorded device into a phone that boots: its own texts, and silicon estimated where the record is silent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.silicon import SimCluster, SimSilicon

DEFAULT_MAX_KHZ = 1_800_000
LITTLE_PARTS = frozenset({"0xd03", "0xd04", "0xd05", "0xd46", "0xd80", "0x801", "0x803", "0x805"})
"""In-order cores: Arm's small ones and Qualcomm's names for them."""
BASE = "/sys/devices/system/cpu"


def from_recording(name: str, data: Mapping[str, Any]) -> PhoneImage:
    """The image of a device file (`files` and `props`) or of a saved snapshot. Raises KeyError, TypeError, ValueError.

    Speeds, watts and body of such a phone are estimates from its cores' kinds and clocks; only its texts are its own.
    """
    texts, denied = _texts(data["files"])
    commands, _ = _texts(data.get("commands") or {})
    props = {str(key): str(value) for key, value in (data.get("props") or {}).items()}
    props.setdefault("ro.product.model", str(data.get("device") or data.get("soc") or name))
    silicon, offline = _silicon(texts)
    files = {**texts}
    for path in denied:
        files[path] = "\n"
    return PhoneImage(
        name=name,
        title=f"{props['ro.product.model']} (simulated from a record)",
        silicon=silicon,
        props=props,
        files=files,
        commands=commands,
        denied=tuple(denied),
        zones=("soc_max", "battery"),
        thermal_names={"CPU": "CPU", "SKIN": "SKIN", "BATTERY": "BATTERY"},
        offline=offline,
    )


def _texts(rows: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Readable texts by key, and the keys that were denied; both forms of record."""
    texts, denied = {}, []
    for key, value in rows.items():
        if isinstance(value, str):
            texts[key] = value
        elif value["outcome"] == "ok":
            texts[key] = str(value.get("text", ""))
        elif value["outcome"] == "denied":
            denied.append(key)
    return texts, denied


def _numbers(text: str) -> list[int]:
    """The cores of a list such as `0-3,8`."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found


def _silicon(texts: Mapping[str, str]) -> tuple[SimSilicon, tuple[int, ...]]:
    cpuinfo = texts.get("/proc/cpuinfo", "")
    listed = [int(number) for number in re.findall(r"^processor\s*:\s*(\d+)", cpuinfo, re.MULTILINE)]
    cpus = _numbers(texts.get(f"{BASE}/present", "")) or _numbers(texts.get(f"{BASE}/possible", "")) or listed
    cpus += [int(match[1]) for path in texts if (match := re.match(rf"{BASE}/cpu(\d+)/", path))]
    every = sorted({cpu for cpu in cpus if cpu < 512}) or [0]
    kinds: dict[tuple[int, str, int], list[int]] = {}
    parts = _parts(cpuinfo)
    for cpu in every:
        kinds.setdefault((_max_khz(texts, cpu), parts.get(cpu, ""), _capacity(texts, cpu)), []).append(cpu)
    clusters = tuple(_cluster(kind, group) for kind, group in kinds.items())
    strongest = max(cluster.capacity for cluster in clusters)
    clusters = tuple(_scaled(cluster, strongest) for cluster in clusters)
    features = re.search(r"^Features\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+)", texts.get("/proc/meminfo", ""), re.MULTILINE)
    memory_kb = int(memory[1]) if memory else 4 << 20
    online = set(_numbers(texts.get(f"{BASE}/online", ""))) or set(every)
    silicon = SimSilicon(
        clusters=clusters,
        features=frozenset(features[1].split()) if features else frozenset(),
        bandwidth_gb_per_s=max(3.0, 0.75 * sum(len(row.cpus) * row.decode_gb_per_s for row in clusters)),
        memory_kb=memory_kb,
        memory_available_kb=memory_kb * 45 // 100,
    )
    return silicon, tuple(cpu for cpu in every if cpu not in online)


def _parts(cpuinfo: str) -> dict[int, str]:
    """The part of each core that cpuinfo names; a block without a part lends it from the next one."""
    found: dict[int, str] = {}
    waiting: list[int] = []
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "processor" and value.strip().isdigit():
            waiting.append(int(value))
        elif key.strip() == "CPU part":
            found |= dict.fromkeys(waiting, value.split("&")[0].strip())
            waiting = []
    return found


def _max_khz(texts: Mapping[str, str], cpu: int) -> int:
    own = texts.get(f"{BASE}/cpu{cpu}/cpufreq/cpuinfo_max_freq", "").strip()
    if own.isdigit() and int(own):
        return int(own)
    for path, text in texts.items():
        if re.fullmatch(rf"{BASE}/cpufreq/policy\d+/related_cpus", path) and cpu in _numbers(text):
            top = texts.get(path.replace("related_cpus", "cpuinfo_max_freq"), "").strip()
            if top.isdigit() and int(top):
                return int(top)
    return DEFAULT_MAX_KHZ


def _capacity(texts: Mapping[str, str], cpu: int) -> int:
    text = texts.get(f"{BASE}/cpu{cpu}/cpu_capacity", "").strip()
    return int(text) if text.isdigit() else 0


def _cluster(kind: tuple[int, str, int], cpus: list[int]) -> SimCluster:
    """Estimates: an in-order core streams 1.4 GB/s per GHz and an out-of-order one 1.9, as the measured phones do."""
    max_khz, part, capacity = kind
    ghz = max_khz / 1e6
    little = part in LITTLE_PARTS
    steps = (*(round(max_khz * share / 1000) * 1000 for share in (0.25, 0.4, 0.55, 0.7, 0.85)), max_khz)
    return SimCluster(
        name=f"cpu{cpus[0]}",
        cpus=tuple(cpus),
        steps_khz=tuple(dict.fromkeys(steps)),
        capacity=capacity or max(1, round(ghz * (180 if little else 400))),
        decode_gb_per_s=ghz * (1.4 if little else 1.9),
        prompt_gflop_per_s=ghz * (22.0 if little else 34.0),
        busy_w=0.14 * ghz * ghz if little else 0.09 * ghz**2.4,
    )


def _scaled(cluster: SimCluster, strongest: int) -> SimCluster:
    return replace(cluster, capacity=max(1, cluster.capacity * 1024 // strongest))
