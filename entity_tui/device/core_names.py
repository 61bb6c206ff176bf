"""Which design each core is: from its own id where one can be read, else by the narrowest inference, named as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from entity_tui.device.chips import Chip, find_chip
from entity_tui.device.cpu_tree import CpuTree, RawCpu, midr_of
from entity_tui.device.midr import TIER_ORDER, core_by_name, core_model, decode_midr
from entity_tui.device.topology import Core


@dataclass(frozen=True, slots=True)
class Named:
    """What is known of one core's design and where from."""

    implementer: int | None
    part: int | None
    variant: int | None
    revision: int | None
    name: str | None
    source: str

    def apply(self, core: Core) -> Core:
        """The core with these fields set."""
        return replace(
            core,
            implementer=self.implementer,
            part=self.part,
            variant=self.variant,
            revision=self.revision,
            name=self.name,
        )


def _named(implementer: int, part: int, variant: int | None, revision: int | None, source: str) -> Named:
    model = core_model(implementer, part, variant)
    return Named(implementer, part, variant, revision, None if model is None else model.name, source)


def _own_ids(tree: CpuTree, cores: Sequence[Core]) -> dict[int, Named]:
    """Names from each core's own register or own cpuinfo block."""
    found: dict[int, Named] = {}
    blocks = {block.cpu: block for block in tree.cpuinfo.blocks}
    for core in cores:
        value = midr_of(tree.cpus.get(core.cpu, RawCpu(core.cpu)))
        if value is not None:
            midr = decode_midr(value)
            found[core.cpu] = _named(
                midr.implementer, midr.part, midr.variant, midr.revision, f"cpu{core.cpu}/regs/identification/midr_el1"
            )
            continue
        block = blocks.get(core.cpu)
        if block is not None and block.implementer is not None and block.part is not None:
            found[core.cpu] = _named(block.implementer, block.part, block.variant, block.revision, "/proc/cpuinfo")
        elif block is not None and block.model_name and block.part is None and not _arm_words(block.model_name):
            found[core.cpu] = Named(None, None, None, None, block.model_name, "/proc/cpuinfo model name")
    return found


def _arm_words(model_name: str) -> bool:
    """True for `ARMv7 Processor rev 4 (v7l)` and its like, which name no design."""
    return "Processor rev" in model_name


def _speed_classes(cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]]) -> list[list[Core]]:
    """Cores by top speed (then by physical cluster), fastest first; empty when some core's speed is unknown."""
    if any(core.max_freq_khz is None for core in cores):
        return []
    classes: dict[tuple[int, tuple[int, ...]], list[Core]] = {}
    for core in cores:
        classes.setdefault((core.max_freq_khz or 0, physical.get(core.cpu, ())), []).append(core)
    return [classes[key] for key in sorted(classes, reverse=True)]


def _from_two_ids(tree: CpuTree, cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]]) -> dict[int, Named]:
    """Two ids printed into one field: the bigger design goes to the faster class, when there are just two."""
    kinds = tree.cpuinfo.kinds
    classes = _speed_classes(cores, physical)
    if len(kinds) != 2 or len(classes) != 2:
        return {}
    models = [core_model(*kind) for kind in kinds]
    tiers = [None if model is None else TIER_ORDER[model.tier] for model in models]
    if tiers[0] is None or tiers[1] is None or tiers[0] == tiers[1]:
        return {}
    ordered = sorted(zip(tiers, kinds, strict=True), reverse=True)
    return {
        core.cpu: _named(kind[0], kind[1], None, None, "/proc/cpuinfo (two ids in one field), placed by clock")
        for (_, kind), members in zip(ordered, classes, strict=True)
        for core in members
    }


def _from_chip(
    chip: Chip,
    tree: CpuTree,
    cores: Sequence[Core],
    physical: Mapping[int, tuple[int, ...]],
    known: Mapping[int, Named],
) -> dict[int, Named]:
    """Names by the chip table, where its core counts fit this device's classes one by one."""
    source = f"chip table ({chip.key})"
    if sum(count for count, _ in chip.clusters) != len(cores):
        return {}
    slots = _slots_by_size(chip, cores, physical)
    if not slots:
        classes = _speed_classes(cores, physical)
        if [len(members) for members in classes] != [count for count, _ in chip.clusters]:
            return _by_elimination(chip, cores, known, source)
        slots = [(members, name) for members, (_, name) in zip(classes, chip.clusters, strict=True)]
    found: dict[int, Named] = {}
    for members, name in slots:
        for core in members:
            if core.cpu not in known and (named := _by_name(name, known, source)) is not None:
                found[core.cpu] = named
    return found if _agrees(chip, slots, known) else {}


def _slots_by_size(
    chip: Chip, cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]]
) -> list[tuple[list[Core], str]]:
    """Cores with their design where sizes alone decide: one design in all, or physical clusters of telling sizes."""
    names = {name for _, name in chip.clusters}
    if len(names) == 1:
        return [(list(cores), name) for name in names]
    by_size: dict[int, set[str]] = {}
    for count, name in chip.clusters:
        by_size.setdefault(count, set()).add(name)
    groups = {group for core in cores if (group := physical.get(core.cpu)) is not None}
    sizes = sorted(len(group) for group in groups)
    if sizes != sorted(count for count, _ in chip.clusters) or any(len(found) > 1 for found in by_size.values()):
        return []
    return [([core for core in cores if core.cpu in group], next(iter(by_size[len(group)]))) for group in groups]


def _by_name(name: str, known: Mapping[int, Named], source: str) -> Named | None:
    """A core of that design, with the id a listed core of the same design carries if there is one."""
    twin = next((named for named in known.values() if named.name == name and named.part is not None), None)
    kind = core_by_name(name) if twin is None else (twin.implementer, twin.part)
    if kind is None or kind[0] is None or kind[1] is None:
        return None
    return _named(kind[0], kind[1], None, None, source)


def _agrees(chip: Chip, slots: Sequence[tuple[Sequence[Core], str]], known: Mapping[int, Named]) -> bool:
    """False when a core's own id says another design than the chip table would."""
    return all(
        known[core.cpu].name in (None, name) or _same_design(known[core.cpu], name)
        for members, name in slots
        for core in members
        if core.cpu in known
    )


def _same_design(named: Named, name: str) -> bool:
    model = core_model(named.implementer, named.part, named.variant)
    return model is not None and name in (model.name, model.based_on)


def _by_elimination(chip: Chip, cores: Sequence[Core], known: Mapping[int, Named], source: str) -> dict[int, Named]:
    """When all but one of the chip's designs are accounted for, the unnamed cores are the remaining one."""
    left: dict[str, int] = {}
    for count, name in chip.clusters:
        left[name] = left.get(name, 0) + count
    for named in known.values():
        match = next((name for name in left if _same_design(named, name)), None)
        if match is None:
            return {}
        left[match] -= 1
    open_names = [name for name, count in left.items() if count > 0]
    unnamed = [core for core in cores if core.cpu not in known]
    if len(open_names) != 1 or left[open_names[0]] != len(unnamed):
        return {}
    rest = _by_name(open_names[0], known, f"{source}, by elimination")
    return {} if rest is None else {core.cpu: rest for core in unnamed}


def _from_peers(
    tree: CpuTree, cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]], known: Mapping[int, Named]
) -> dict[int, Named]:
    """An unlisted core shares its design with its cpufreq policy when all listed members agree."""
    found: dict[int, Named] = {}
    kinds: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for core in cores:
        if core.cpu in known:
            continue
        group = physical.get(core.cpu) or next(
            (policy.related for policy in tree.policies if core.cpu in policy.related and len(policy.related) > 1), ()
        )
        if group not in kinds:
            kinds[group] = {
                (peer.implementer, peer.part)
                for cpu in group
                if (peer := known.get(cpu)) is not None and peer.implementer is not None and peer.part is not None
            }
        if len(kinds[group]) == 1:
            implementer, part = next(iter(kinds[group]))
            found[core.cpu] = _named(implementer, part, None, None, "same cluster as its listed cores (inferred)")
    return found


def _from_one_block(
    tree: CpuTree, cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]], notes: list[str]
) -> dict[int, Named]:
    """One block for all: it names every core only where all cores look alike."""
    shared = tree.cpuinfo.shared
    if shared is None or shared.implementer is None or shared.part is None:
        return {}
    speeds = {core.max_freq_khz for core in cores if core.max_freq_khz is not None}
    groups = {physical.get(core.cpu) for core in cores}
    alike = len(speeds) <= 1 and len(groups) == 1
    told = None not in groups or all(core.max_freq_khz is not None for core in cores)
    if len(cores) > 1 and not (alike and told):
        notes.append("cpuinfo has one block for all cores: it names the core that read it, the others are unnamed")
        return {}
    return {
        core.cpu: _named(
            shared.implementer, shared.part, shared.variant, shared.revision, "/proc/cpuinfo (one block for all)"
        )
        for core in cores
    }


def name_cores(
    tree: CpuTree, cores: Sequence[Core], physical: Mapping[int, tuple[int, ...]], notes: list[str]
) -> dict[int, Named]:
    """The design of every core that can be told, by CPU number. Adds a note for what cannot."""
    known = _own_ids(tree, cores)
    if tree.cpuinfo.one_block and not known:
        known.update(_from_two_ids(tree, cores, physical) or {})
    missing = [core for core in cores if core.cpu not in known]
    if missing:
        known.update(_from_peers(tree, cores, physical, known))
    chip = find_chip(tree.soc_words)
    if chip is not None and any(core.cpu not in known for core in cores):
        known.update(_from_chip(chip, tree, cores, physical, known))
    if tree.cpuinfo.one_block and any(core.cpu not in known for core in cores):
        for cpu, named in _from_one_block(tree, cores, physical, notes).items():
            known.setdefault(cpu, named)
    return known
