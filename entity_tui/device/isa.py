"""Which instruction-set extensions a device reports, judged as llama.cpp's loader judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class IsaFeatures:
    """Extension flags in llama.cpp's sense plus the raw names.

    A flag is None when nothing was readable: unknown is not absent. `fp16` needs both `fphp` and `asimdhp`.
    """

    dotprod: bool | None = None
    fp16: bool | None = None
    sve: bool | None = None
    i8mm: bool | None = None
    sve2: bool | None = None
    sme: bool | None = None
    sme2: bool | None = None
    bf16: bool | None = None
    asimd: bool | None = None
    names: tuple[str, ...] = ()
    """The first core's names in the kernel's order, doubles removed."""
    source: str = ""
    disagreement: str = ""
    """In words, when cores list different features; empty when they agree."""
    common: frozenset[str] = frozenset()
    """Names that every listed core has."""
    architecture: str = ""
    """`arm64`, `arm32`, `x86_64`, or empty."""
    hidden: bool = False
    """True where a 32-bit list hides flags of 64-bit silicon: absent names then prove nothing."""
    gate_line: str | None = None
    """The first line of cpuinfo that starts with `Features`, verbatim; None when there is none."""

    @property
    def flags(self) -> Mapping[str, bool | None]:
        """The flags the variant lists ask for, by name."""
        return MappingProxyType(
            {
                "dotprod": self.dotprod,
                "fp16": self.fp16,
                "sve": self.sve,
                "i8mm": self.i8mm,
                "sve2": self.sve2,
                "sme": self.sme,
            }
        )


__all__ = ["IsaFeatures"]
