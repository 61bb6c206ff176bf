"""Everything a snapshot holds about CPUs, gathered by CPU number and not yet judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from entity_tui.device.cpu_lists import HIGHEST_CPU, parse_cpu_list, parse_mask
from entity_tui.device.cpuinfo import CpuInfo, parse_cpuinfo
from entity_tui.device.numbers import hexadecimal, integer, positive
from entity_tui.device.snapshot import Snapshot

ROOT = "/sys/devices/system/cpu"
_CPU_FILE = re.compile(re.escape(ROOT) + r"/cpu(\d{1,4})/(.+)\Z")
_POLICY_FILE = re.compile(re.escape(ROOT) + r"/cpufreq/policy(\d{1,4})/(.+)\Z")


@dataclass(slots=True)
class RawCpu:
    """The texts below one cpuN directory, by path below it."""

    cpu: int
    files: dict[str, str] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)

    def number(self, path: str) -> int | None:
        """A file's number above 0, None when absent, denied or no number."""
        text = self.files.get(path)
        return None if text is None else positive(text)

    def cpus(self, path: str) -> tuple[int, ...] | None:
        """A file's CPU list; None when absent, empty or no list."""
        text = self.files.get(path)
        return (parse_cpu_list(text) or None) if text is not None else None


@dataclass(frozen=True, slots=True)
class Policy:
    """One cpufreq policy: its CPUs, on or off, and its top speed."""

    number: int
    related: tuple[int, ...]
    max_freq_khz: int | None
    min_freq_khz: int | None
    source: str


@dataclass(slots=True)
class CpuTree:
    """All raw CPU facts of one snapshot."""

    cpuinfo: CpuInfo
    cpus: dict[int, RawCpu]
    policies: tuple[Policy, ...]
    lists: dict[str, tuple[int, ...] | None]
    soc_words: tuple[str, ...] = ()
    """Names of the chip as the device prints them, most telling first."""
    abis: str = ""
    conflicts: list[str] = field(default_factory=list)
    vendor_clusters: tuple[tuple[int, ...], ...] = ()
    """Clusters by MediaTek's own `cputopo` files, empty where there are none or only one."""
    macos: dict[str, int] = field(default_factory=dict)
    """`hw.perflevelN.*` counts of a Mac."""


def _soc_words(snapshot: Snapshot, hardware: str) -> tuple[str, ...]:
    # The platform property names a family (msm8952 stands for three chips); the chip's own words come first.
    keys = ("ro.soc.model", "ro.chipname", "ro.hardware.chipname", "ro.mediatek.platform")
    words = [snapshot.props.get(key, "") for key in keys]
    words.append(hardware)
    words.extend(snapshot.props.get(key, "") for key in ("ro.board.platform", "ro.product.board", "ro.hardware"))
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


def _unlisted(number: int, raw: dict[int, RawCpu], info: CpuInfo) -> tuple[int, ...]:
    """The CPUs of a policy whose list was not read: it is named after its first CPU, and the next policy ends it.

    Only neighbours of the same design as that first CPU are taken, so a policy over two designs stays half unknown.
    """
    end = min((other for other in raw if other > number), default=HIGHEST_CPU)
    kinds = {block.cpu: (block.implementer, block.part) for block in info.blocks}
    first = kinds.get(number)
    found = [number]
    for cpu in range(number + 1, end):
        if first is None or None in first or kinds.get(cpu) != first:
            break
        found.append(cpu)
    return tuple(found)


def _policies(raw: dict[int, RawCpu], tree: dict[int, RawCpu], info: CpuInfo) -> Iterator[Policy]:
    """Policies from policyN directories first, then from each cpuN/cpufreq that answers for itself."""
    for number, policy in sorted(raw.items()):
        related = policy.cpus("related_cpus") or policy.cpus("affected_cpus")
        speed = top_speed(policy, "")
        words = "" if related else " (its CPUs inferred from its number)"
        if related or speed is not None:
            yield Policy(
                number,
                related or _unlisted(number, raw, info),
                None if speed is None else speed[0],
                policy.number("cpuinfo_min_freq"),
                f"cpufreq/policy{number}/{'' if speed is None else speed[1]}{words}",
            )
    for cpu, entry in sorted(tree.items()):
        related = entry.cpus("cpufreq/related_cpus")
        if related:
            yield Policy(
                related[0],
                related,
                entry.number("cpufreq/cpuinfo_max_freq") if cpu in related else None,
                entry.number("cpufreq/cpuinfo_min_freq") if cpu in related else None,
                f"cpu{cpu}/cpufreq/cpuinfo_max_freq",
            )


def _merge(policies: Iterator[Policy]) -> tuple[Policy, ...]:
    """One policy per set of CPUs, the first that knows its speed."""
    best: dict[tuple[int, ...], Policy] = {}
    for policy in policies:
        known = best.get(policy.related)
        if known is None or (known.max_freq_khz is None and policy.max_freq_khz is not None):
            best[policy.related] = policy
    return tuple(sorted(best.values(), key=lambda policy: policy.related))


def top_speed(files: RawCpu, below: str = "cpufreq/") -> tuple[int, str] | None:
    """The top speed one cpufreq directory names, in kHz, and the file it is from."""
    if (value := files.number(f"{below}cpuinfo_max_freq")) is not None:
        return value, f"{below}cpuinfo_max_freq"
    listed = [positive(word) for word in files.files.get(f"{below}scaling_available_frequencies", "").split()]
    spent = [
        positive(line.split()[0])
        for line in files.files.get(f"{below}stats/time_in_state", "").splitlines()
        if line.split()
    ]
    for name, values in (("scaling_available_frequencies", listed), ("stats/time_in_state", spent)):
        if numbers := [value for value in values if value is not None]:
            return max(numbers), f"{below}{name}"
    return None


def midr_of(files: RawCpu) -> int | None:
    """The main id register as the kernel prints it for this CPU, None when not readable."""
    text = files.files.get("regs/identification/midr_el1")
    value = None if text is None else hexadecimal(text)
    return value if value else None


def siblings_of(files: RawCpu) -> tuple[tuple[int, ...], str] | None:
    """The CPUs of the same physical cluster as the kernel lists them, and the file that says so."""
    for name in ("topology/cluster_cpus_list", "topology/core_siblings_list", "topology/package_cpus_list"):
        if (cpus := files.cpus(name)) and files.cpu in cpus:
            return cpus, name
    for name in ("topology/cluster_cpus", "topology/core_siblings"):
        text = files.files.get(name)
        cpus = parse_mask(text) if text else None
        if cpus and files.cpu in cpus:
            return cpus, name
    return None


def _sysctl(snapshot: Snapshot) -> dict[str, int]:
    found: dict[str, int] = {}
    for line, reading in snapshot.commands.items():
        if line.startswith("sysctl"):
            for row in reading.text.splitlines():
                key, colon, value = row.partition(":")
                if colon and key.startswith("hw.") and (number := integer(value)) is not None:
                    found[key.strip()] = number
    return found


_CLUSTER_MASK = re.compile(r"^[ \t]*cluster\d+:\s*([0-9a-fA-F]+)[ \t\r]*$", re.MULTILINE)
_BIG_LITTLE_MASKS = re.compile(r"cpumask:\s*([0-9a-fA-F]+)/([0-9a-fA-F]+)")


def vendor_clusters(text: str) -> tuple[tuple[int, ...], ...]:
    """The clusters in MediaTek's `cputopo` files; empty unless they are two or more and disjoint."""
    masks = _CLUSTER_MASK.findall(text)
    if not masks and (pair := _BIG_LITTLE_MASKS.search(text)) is not None:
        masks = list(pair.groups())
    groups = [cpus for mask in masks if (cpus := parse_mask(mask))]
    flat = [cpu for group in groups for cpu in group]
    return tuple(groups) if len(groups) > 1 and len(flat) == len(set(flat)) else ()


def collect(snapshot: Snapshot) -> CpuTree:
    """Gather every CPU text of a snapshot. Unreadable files are remembered as denied, never as numbers."""
    cpus: dict[int, RawCpu] = {}
    policies: dict[int, RawCpu] = {}
    for path, reading in snapshot.files.items():
        if not path.startswith(ROOT):
            continue
        for pattern, table in ((_CPU_FILE, cpus), (_POLICY_FILE, policies)):
            match = pattern.match(path)
            if match is None or int(match.group(1)) > HIGHEST_CPU:
                continue
            number = int(match.group(1))
            entry = table.setdefault(number, RawCpu(number))
            if reading.ok:
                entry.files[match.group(2)] = reading.text
            elif reading.outcome.value == "denied":
                entry.denied.add(match.group(2))
            break
    info = parse_cpuinfo(snapshot.file("/proc/cpuinfo").text)
    lists = {
        name: parse_cpu_list(reading.text) if (reading := snapshot.file(f"{ROOT}/{name}")).ok else None
        for name in ("possible", "present", "online", "offline")
    }
    return CpuTree(
        cpuinfo=info,
        cpus=cpus,
        policies=_merge(_policies(policies, cpus, info)),
        lists=lists,
        soc_words=_soc_words(snapshot, info.hardware),
        abis=snapshot.props.get("ro.product.cpu.abilist", "") or snapshot.props.get("ro.product.cpu.abi", ""),
        vendor_clusters=vendor_clusters(snapshot.file(f"{ROOT}/cputopo/glbinfo").text)
        or vendor_clusters(snapshot.file(f"{ROOT}/cputopo/cpus_per_cluster").text),
        macos=_sysctl(snapshot),
    )
