"""From an arm as written to an arm with this device's numbers in it, or to the reason why it cannot run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from entity_tui.device.topology import Topology
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.silicon.masks import fastest, slowest
from entity_tui.silicon.widths import user_width, widths

PINNING_PLACEMENTS = frozenset({"fastest", "slowest", "perf", "little"})


@dataclass(frozen=True, slots=True)
class Ground:
    """What arms are resolved against: the topology, and whether masks can be set on this device at all."""

    topology: Topology
    can_pin: bool = True

    @property
    def online(self) -> tuple[int, ...]:
        """CPUs a thread can be placed on."""
        return self.topology.usable

    @property
    def little(self) -> frozenset[int]:
        """The CPUs of the slowest class that are online; empty on a device with one class."""
        return slow_class(self.topology)

    @property
    def perf(self) -> frozenset[int]:
        """Every online CPU that is not LITTLE; all of them on a device with one class."""
        return frozenset(self.online) - self.little


def slow_class(topology: Topology) -> frozenset[int]:
    """CPUs of the slowest cluster among those whose speed is known, when there are faster ones; else empty."""
    ranked = [cluster for cluster in topology.clusters if cluster.rank is not None]
    ranks = {cluster.rank for cluster in ranked}
    if len(ranks) < 2:
        return frozenset()
    last = max(rank for rank in ranks if rank is not None)
    online = set(topology.usable)
    return frozenset(cpu for cluster in ranked if cluster.rank == last for cpu in cluster.cpus if cpu in online)


def resolve(spec: ArmSpec, ground: Ground) -> Arm:
    """The arm with widths and masks filled in. `incapable` says why it cannot run here; nothing is raised."""
    reason = spec.incapable or _incapable(spec, ground)
    decode_threads = _count(spec.threads, ground, decode=True)
    prefill_threads = _count(spec.prefill_threads or spec.threads, ground, decode=False)
    return Arm(
        arm_id=spec.arm_id,
        label=spec.label or spec.arm_id,
        prefill=PhaseSetting(prefill_threads, _mask(spec, ground, prefill_threads)),
        decode=PhaseSetting(decode_threads, _mask(spec, ground, decode_threads)),
        role=spec.role,
        flags=spec.flags,
        env=spec.env,
        engine_dir=spec.engine,
        model_path=spec.model,
        command=spec.command,
        incapable=reason,
    )


def _incapable(spec: ArmSpec, ground: Ground) -> str:
    if not ground.online:
        return "the device's CPUs could not be read"
    wants_little = spec.threads == "little" or spec.placement in ("slowest", "little")
    if wants_little and not ground.little:
        return "this device has one class of cores, so there are no LITTLE ones"
    pins = spec.cpus is not None or spec.placement in PINNING_PLACEMENTS
    if pins and not ground.can_pin:
        return "this system has no way to pin a process to CPUs"
    if spec.cpus is not None and not spec.cpus <= set(ground.online):
        absent = sorted(spec.cpus - set(ground.online))
        return f"CPU {', '.join(map(str, absent))} is not online here"
    return ""


def _count(word: str, ground: Ground, *, decode: bool) -> int:
    if word.isdigit():
        return int(word)
    if word == "online":
        return max(1, len(ground.online))
    both = widths(ground.topology)
    auto = both.decode if decode else both.prefill
    return user_width(auto, len(ground.little) or auto) if word == "little" else auto


def _mask(spec: ArmSpec, ground: Ground, threads: int) -> frozenset[int] | None:
    if spec.cpus is not None:
        return spec.cpus
    if not ground.can_pin or spec.placement == "none" or not ground.online:
        return None
    if spec.placement == "fastest":
        return frozenset(fastest(ground.topology, threads))
    if spec.placement == "slowest":
        return frozenset(slowest(ground.topology, threads))
    if spec.placement == "perf":
        return ground.perf
    if spec.placement == "little":
        return ground.little or frozenset(ground.online)
    return frozenset(ground.online)


def configuration(arm: Arm) -> tuple[object, ...]:
    """Everything that makes two arms the same measurement; names and roles left out."""
    return (
        arm.prefill,
        arm.decode,
        arm.flags,
        tuple(sorted(arm.env.items())),
        arm.engine_dir,
        arm.model_path,
        arm.command,
    )


def mark_doubles(arms: Sequence[Arm], keep: Mapping[str, str]) -> tuple[Arm, ...]:
    """Mark each arm of `keep` (arm → the one it may equal) that would measure what the other one measures."""
    by_id = {arm.arm_id: arm for arm in arms}
    marked: list[Arm] = []
    for arm in arms:
        other = by_id.get(keep.get(arm.arm_id, ""))
        same = other is not None and not arm.incapable and configuration(arm) == configuration(other)
        marked.append(replace(arm, same_as=other.arm_id) if same and other is not None else arm)
    return tuple(marked)
