"""What a single-variant build needs of a CPU, told from its machine code before it is ever launched.

A build with variants chooses at load time and always has one that runs. A build without them was compiled for one
CPU class and dies with SIGILL on a lesser one, so its code is searched for instructions of the optional extensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from entity_tui.device.isa import IsaFeatures
from entity_tui.engine.elf import code_of, read_head

_PATTERNS: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    {
        # (bits that are fixed, their value), Arm Architecture Reference Manual A64 encodings
        "dotprod": (
            (0xBFE0FC00, 0x0E809400),
            (0xBFE0FC00, 0x2E809400),
            (0xBFC0F400, 0x0F80E000),
            (0xBFC0F400, 0x2F80E000),
        ),
        "i8mm": ((0xFFE0FC00, 0x4E80A400), (0xFFE0FC00, 0x6E80A400), (0xFFE0FC00, 0x4E80AC00)),
        "fp16": ((0xBFE0FC00, 0x0E400C00), (0xBFE0FC00, 0x0E401400), (0xBFE0FC00, 0x2E401C00)),
        "sve": ((0xFF3FFC10, 0x2518E000), (0xFFF0FC00, 0x0420E000)),
        "sme": ((0xFFFFF0FF, 0xD503427F), (0xFFFFF0FF, 0xD503407F)),
    }
)
_ENOUGH = 8
"""Fewer hits may be data between functions that happens to look like an instruction."""


def code_features(library: bytes) -> frozenset[str]:
    """The optional extensions an arm64 library's code uses; empty for other machines and for code without any."""
    import numpy as np

    head = read_head(library)
    if head is None or head.machine != "arm64":
        return frozenset()
    counts = dict.fromkeys(_PATTERNS, 0)
    for code in code_of(library):
        words = np.frombuffer(code[: len(code) // 4 * 4], dtype="<u4")
        for feature, patterns in _PATTERNS.items():
            counts[feature] += sum(int(np.count_nonzero((words & mask) == value)) for mask, value in patterns)
    return frozenset(feature for feature, count in counts.items() if count >= _ENOUGH)


def missing_features(needs: frozenset[str], isa: IsaFeatures) -> tuple[str, ...]:
    """The needed extensions this CPU says it does not have; one it could not tell about is not counted missing."""
    flags = isa.flags
    return tuple(sorted(need for need in needs if flags.get(need) is False))
