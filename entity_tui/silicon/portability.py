"""Which of the seeds' mechanisms a target really exposes, from what was read off it, beside what platforms allow."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.device.capabilities import Ability, Capability
from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.profiles.library import merged
from entity_tui.silicon.masks import parse_cpu_list
from entity_tui.silicon.variants import ANDROID, LINUX, judge

PLATFORMS = ("android", "termux", "linux", "macos", "ios")
READBACK = "taskset 1 grep Cpus_allowed_list /proc/self/status"
"""The command that proves affinity: it runs on CPU 0 and prints the mask the kernel gave it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One platform's answer."""

    state: str
    words: str


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One row: the target's own answer, measured, and the reference columns."""

    key: str
    title: str
    target: Cell
    reference: dict[str, Cell]


def _of(capability: Capability | None, missing: str = "was not asked") -> Cell:
    if capability is None:
        return Cell(Ability.UNKNOWN.value, missing)
    return Cell(capability.ability.value, capability.detail)


def _placement(facts: Facts, snapshot: Snapshot) -> Cell:
    reading = snapshot.command(READBACK)
    if reading.ok:
        _, _, listed = reading.text.partition(":")
        cpus = parse_cpu_list(listed)
        if cpus == (0,):
            return Cell(Ability.PRESENT.value, "asked for CPU 0, read back CPU 0")
        if cpus:
            return Cell(Ability.DEGRADED.value, f"asked for CPU 0, read back {listed.strip()}")
    found = facts.capabilities.get("affinity")
    if found is not None and found.ability is Ability.PRESENT:
        return Cell(Ability.DEGRADED.value, "taskset is there; no mask was read back")
    return _of(found)


def _threads(facts: Facts) -> Cell:
    return _of(facts.capabilities.get("topology"))


def _variants(facts: Facts) -> Cell:
    if facts.isa.architecture == "x86_64":
        return Cell(Ability.PRESENT.value, "x86 variants; the loader chooses")
    variants = ANDROID if facts.identity.system in ("android", "") else LINUX
    verdicts, predicted = judge(facts.isa, variants)
    usable = sum(verdict.eligible is True for verdict in verdicts)
    if predicted is None:
        return Cell(Ability.UNKNOWN.value, "features could not be read")
    return Cell(Ability.PRESENT.value, f"{usable} of {len(verdicts)} usable, {predicted} predicted")


def _memory(facts: Facts) -> Cell:
    if facts.memory.available_kb is None:
        return _of(facts.capabilities.get("memory"))
    return Cell(Ability.PRESENT.value, f"{facts.memory.available_kb / 1024**2:.1f} GiB available")


def _gpu(snapshot: Snapshot) -> Cell:
    for path in ("/sys/class/kgsl/kgsl-3d0/gpu_model", "/sys/kernel/gpu/gpu_model"):
        reading = snapshot.file(path)
        if reading.ok and reading.text.strip():
            words = f"{' '.join(reading.text.split())}; int dot and matrix cores show in the engine's device line"
            return Cell(Ability.DEGRADED.value, words)
    return Cell(Ability.UNKNOWN.value, "no GPU node readable; the engine's --list-devices tells")


def _npu(facts: Facts) -> Cell:
    if "qualcomm" in facts.identity.soc.lower():
        return Cell(Ability.DEGRADED.value, "Hexagon, only with a Snapdragon build")
    return Cell(Ability.ABSENT.value, "no backend reaches one")


def _target(key: str, facts: Facts, snapshot: Snapshot) -> Cell:
    direct = {
        "live_clock": "clock",
        "thermal_status": "status",
        "thermal_zones": "zones",
        "energy": "power",
        "counters": "counters",
        "own_clock": "uptime",
    }
    if key in direct:
        return _of(facts.capabilities.get(direct[key]))
    if key == "placement":
        return _placement(facts, snapshot)
    if key == "threads":
        return _threads(facts)
    if key == "free_memory":
        return _memory(facts)
    if key == "variants":
        return _variants(facts)
    if key == "gpu":
        return _gpu(snapshot)
    if key == "npu":
        return _npu(facts)
    if key == "hints":
        return Cell(Ability.ABSENT.value, "not reachable from a shell")
    return Cell(Ability.PRESENT.value, "reads the model file") if key == "kleidiai" else Cell(Ability.UNKNOWN.value, "")


def portability(facts: Facts, snapshot: Snapshot) -> tuple[Mechanism, ...]:
    """Every mechanism with the target's measured answer and the reference columns, in the profile's order."""
    return tuple(
        Mechanism(
            key,
            entry["title"],
            _target(key, facts, snapshot),
            {name: Cell(entry[name]["state"], entry[name]["words"]) for name in PLATFORMS},
        )
        for key, entry in merged("portability.yaml")["mechanisms"].items()
    )
