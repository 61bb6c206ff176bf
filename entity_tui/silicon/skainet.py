"""SKaiNET's two Android tiers: which library its gate picks, what loads, what answers, which kernel a format gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.isa import IsaFeatures
from entity_tui.profiles.library import shipped

V82 = "V82_DOTPROD"
BASELINE = "BASELINE"
CPUINFO = "/proc/cpuinfo"


def _profile() -> Any:
    return shipped("runtimes.yaml")["skainet"]


def published_gate(cpuinfo: str | None) -> bool:
    """The gate as published: substrings of the first line that starts with `Features`; False without such a line."""
    line = next((row for row in (cpuinfo or "").split("\n") if row.startswith("Features")), None)
    if line is None:
        return False
    gate = _profile()["gate"]
    return all(word in line for word in gate["all_of"]) and any(word in line for word in gate["any_of"])


def safe_gate(cpuinfo: str | None) -> bool:
    """Our gate: whole words, on every listed core. The published one can pick a library a later core cannot run."""
    if not published_gate(cpuinfo):
        return False
    info = parse_cpuinfo(cpuinfo or "")
    lists = [set(block.features) for block in info.blocks if block.features is not None]
    if info.shared is not None and info.shared.features is not None:
        lists.append(set(info.shared.features))
    gate = _profile()["gate"]
    return bool(lists) and all(set(gate["all_of"]) <= names and bool(names & set(gate["any_of"])) for names in lists)


def loaded_tier(gate: bool, *, v82_loads: bool, baseline_loads: bool) -> str | None:
    """The load cascade: the gated library first, then the baseline, never upwards; None when nothing loads."""
    if gate and v82_loads:
        return V82
    return BASELINE if baseline_loads else None


def smoke_passes(tier: str | None, output: Sequence[float] | None) -> bool:
    """True when the loaded library doubles the smoke input exactly; nothing loaded or an exception is unavailable."""
    return tier is not None and output is not None and list(output) == _profile()["smoke"]["expected"]


@dataclass(frozen=True, slots=True)
class FormatKernel:
    """What one weight format runs on in one tier."""

    name: str
    provider: str
    body: str
    block_elements: int
    block_bytes: int
    activations: str


@dataclass(frozen=True, slots=True)
class SkainetVerdict:
    """The tier a device would take, with its gate inputs; `unsafe` when the published gate would pick the wrong one."""

    tier: str
    gate_published: bool
    gate_safe: bool
    gate_line: str | None
    library: str
    formats: tuple[FormatKernel, ...]

    @property
    def unsafe(self) -> bool:
        """True where the published gate says v82 and not all cores carry it."""
        return self.gate_published and not self.gate_safe


@cache
def formats_of(tier: str) -> tuple[FormatKernel, ...]:
    """Every weight format's kernel in a tier, in the profile's order."""
    return tuple(
        FormatKernel(
            name,
            entry["provider"],
            entry["bodies"][tier],
            entry["block_elements"],
            entry["block_bytes"],
            entry.get("activations", ""),
        )
        for name, entry in _profile()["formats"].items()
    )


def judge_features(isa: IsaFeatures) -> SkainetVerdict:
    """The tier from features that were read already: the gate's own line, and what every listed core has."""
    gate = _profile()["gate"]
    line = isa.gate_line
    if line is None:
        # A cpuinfo without the line fails the gate; features without any text are asked the gate's two questions.
        ready = isa.source != CPUINFO and isa.dotprod is True and isa.fp16 is True
        return _verdict(ready, ready, None)
    common = isa.common or frozenset(isa.names)
    published = published_gate(line)
    safe = published and set(gate["all_of"]) <= common and bool(common & set(gate["any_of"]))
    return _verdict(published, safe, line)


def _verdict(published: bool, safe: bool, line: str | None) -> SkainetVerdict:
    tier = loaded_tier(safe, v82_loads=True, baseline_loads=True) or BASELINE
    libraries = {entry["name"]: entry["library"] for entry in _profile()["tiers"]}
    return SkainetVerdict(tier, published, safe, line, libraries[tier], formats_of(tier))


def judge_skainet(cpuinfo: str | None) -> SkainetVerdict:
    """The tier for a device's cpuinfo text, by the safe gate, assuming both libraries are in the package."""
    published, safe = published_gate(cpuinfo), safe_gate(cpuinfo)
    line = next((row for row in (cpuinfo or "").split("\n") if row.startswith("Features")), None)
    return _verdict(published, safe, line)
