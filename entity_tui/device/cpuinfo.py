"""What /proc/cpuinfo says and, as important, what it does not: which core each line belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from entity_tui.device.cpu_lists import HIGHEST_CPU
from entity_tui.device.numbers import hexadecimal, integer

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9 _.()/-]{0,60}\Z")
_PER_CORE = frozenset({"CPU implementer", "CPU part", "CPU variant", "CPU revision", "CPU architecture", "Features"})


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """One core as listed: numbers are None where the block does not carry them."""

    cpu: int
    implementer: int | None = None
    part: int | None = None
    variant: int | None = None
    revision: int | None = None
    features: tuple[str, ...] | None = None
    model_name: str = ""


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The whole file.

    `one_block` means a single block serves all processors: `shared` then describes whichever core read the file, and
    nothing in the text says which one. `kinds` holds every (implementer, part) pair named anywhere in the text.
    """

    blocks: tuple[CoreBlock, ...] = ()
    one_block: bool = False
    shared: CoreBlock | None = None
    kinds: tuple[tuple[int, int], ...] = ()
    hardware: str = ""
    model: str = ""
    gate_line: str | None = None
    """The first line that starts with `Features`, verbatim."""
    has_features_of_both_widths: bool = False

    @property
    def processors(self) -> tuple[int, ...]:
        """Processor numbers as listed, sorted and distinct."""
        return tuple(sorted({block.cpu for block in self.blocks}))


def _pair(value: str) -> list[str]:
    """`0xc07 & 0xc0f` as its words: one old kernel prints both kinds into one field."""
    return [word.strip() for word in value.split("&") if word.strip()]


def _revision(text: str) -> int | None:
    return integer(text) if not text.strip().lower().startswith("0x") else hexadecimal(text)


def _block(cpu: int, keys: dict[str, str]) -> CoreBlock:
    def single(key: str) -> str:
        words = _pair(keys.get(key, ""))
        return words[0] if len(words) == 1 else ""

    features = keys.get("Features", keys.get("flags"))
    return CoreBlock(
        cpu=cpu,
        implementer=hexadecimal(single("CPU implementer")),
        part=hexadecimal(single("CPU part")),
        variant=hexadecimal(single("CPU variant")),
        revision=_revision(single("CPU revision")),
        features=None if features is None else tuple(features.split()),
        model_name=keys.get("model name", ""),
    )


def _kinds(sections: Iterable[dict[str, str]]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for keys in sections:
        makers = [hexadecimal(word) for word in _pair(keys.get("CPU implementer", ""))]
        parts = [hexadecimal(word) for word in _pair(keys.get("CPU part", ""))]
        if not makers:
            continue
        for place, part in enumerate(parts):
            maker = makers[place] if place < len(makers) else makers[0]
            if maker is not None and part is not None and (maker, part) not in found:
                found.append((maker, part))
    return tuple(found)


def _sections(text: str) -> tuple[list[tuple[int | None, dict[str, str]]], dict[str, str]]:
    """Split into per-processor sections (in order) and the keys of the whole machine.

    A section starts at a `processor` line with a number. Lines after a blank line that follows a processor section
    and that start no new one belong to the machine, except where they carry a core's keys: that is the one block.
    """
    sections: list[tuple[int | None, dict[str, str]]] = []
    machine: dict[str, str] = {}
    current: dict[str, str] | None = None
    for line in text.replace("\r", "\n").split("\n"):
        if not line.strip():
            current = None
            continue
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or _KEY.match(key) is None:
            continue
        if key == "processor" and (number := integer(value)) is not None and 0 <= number <= HIGHEST_CPU:
            current = {}
            sections.append((number, current))
        elif key in _PER_CORE and current is None:
            current = {key: value}
            sections.append((None, current))
        elif current is not None:
            current.setdefault(key, value)
            if key not in _PER_CORE:
                machine.setdefault(key, value)
        else:
            machine.setdefault(key, value)
    return sections, machine


def _gate_line(text: str) -> str | None:
    return next((line.rstrip("\r") for line in text.split("\n") if line.startswith("Features")), None)


def parse_cpuinfo(text: str) -> CpuInfo:
    """Read the file as it stands. Any text is accepted; what is not recognised is skipped."""
    sections, machine = _sections(text)
    numbered = [(number, keys) for number, keys in sections if number is not None]
    loose = [keys for number, keys in sections if number is None]
    with_part = [keys for _, keys in numbered if "CPU part" in keys]
    shared_keys: dict[str, str] | None = None
    if loose:
        shared_keys = {}
        for keys in loose:
            for key, value in keys.items():
                shared_keys.setdefault(key, value)
    elif len(numbered) > 1 and len(with_part) == 1 and numbered[-1][1] is with_part[0]:
        shared_keys = with_part[0]
    one_block = shared_keys is not None and len(numbered) != 1
    if one_block and shared_keys is not None:
        blocks = tuple(CoreBlock(number, model_name=keys.get("model name", "")) for number, keys in numbered)
        shared: CoreBlock | None = _block(-1, shared_keys)
    else:
        blocks = tuple(_block(number, {**(shared_keys or {}), **keys}) for number, keys in numbered)
        shared = None
    features = next((block.features for block in (*blocks, shared) if block is not None and block.features), ())
    words = set(features)
    return CpuInfo(
        blocks=blocks,
        one_block=one_block,
        shared=shared,
        kinds=_kinds([*(keys for _, keys in numbered), *loose]),
        hardware=machine.get("Hardware", ""),
        model=machine.get("Model", machine.get("model name", "")),
        gate_line=_gate_line(text),
        has_features_of_both_widths=bool(words & {"asimd", "fp"}) and bool(words & {"half", "thumb", "neon"}),
    )
