"""LITTLETai's presets for this device: threads, mask, and how each runtime is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.device.cpu_lists import format_mask
from entity_tui.device.topology import Topology
from entity_tui.errors import UsageError
from entity_tui.profiles.library import merged
from entity_tui.silicon.performance_classes import PerformanceClass, eviction_order, performance_classes
from entity_tui.silicon.widths import (
    background_share,
    littletai_batch_threads,
    littletai_reserve,
    littletai_threads,
)


class MaskMode(StrEnum):
    """How a mask reaches the program."""

    TASKSET = "taskset"
    CPUMASK = "cpumask"


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset worked out for one device. `cpus` is None for a free mask (the scheduler places the threads)."""

    name: str
    title: str
    threads: int
    threads_batch: int
    cpus: tuple[int, ...] | None

    @property
    def mask(self) -> str | None:
        """Bare lower-case hex; None when free."""
        return None if self.cpus is None else format_mask(self.cpus)

    @property
    def generic_threads(self) -> int:
        """The count for a runtime without separate widths: the decode count, capped by the mask, at least 1."""
        return max(1, self.threads if self.cpus is None else min(self.threads, len(self.cpus)))


@dataclass(frozen=True, slots=True)
class PresetTable:
    """Every preset for one device, with the classes they rest on."""

    online: int
    classes: tuple[PerformanceClass, ...]
    signal: str
    reserve: int
    presets: tuple[Preset, ...]

    def preset(self, name: str) -> Preset:
        """The preset of that name. Raises UsageError for an unknown one."""
        found = next((preset for preset in self.presets if preset.name == name), None)
        if found is None:
            known = ", ".join(preset.name for preset in self.presets)
            raise UsageError(f"unknown preset {name}", fix=f"one of {known}")
        return found


def _cpus(rule: str, online: Sequence[int], classes: tuple[PerformanceClass, ...], reserve: int) -> list[int] | None:
    order = eviction_order(classes)
    if rule == "minus_reserve":
        return sorted(set(online) - set(order[:reserve])) or sorted(online)
    if rule == "slowest_class":
        if len(classes) > 1:
            return sorted(classes[-1].cpus)
        return sorted(order[: background_share(len(online))])
    return None


def preset_table(topology: Topology) -> PresetTable:
    """The presets for the cores that are online. Raises UsageError when no core is known."""
    online = topology.usable
    if not online:
        raise UsageError("no online CPUs are known", fix="the device's /sys/devices/system/cpu could not be read")
    classes, signal = performance_classes(topology)
    count = len(online)
    reserve = littletai_reserve(count)
    threads = littletai_threads(count)
    presets = []
    for name, entry in merged("presets.yaml")["presets"].items():
        cpus = _cpus(entry["mask"], online, classes, reserve)
        kept = littletai_batch_threads(count) if cpus is None else max(1, len(cpus))
        presets.append(
            Preset(
                name,
                entry["title"],
                max(1, threads if cpus is None else min(threads, len(cpus))),
                kept,
                None if cpus is None else tuple(cpus),
            )
        )
    return PresetTable(count, classes, signal, reserve, tuple(presets))


@dataclass(frozen=True, slots=True)
class RuntimeFormat:
    """How one runtime is told: its lines, and whether the numbers are inferred for it."""

    name: str
    title: str
    inferred: bool
    lines: tuple[str, ...]
    has_command: bool


def runtime_format(name: str) -> RuntimeFormat:
    """The format of that name. Raises UsageError for an unknown one, whatever is asked of it."""
    formats = merged("presets.yaml")["formats"]
    if name not in formats:
        raise UsageError(f"unknown format {name}", fix=f"one of {', '.join(formats)}")
    entry = formats[name]
    return RuntimeFormat(name, entry["title"], entry["inferred"], tuple(entry["lines"]), entry["has_command"])


def mask_mode(word: str) -> MaskMode:
    """The mode of that name. Raises UsageError for any other: a mistyped mode must never drop the mask."""
    try:
        return MaskMode(word)
    except ValueError as error:
        raise UsageError(f"unknown mask mode {word}", fix="taskset or cpumask") from error


def settings(preset: Preset, name: str = "llama", *, without_batch: bool = False) -> tuple[str, ...]:
    """The setting lines of a preset for one runtime, such as `-t 4 -tb 6`."""
    if name == "llama":
        flags = f"-t {preset.threads}" if without_batch else f"-t {preset.threads} -tb {preset.threads_batch}"
        return (flags,)
    values = {
        "threads": preset.threads,
        "threads_batch": preset.threads_batch,
        "generic_threads": preset.generic_threads,
    }
    return tuple(line.format(**values) for line in runtime_format(name).lines)


def prefix(preset: Preset, mode: MaskMode = MaskMode.TASKSET) -> tuple[str, ...]:
    """The words before a command: `taskset cf`, or none for a free mask or the engine's own masks."""
    return ("taskset", preset.mask) if preset.mask is not None and mode is MaskMode.TASKSET else ()


def mask_flags(preset: Preset, mode: MaskMode = MaskMode.TASKSET) -> tuple[str, ...]:
    """The engine's own mask flags, only in cpumask mode."""
    if preset.mask is None or mode is not MaskMode.CPUMASK:
        return ()
    return ("-C", f"0x{preset.mask}", "--cpu-strict", "1")


def program_of(argv: Sequence[str]) -> str:
    """The base name of the program a command runs, looking through `env A=1 …`, `nice -n 5 …` and `nohup`."""
    words = list(argv)
    while words:
        name = words[0].rsplit("/", 1)[-1]
        if name not in ("env", "nice", "nohup", "setsid"):
            return name
        words.pop(0)
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].lstrip("-").isdigit()):
            words.pop(0)
    return ""


def command_line(
    preset: Preset,
    argv: Sequence[str],
    *,
    mode: MaskMode = MaskMode.TASKSET,
    name: str = "llama",
    without_batch: bool = False,
) -> tuple[str, ...]:
    """A command under a preset: prefix, the command, then the preset's flags, which so override earlier ones.

    `llama-bench` gets no `-tb`, also behind a wrapper. Raises UsageError for an empty command and for a runtime whose
    settings are library calls.
    """
    kind = runtime_format(name)
    if not argv:
        raise UsageError("nothing to run", fix="put the command after --")
    if not kind.has_command:
        raise UsageError(
            f"{kind.title} takes its settings by library calls, not by a command line",
            fix="presets show or presets env prints them",
        )
    bench = program_of(argv).startswith("llama-bench")
    flags = settings(preset, without_batch=without_batch or bench)[0].split()
    return (*prefix(preset, mode), *argv, *flags, *mask_flags(preset, mode))
