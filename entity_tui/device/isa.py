"""Which instruction-set extensions a device reports, judged as llama.cpp's loader judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.cpuinfo import CpuInfo, parse_cpuinfo
from entity_tui.device.snapshot import Snapshot


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

    @property
    def x86_flags(self) -> Mapping[str, bool | None]:
        """The flags the x86 variants ask for; None throughout on any other processor."""
        known = self.architecture == "x86_64"
        return MappingProxyType(
            {name: set(words) <= self.common if known else None for name, words in _X86_NAMES.items()}
        )


_X86_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sse42": ("sse4_2",),
        "avx": ("avx",),
        "f16c": ("f16c",),
        "fma": ("fma",),
        "bmi2": ("bmi2",),
        "avx2": ("avx2",),
        "avx_vnni": ("avx_vnni",),
        "avx512": ("avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"),
        "avx512_vbmi": ("avx512vbmi",),
        "avx512_vnni": ("avx512_vnni",),
        "avx512_bf16": ("avx512_bf16",),
        "amx_int8": ("amx_int8", "amx_tile"),
    }
)
"""What the x86 variants ask for, and the kernel's names for it."""
_NAMES_32 = frozenset({"half", "thumb", "neon", "vfpv3", "vfpv4", "swp", "fastmult"})


def from_names(names: frozenset[str] | None, *, hidden: bool = False) -> dict[str, bool | None]:
    """The flags for a set of kernel names, by llama.cpp's rule; None throughout when there is no set.

    `hidden` is for 32-bit lists: a name that is there counts, one that is not proves nothing.
    """
    keys = ("dotprod", "fp16", "sve", "i8mm", "sve2", "sme", "sme2", "bf16", "asimd")
    if names is None:
        return dict.fromkeys(keys)
    present = {
        "dotprod": "asimddp" in names,
        "fp16": "fphp" in names and "asimdhp" in names,
        "sve": "sve" in names,
        "i8mm": "i8mm" in names,
        "sve2": "sve2" in names,
        "sme": "sme" in names,
        "sme2": "sme2" in names,
        "bf16": "bf16" in names,
        "asimd": "asimd" in names or "neon" in names,
    }
    return {key: True if value else (None if hidden else False) for key, value in present.items()}


def _lists(info: CpuInfo) -> list[tuple[str, tuple[str, ...]]]:
    rows = [(f"cpu{block.cpu}", block.features) for block in info.blocks if block.features is not None]
    if not rows and info.shared is not None and info.shared.features is not None:
        rows = [("the core that read it", info.shared.features)]
    return rows


def _disagreement(rows: list[tuple[str, tuple[str, ...]]]) -> str:
    everywhere = frozenset.intersection(*(frozenset(names) for _, names in rows))
    lacking = {
        who: sorted(frozenset().union(*(frozenset(names) for _, names in rows)) - frozenset(own)) for who, own in rows
    }
    if all(frozenset(names) == everywhere for _, names in rows):
        return ""
    return "; ".join(f"{who} lacks {' '.join(names)}" for who, names in lacking.items() if names)


def _architecture(names: frozenset[str], info: CpuInfo) -> str:
    if "asimd" in names:
        return "arm64"
    if names & _NAMES_32:
        return "arm32"
    if {"fpu", "sse2"} <= names or info.model.startswith(("Intel", "AMD")):
        return "x86_64"
    return ""


def from_cpuinfo(info: CpuInfo, source: str = "/proc/cpuinfo") -> IsaFeatures:
    """The features a cpuinfo lists. HWCAPs are the common subset of all cores, so the first line is enough; where
    lines differ the flags are judged on what every listed core has and the difference is told.
    """
    rows = _lists(info)
    if not rows:
        return IsaFeatures(source="", gate_line=info.gate_line)
    common = frozenset.intersection(*(frozenset(names) for _, names in rows))
    architecture = _architecture(common, info)
    hidden = architecture == "arm32"
    arm = architecture in ("arm64", "arm32")
    flags = from_names(common, hidden=hidden) if arm else from_names(None)
    return IsaFeatures(
        **flags,
        names=tuple(dict.fromkeys(rows[0][1])),
        source=source,
        disagreement=_disagreement(rows),
        common=common,
        architecture=architecture,
        hidden=hidden,
        gate_line=info.gate_line,
    )


def read_isa(snapshot: Snapshot) -> IsaFeatures:
    """The features of a snapshot; every flag None when cpuinfo could not be read. Never raises."""
    reading = snapshot.file("/proc/cpuinfo")
    return from_cpuinfo(parse_cpuinfo(reading.text)) if reading.ok else IsaFeatures()


__all__ = ["IsaFeatures", "from_cpuinfo", "from_names", "read_isa"]
