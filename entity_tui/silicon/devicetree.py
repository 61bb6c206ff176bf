"""What every width rule gives on a chip nobody owns, by its device tree; a missing number is named, never guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.midr import core_by_name
from entity_tui.device.numbers import hexadecimal, integer
from entity_tui.device.topology import Core
from entity_tui.profiles.library import merged
from entity_tui.silicon.devicetree_source import Node, SourceTree
from entity_tui.silicon.widths import decode_width, prefill_width, top_cluster_core_count, unity_width


@dataclass(frozen=True, slots=True)
class DtCpu:
    """One cpu node. None where the tree does not say; `max_mhz_source` names where a clock came from."""

    node: str
    label: str
    reg: int | None
    compatible: tuple[str, ...]
    cluster: str
    capacity_dmips_mhz: int | None
    max_opp_hz: int | None
    opp_table: str
    clock_frequency_hz: int | None
    disabled: bool = False

    @property
    def core_name(self) -> str:
        """The core's name by its compatible string: `Cortex-A55` for `arm,cortex-a55`."""
        return core_name(self.compatible)


def core_name(compatible: Sequence[str]) -> str:
    """A core name from compatible strings, or the string itself where the table has no such core."""
    for word in compatible:
        maker, _, design = word.partition(",")
        if maker == "arm" and design.startswith("cortex-"):
            return "Cortex-" + design.removeprefix("cortex-").upper()
        if maker == "arm" and design.startswith("neoverse-"):
            return "Neoverse-" + design.removeprefix("neoverse-").upper()
        known = merged("devicetree.yaml")["core_names"].get(word)
        if known is not None:
            return str(known)
    return compatible[0] if compatible else ""


def strings_of(tokens: Sequence[str]) -> tuple[str, ...]:
    """The quoted strings of a property."""
    return tuple(token[1:-1] for token in tokens if token.startswith('"') and token.endswith('"'))


def number(token: str) -> int | None:
    """A cell's number, decimal or hexadecimal, with a C suffix or without; None for a macro or an expression."""
    word = token.rstrip("uUlL")
    return hexadecimal(word) if word.lower().startswith("0x") else integer(word)


def cells_of(tokens: Sequence[str]) -> list[int | None]:
    """The cells of `<…>` groups; a macro or expression is None."""
    found: list[int | None] = []
    depth = 0
    for token in tokens:
        if token == "<":
            depth = 1
        elif token == ">":
            depth = 0
        elif depth and token not in ("(", ")"):
            found.append(number(token))
    return found


def _single(node: Node, name: str) -> int | None:
    tokens = node.properties.get(name)
    if tokens is None:
        return None
    cells = cells_of(tokens)
    if len(cells) == 1:
        return cells[0]
    if len(cells) == 2 and "/bits/" not in tokens and cells[0] is not None and cells[1] is not None:
        return cells[0] << 32 | cells[1]
    return cells[-1] if cells and "/bits/" in tokens else None


def _reference(tree: SourceTree, tokens: Sequence[str]) -> tuple[Node | None, str]:
    """The node a `<&label>` or a phandle points to, and its label."""
    for token in tokens:
        if token.startswith("&") and not token.startswith("&{"):
            return tree.labels.get(token[1:]), token[1:]
    cells = cells_of(tokens)
    if len(cells) >= 1 and cells[0] is not None:
        label = f"phandle_{cells[0]}"
        return tree.labels.get(label), label
    return None, ""


def _highest_opp(table: Node | None, cpu: Node) -> int | None:
    """The highest `opp-hz` of a table's nodes, else of an old `operating-points` list (kHz, µV pairs)."""
    if table is not None:
        rates = [
            hz
            for node in table.children.values()
            if strings_of(node.properties.get("status", ())) != ("disabled",)
            and (hz := _single(node, "opp-hz")) is not None
        ]
        if rates:
            return max(rates)
    pairs = cells_of(cpu.properties.get("operating-points", ()))
    old = [khz * 1000 for khz in pairs[::2] if khz is not None]
    return max(old) if old else None


def _cluster_names(cpus: Node, tree: SourceTree) -> dict[int, str]:
    """The cpu-map path of each cpu node, by the node's identity; nested clusters are joined with `/`."""
    names: dict[int, str] = {}
    cpu_map = cpus.children.get("cpu-map")
    if cpu_map is None:
        return names
    queue: list[tuple[Node, str]] = [(cpu_map, "")]
    while queue:
        node, path = queue.pop(0)
        if "cpu" in node.properties:
            target, _ = _reference(tree, node.properties["cpu"])
            if target is not None:
                names[id(target)] = path
        for child in node.children.values():
            below = (
                path if child.name.startswith(("core", "thread")) else f"{path}/{child.name}" if path else child.name
            )
            queue.append((child, below))
    return names


def read_cpus(tree: SourceTree) -> tuple[DtCpu, ...]:
    """The cpu nodes of a tree in its own order, which is the kernel's numbering on most systems."""
    cpus = tree.root.children.get("cpus")
    if cpus is None:
        return ()
    clusters = _cluster_names(cpus, tree)
    found = []
    for node in cpus.children.values():
        if not (node.name.startswith("cpu@") or strings_of(node.properties.get("device_type", ())) == ("cpu",)):
            continue
        table, label = _reference(tree, node.properties.get("operating-points-v2", ()))
        reg = cells_of(node.properties.get("reg", ()))
        found.append(
            DtCpu(
                node=node.name,
                label=next((name for name in node.labels if not name.startswith("phandle_")), ""),
                reg=reg[-1] if reg else None,
                compatible=strings_of(node.properties.get("compatible", ())),
                cluster=clusters.get(id(node), ""),
                capacity_dmips_mhz=_single(node, "capacity-dmips-mhz"),
                max_opp_hz=_highest_opp(table, node),
                opp_table=label,
                clock_frequency_hz=_single(node, "clock-frequency"),
                disabled=strings_of(node.properties.get("status", ())) == ("disabled",),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class DtVerdict:
    """Every rule on one tree. A width is None where a number it needs is missing; `missing` says which.

    `margin_pct` is how far the second-slowest tier is above twice the slowest: below 15 the comparison rule tips.
    """

    cpus: tuple[DtCpu, ...]
    mhz: tuple[int | None, ...]
    mhz_source: str
    capacities: tuple[int | None, ...]
    decode: int | None
    prefill: int | None
    unity: int | None
    margin_pct: float | None
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    cores: tuple[Core, ...]
    """The same cores as a device would report them, for the rules that take a topology."""


def _fallback(soc: str, cpu: DtCpu, table: Mapping[str, Mapping[str, int]]) -> int | None:
    for key, clocks in table.items():
        if key in soc:
            return clocks.get(cpu.core_name)
    return None


def scaled_capacities(dmips: Sequence[int], mhz: Sequence[int]) -> list[int]:
    """round(dmips x MHz x 1024 / the largest product), as the kernel normalises them."""
    products = [d * m for d, m in zip(dmips, mhz, strict=True)]
    top = max(products)
    return [round(product * 1024 / top) for product in products]


def judge(cpus: Sequence[DtCpu], *, soc: str = "") -> DtVerdict:
    """Apply the rules to cpu nodes. `soc` (file name or root compatible) selects fallback clocks, which are named."""
    cpus = tuple(cpu for cpu in cpus if not cpu.disabled)
    table = merged("devicetree.yaml")["fallback_mhz"]
    mhz: list[int | None] = []
    used_fallback = False
    for cpu in cpus:
        own = cpu.max_opp_hz // 1_000_000 if cpu.max_opp_hz else None
        if own is None and (given := _fallback(soc, cpu, table)) is not None:
            own, used_fallback = given, True
        mhz.append(own)
    clocks = [value for value in mhz if value is not None]
    dmips = [cpu.capacity_dmips_mhz for cpu in cpus if cpu.capacity_dmips_mhz is not None]
    missing = []
    if not cpus:
        missing.append("no cpu node")
    if len(clocks) < len(cpus):
        missing.append("top clocks (the tree has no operating points; the vendor keeps them in firmware)")
    if len(dmips) < len(cpus):
        missing.append("capacity-dmips-mhz")
    whole = bool(cpus) and not missing
    capacities: list[int | None] = list(scaled_capacities(dmips, clocks)) if whole else [None] * len(cpus)
    decode = decode_width(clocks) if cpus and len(clocks) == len(cpus) else None
    prefill = prefill_width(capacities, decode) if whole and decode is not None else None
    unity = unity_width(capacities) if whole else None
    margin = _margin([c for c in capacities if c is not None]) if whole else None
    return DtVerdict(
        cpus=cpus,
        mhz=tuple(mhz),
        mhz_source="operating points" + (" and published top clocks of this chip" if used_fallback else ""),
        capacities=tuple(capacities),
        decode=decode,
        prefill=prefill,
        unity=unity,
        margin_pct=margin,
        notes=_notes(clocks, decode, prefill, unity, margin, capacities, mhz),
        missing=tuple(missing),
        cores=_as_cores(cpus, mhz, capacities),
    )


def _margin(capacities: Sequence[int]) -> float | None:
    tiers = sorted(set(capacities))
    return None if len(tiers) < 2 else (tiers[1] / (2 * tiers[0]) - 1) * 100


def _notes(
    clocks: Sequence[int],
    decode: int | None,
    prefill: int | None,
    unity: int | None,
    margin: float | None,
    capacities: Sequence[int | None],
    mhz: Sequence[int | None],
) -> tuple[str, ...]:
    notes = []
    if decode == 2 and top_cluster_core_count(clocks) < 2:
        notes.append("decode is 2 by the floor: only one core is within 10 % of the fastest clock")
    if unity is not None and unity != prefill:
        notes.append(f"twice-the-slowest rule would take {unity} threads for prompts")
    if margin is not None and margin < 15:
        notes.append(f"the second tier is only {margin:.1f} % above twice the slowest: that rule is close to tipping")
    pairs = [(c, m) for c, m in zip(capacities, mhz, strict=True) if c is not None and m is not None]
    if any(a[0] > b[0] and a[1] < b[1] for a in pairs for b in pairs):
        notes.append("clock and capacity disagree: a weaker core clocks higher than a stronger one")
    return tuple(notes)


def _as_cores(cpus: Sequence[DtCpu], mhz: Sequence[int | None], capacities: Sequence[int | None]) -> tuple[Core, ...]:
    cores = []
    for place, cpu in enumerate(cpus):
        kind = core_by_name(cpu.core_name)
        clock = mhz[place]
        cores.append(
            Core(
                cpu=place,
                name=cpu.core_name or None,
                implementer=None if kind is None else kind[0],
                part=None if kind is None else kind[1],
                max_freq_khz=None if clock is None else clock * 1000,
                capacity=capacities[place],
                online=True,
                sources=MappingProxyType({"name": f"{cpu.node} compatible"}),
            )
        )
    return tuple(cores)
