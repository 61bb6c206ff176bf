"""KleidiAI's three separate answers: is it in this build, has it a kernel for these weights here, did it run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.isa import IsaFeatures

ENTITY_ELIGIBLE = frozenset({"Q4_0", "Q8_0"})
"""ENTITY's label rule: these two types count as covered, whatever the build and the CPU (TensorCensus.kt)."""

_KERNELS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = MappingProxyType(
    {
        # ggml-cpu/kleidiai/kernels.cpp with KleidiAI 1.24, in the order tried
        "Q4_0": (
            ("SME2", ("sme2", "fp16")),
            ("SVE", ("sve", "i8mm", "dotprod")),
            ("I8MM", ("i8mm", "dotprod")),
            ("DOTPROD", ("dotprod",)),
        ),
        "Q8_0": (("SME2", ("sme2",)), ("SME", ("sme",)), ("I8MM", ("i8mm", "dotprod")), ("DOTPROD", ("dotprod",))),
        "F32": (("SME2", ("sme2",)), ("SME", ("sme",))),
    }
)
_PROMPT_ONLY: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = MappingProxyType({"F16": (("SME2", ("sme2",)),)})


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel family KleidiAI has for one weight type on one CPU; `family` is None when it has none."""

    weight_type: str
    family: str | None
    reason: str
    prompt_only: bool = False
    certain: bool = True
    """False when a feature that would decide could not be read."""


@dataclass(frozen=True, slots=True)
class KleidiAnswers:
    """The three answers. `in_build` and `ran` are None where nothing has been seen that would tell."""

    in_build: bool | None
    in_build_evidence: str
    kernels: tuple[Kernel, ...]
    ran: bool | None
    ran_evidence: str

    @property
    def summary(self) -> str:
        """One line: the first answer that says no decides."""
        if self.in_build is False:
            return "not in this build"
        if not any(kernel.family for kernel in self.kernels):
            return "no kernel for these weights on this CPU"
        if self.ran is None:
            return "kernels exist; not seen running" if self.in_build else "kernels exist; build not checked"
        return "ran for this file" if self.ran else "did not run for this file"


def kernel_for(weight_type: str, isa: IsaFeatures) -> Kernel:
    """The first kernel family whose needs this CPU meets.

    The SVE family is never claimed: it also needs 256-bit vectors, and phones have 128 (kernels.cpp checks the length),
    so those take the I8MM family.
    """
    prompt_only = weight_type in _PROMPT_ONLY
    rows = _KERNELS.get(weight_type) or _PROMPT_ONLY.get(weight_type)
    if rows is None:
        return Kernel(weight_type, None, "KleidiAI has kernels for Q4_0, Q8_0 and, with SME, F32 and F16 only")
    if isa.architecture.startswith("x86"):
        return Kernel(weight_type, None, "KleidiAI is for Arm CPUs")
    flags = {**isa.flags, "sme2": isa.sme2}
    unknown: list[str] = []
    for family, needs in rows:
        if family == "SVE":
            continue
        states = [flags.get(need) for need in needs]
        if all(states):
            reason = "prompts only" if prompt_only else f"needs {' and '.join(needs)}"
            return Kernel(weight_type, family, reason, prompt_only)
        if not any(state is False for state in states):
            unknown += [need for need, state in zip(needs, states, strict=True) if state is None]
    if unknown:
        return Kernel(weight_type, None, f"{', '.join(dict.fromkeys(unknown))} could not be read", certain=False)
    return Kernel(weight_type, None, f"this CPU has none of {', '.join(' + '.join(needs) for _, needs in rows)}")


@dataclass(frozen=True, slots=True)
class SeenInLog:
    """What an engine's log said of KleidiAI; None where it did not tell. `evidence` is the line."""

    in_build: bool | None = None
    ran: bool | None = None
    evidence: str = ""


def answers(
    weight_types: Iterable[str], isa: IsaFeatures, *, build_origin: str = "", seen: SeenInLog | None = None
) -> KleidiAnswers:
    """The three answers for a file's weight types on a CPU, with what a log of the engine said.

    Without a log the first answer is "not in this build": the official Android archives leave KleidiAI out, and that
    is what a user has. `build_origin` "unknown" says that nothing is known of the build at all.
    """
    log = seen or SeenInLog()
    in_build, evidence = log.in_build, log.evidence
    if in_build is None and build_origin != "unknown":
        in_build, evidence = False, "official llama.cpp builds leave it out; no log of this one says otherwise"
    if isa.architecture.startswith("x86"):
        in_build, evidence = False, "KleidiAI is for Arm CPUs"
    kernels = tuple(kernel_for(name, isa) for name in sorted(set(weight_types)))
    ran, proof = log.ran, log.evidence
    if ran is None:
        ran, proof = (False, "it is not in the build") if log.in_build is False else (None, "no load was seen")
    return KleidiAnswers(in_build, evidence, kernels, ran, proof)
