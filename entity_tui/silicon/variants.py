"""Which of an engine's CPU code paths a device can run, which one its loader will take, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.device.isa import IsaFeatures
from entity_tui.errors import UsageError
from entity_tui.profiles.library import merged


@dataclass(frozen=True, slots=True)
class Variant:
    """One build of the CPU backend: the features it needs and the score the loader gives it when usable."""

    name: str
    needs: tuple[str, ...]
    score: int
    march: str = ""


@dataclass(frozen=True, slots=True)
class VariantList:
    """The variants one kind of engine build carries, in its own order."""

    key: str
    title: str
    variants: tuple[Variant, ...]
    architecture: str = "arm64"

    @property
    def names(self) -> tuple[str, ...]:
        """Variant names in order."""
        return tuple(variant.name for variant in self.variants)


@dataclass(frozen=True, slots=True)
class VariantVerdict:
    """One variant judged. `eligible` is None when a feature it needs could not be read."""

    name: str
    needs: tuple[str, ...]
    score: int
    eligible: bool | None
    missing: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def _load(key: str) -> VariantList:
    profile = merged("runtimes.yaml")
    bits = {**profile["feature_bits"], **profile["x86_feature_bits"]}
    body = profile["lists"][key]
    return VariantList(
        key,
        body["title"],
        tuple(
            Variant(
                item["name"], tuple(item["needs"]), 1 + sum(bits[need] for need in item["needs"]), item.get("march", "")
            )
            for item in body["variants"]
        ),
        body["architecture"],
    )


ANDROID = _load("android")
LINUX = _load("linux")
X86 = _load("x86")
LISTS = {"android": ANDROID, "linux": LINUX, "x86": X86}


def judge(isa: IsaFeatures, variants: VariantList) -> tuple[tuple[VariantVerdict, ...], str | None]:
    """Every variant's verdict in list order, and the name the loader will choose; none on another architecture.

    The loader takes the highest score among usable variants. The prediction is None when a feature that would change
    the choice could not be read.
    """
    flags = {**isa.flags, **isa.x86_flags}
    other = "" if isa.architecture in ("", "arm32") else isa.architecture
    if other and other != variants.architecture:
        wrong = (f"{variants.architecture} processor",)
        return tuple(VariantVerdict(v.name, v.needs, v.score, False, wrong) for v in variants.variants), None
    verdicts = []
    for variant in variants.variants:
        missing = tuple(need for need in variant.needs if flags[need] is False)
        unknown = tuple(need for need in variant.needs if flags[need] is None)
        eligible = False if missing else None if unknown else True
        verdicts.append(VariantVerdict(variant.name, variant.needs, variant.score, eligible, missing, unknown))
    return tuple(verdicts), predict(verdicts)


def predict(verdicts: Sequence[VariantVerdict]) -> str | None:
    """The usable variant with the highest score, the first of equals; None while an undecided one could beat it."""
    best = max((v for v in verdicts if v.eligible), key=lambda verdict: verdict.score, default=None)
    if best is None:
        return None
    if any(verdict.eligible is None and verdict.score > best.score for verdict in verdicts):
        return None
    return best.name


def list_for(name: str) -> VariantList | None:
    """The list an engine build has: `android`, `linux`, `x86` or one of the user's own; None for any other build."""
    return LISTS.get(name) or (_load(name) if name in merged("runtimes.yaml")["lists"] else None)


def list_named(name: str) -> VariantList:
    """The list of that name. Raises UsageError for an unknown one."""
    found = list_for(name)
    if found is None:
        raise UsageError(f"unknown variant list {name}", fix=f"one of {', '.join(merged('runtimes.yaml')['lists'])}")
    return found


def compare_loaded(predicted: str | None, loaded: str | None) -> str:
    """`= predicted`, `predicted X` or empty, for the mark beside a variant the loader named itself."""
    if loaded is None or predicted is None:
        return ""
    return "= predicted" if loaded == predicted else f"predicted {predicted}"
