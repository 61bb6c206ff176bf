"""Where a simulated phone comes from: a shipped demo profile, a device file of raw texts, or a saved snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from entity_tui.errors import UsageError
from entity_tui.sim.silicon import SimBattery, SimBody, SimCluster, SimSilicon


@dataclass(frozen=True, slots=True)
class PhoneImage:
    """Everything a phone shows before anything runs on it.

    `files` are the exact texts by absolute path, `denied` the patterns of paths the shell user may not read.
    """

    name: str
    title: str
    silicon: SimSilicon
    props: Mapping[str, str]
    files: Mapping[str, str]
    commands: Mapping[str, str] = field(default_factory=dict)
    """Recorded outputs of commands, by the command line as typed; the live stand-ins win over them."""
    denied: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    """Types of the thermal zones whose temperature the physics drives."""
    thermal_names: Mapping[str, str] = field(default_factory=dict)
    offline: tuple[int, ...] = ()
    """Cores that are off when the phone boots."""


def demo_profile_names() -> tuple[str, ...]:
    """The shipped demo profiles."""
    folder = resources.files("entity_tui.profiles") / "demo"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load_image(profile: str) -> PhoneImage:
    """The image for a profile's name or a file's path. Raises UsageError for one that is neither or cannot be read."""
    if profile in demo_profile_names():
        text = (resources.files("entity_tui.profiles") / "demo" / f"{profile}.yaml").read_text("utf-8")
        return from_profile(profile, yaml.safe_load(text))
    path = Path(profile)
    if not path.is_file():
        raise UsageError(
            f"no demo profile {profile!r}",
            detail="it is neither a shipped profile nor a file",
            fix=f"one of {', '.join(demo_profile_names())}, or the path of a snapshot",
        )
    try:
        if path.suffix in (".yaml", ".yml"):
            return from_profile(path.stem, yaml.safe_load(path.read_text("utf-8")))
        from entity_tui.sim.recorded import from_recording

        return from_recording(path.stem, json.loads(path.read_text("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise UsageError(f"{profile} is not a phone", detail=f"{type(error).__name__}: {error}") from error


def from_profile(name: str, row: Mapping[str, Any]) -> PhoneImage:
    """The image of a demo profile; its cpu files are made the way a kernel lays them out."""
    clusters = tuple(_cluster(entry) for entry in row["clusters"])
    features = str(row["features"]).split()
    silicon = SimSilicon(
        clusters=clusters,
        features=frozenset(features),
        bandwidth_gb_per_s=float(row["bandwidth_gb_per_s"]),
        memory_kb=int(row["memory_mb"]) * 1024,
        memory_available_kb=int(row["memory_available_mb"]) * 1024,
        body=SimBody(**row.get("body", {})),
        battery=SimBattery(**row.get("battery", {})),
    )
    files = {"/proc/cpuinfo": _cpuinfo(row, features)}
    files |= cpu_files(silicon, capacities=bool(row.get("capacities_shown", True)))
    for entry in row["clusters"]:
        midr = 0x41 << 24 | int(entry["variant"], 16) << 20 | 0xF << 16 | int(entry["part"], 16) << 4
        for cpu in entry["cpus"]:
            path = f"/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"
            files[path] = f"0x{midr | entry['revision']:016x}\n"
    return PhoneImage(
        name=name,
        title=str(row["title"]),
        silicon=silicon,
        props={str(key): str(value) for key, value in row["props"].items()},
        files=files,
        denied=tuple(row.get("denied", ())),
        zones=tuple(row["zones"]),
        thermal_names=dict(row["thermal_names"]),
    )


def _cluster(entry: Mapping[str, Any]) -> SimCluster:
    return SimCluster(
        name=str(entry["name"]),
        cpus=tuple(entry["cpus"]),
        steps_khz=tuple(int(mhz) * 1000 for mhz in entry["steps_mhz"]),
        capacity=int(entry["capacity"]),
        decode_gb_per_s=float(entry["decode_gb_per_s"]),
        prompt_gflop_per_s=float(entry["prompt_gflop_per_s"]),
        busy_w=float(entry["busy_w"]),
    )


def _cpuinfo(row: Mapping[str, Any], features: list[str]) -> str:
    blocks = []
    kinds = {cpu: entry for entry in row["clusters"] for cpu in entry["cpus"]}
    for cpu in sorted(kinds):
        kind = kinds[cpu]
        blocks.append(
            f"processor\t: {cpu}\nBogoMIPS\t: 26.00\nFeatures\t: {' '.join(features)}\nCPU implementer\t: 0x41\n"
            f"CPU architecture: 8\nCPU variant\t: {kind['variant']}\nCPU part\t: {kind['part']}\n"
            f"CPU revision\t: {kind['revision']}\n"
        )
    if "hardware" in row:
        blocks.append(f"Hardware\t: {row['hardware']}\n")
    return "\n".join(blocks) + ("" if "hardware" in row else "\n")


def cpu_files(silicon: SimSilicon, *, capacities: bool) -> dict[str, str]:
    """The tree below /sys/devices/system/cpu, one cpufreq policy a cluster."""
    base = "/sys/devices/system/cpu"
    last = silicon.cpus[-1]
    files = {f"{base}/{name}": f"0-{last}\n" for name in ("online", "possible", "present")}
    files |= {f"{base}/offline": "\n", f"{base}/kernel_max": "31\n"}
    for number, cluster in enumerate(sorted(silicon.clusters, key=lambda entry: min(entry.cpus))):
        cpus = " ".join(str(cpu) for cpu in cluster.cpus)
        policy = {
            "related_cpus": cpus,
            "affected_cpus": cpus,
            "cpuinfo_max_freq": cluster.max_khz,
            "cpuinfo_min_freq": cluster.steps_khz[0],
            "scaling_max_freq": cluster.max_khz,
            "scaling_min_freq": cluster.steps_khz[0],
            "scaling_cur_freq": cluster.steps_khz[0],
            "scaling_governor": "schedutil",
            "scaling_available_governors": "performance schedutil",
            "scaling_available_frequencies": " ".join(str(step) for step in cluster.steps_khz),
        }
        files |= {f"{base}/cpufreq/policy{min(cluster.cpus)}/{key}": f"{value}\n" for key, value in policy.items()}
        for cpu in cluster.cpus:
            place = f"{base}/cpu{cpu}"
            files |= {
                f"{place}/online": "1\n",
                f"{place}/topology/core_id": f"{cpu}\n",
                f"{place}/topology/cluster_id": f"{number}\n",
                f"{place}/topology/physical_package_id": "0\n",
                f"{place}/topology/thread_siblings": f"{1 << cpu:02x}\n",
                f"{place}/topology/thread_siblings_list": f"{cpu}\n",
                f"{place}/topology/core_siblings_list": f"0-{last}\n",
            }
            if capacities:
                files[f"{place}/cpu_capacity"] = f"{cluster.capacity}\n"
    return files
