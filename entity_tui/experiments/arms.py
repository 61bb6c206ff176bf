"""Arms: a configuration as a user writes it (YAML), and the same one with its numbers filled in for one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def no_env() -> Mapping[str, str]:
    """An empty environment."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PhaseSetting:
    """What one phase (prefill or decode) of an arm asks for.

    `mask` is the set of CPUs to pin to, never empty: an arm that is not pinned asks for every online CPU, because a
    mask left over from somewhere else is a mask too. None means that `taskset` is not used (the device has none).
    """

    threads: int
    mask: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Arm:
    """One configuration with the numbers of this device in it."""

    arm_id: str
    label: str
    prefill: PhaseSetting
    decode: PhaseSetting
    role: str = "measure"
    """`measure`, or `aa` for the second copy of the control."""
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=no_env)
    engine_dir: str = ""
    """Directory of the executables on the device; empty means the plan's own engine."""
    model_path: str = ""
    """The GGUF on the device; empty means the plan's own model."""
    engine_build: str = ""
    model_name: str = ""
    model_sha256: str = ""
    model_quant: str = ""
    """What the arm's own engine and model are; empty where they are the plan's."""
    command: tuple[str, ...] = ()
    """A whole foreign command line instead of llama-bench."""
    marks: tuple[str, ...] = ()
    """What an experiment does differently in this arm, in its own words (the controls of equivalence)."""
    incapable: str = ""
    """Why this arm cannot run here, in words; such an arm is listed with its reason and never run."""
    same_as: str = ""
    """The arm with the same masks, widths and flags, when running both would measure one thing twice."""
