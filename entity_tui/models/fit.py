"""Does a model fit in the memory the system can hand out now: the need part by part, a verdict, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from entity_tui.models.kv import KvShape, cache_bits

_GIB = 2**30
HEADROOM = 0.7
"""Over this share of what is free a model is TIGHT (ENTITY, DeviceProbe.kt)."""
WINDOWS = (8192, 4096, 2048, 1024, 512)


class FitLevel(StrEnum):
    """The verdict's word on every screen."""

    GOOD = "GOOD"
    FITS = "FITS"
    TIGHT = "TIGHT"
    NO = "NO"
    UNKNOWN = "?"
    """The memory could not be read: nothing is assumed."""


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """What the system could hand out when it was asked; `age_s` is how long ago that was, None when unknown."""

    available_bytes: int | None
    taken_at: str = ""
    age_s: float | None = None
    source: str = "MemAvailable"


@dataclass(frozen=True, slots=True)
class Need:
    """Memory one loaded model takes, in bytes. `second_copy_bytes` are repacked weights beside the mapped file."""

    weights_bytes: float
    second_copy_bytes: float
    kv_bytes: float
    compute_bytes: float
    window_tokens: int
    cache_type: str = "f16"
    certain: bool = True
    """False where the KV shape or the CPU was not known and a part is missing or estimated."""

    @property
    def total_bytes(self) -> float:
        """All parts together, as they stand while the model loads."""
        return self.weights_bytes + self.second_copy_bytes + self.kv_bytes + self.compute_bytes

    @property
    def least_bytes(self) -> float:
        """What stays needed: the mapped originals of repacked weights are never read again and can be dropped."""
        return self.total_bytes - min(self.second_copy_bytes, self.weights_bytes)


@dataclass(frozen=True, slots=True)
class Fit:
    """A verdict with its reason, the need it came from, and changes that would raise it."""

    level: FitLevel
    reason: str
    need: Need
    memory: MemoryReading
    helps: tuple[str, ...] = ()
    rule: str = "ours: weights, second copy, KV and compute against memory available now"


@dataclass(frozen=True, slots=True)
class Subject:
    """What the verdict needs to know of a model; sizes in bytes, `second_copy_bytes` None when the CPU is unknown."""

    params_b: float
    weights_bytes: int
    second_copy_bytes: float | None
    kv: KvShape | None
    embedding: int | None
    feed_forward: int | None
    vocabulary: int | None
    trained_context: int | None = None
    fast_kernel: bool | None = None
    """True when its main weight type has an optimised kernel on this CPU; None when that is unknown."""


def compute_bytes(subject: Subject, window: int, *, ubatch: int = 512, outputs: int = 1) -> float:
    """The work buffer, estimated: activations of one micro-batch, its mask, and the logits of `outputs` tokens.

    5 embedding and 3 feed-forward vectors a token in 32-bit and a 16-bit mask reproduce what llama.cpp b11434 states
    for SmolLM2 within 1 % (windows 512 to 8192, micro-batches 64 and 512). llama-bench asks for the logits of every
    token of a micro-batch, a server for those of one.
    """
    width = 5 * (subject.embedding or 0) + 3 * (subject.feed_forward or 0)
    return ubatch * 4.0 * width + 2.0 * ubatch * window + 4.0 * outputs * (subject.vocabulary or 0)


def need(subject: Subject, window: int, *, cache_type: str = "f16", repack: bool = True, ubatch: int = 512) -> Need:
    """The memory this model takes with a window of `window` tokens. Raises KeyError for an unknown cache type."""
    second = (subject.second_copy_bytes or 0.0) if repack else 0.0
    return Need(
        weights_bytes=float(subject.weights_bytes),
        second_copy_bytes=second,
        kv_bytes=subject.kv.bytes_at(window, cache_bits(cache_type), batch=ubatch) if subject.kv else 0.0,
        compute_bytes=compute_bytes(subject, window, ubatch=ubatch),
        window_tokens=window,
        cache_type=cache_type,
        certain=subject.kv is not None and subject.second_copy_bytes is not None,
    )


def budget_b(free_bytes: float) -> float:
    """Billions of parameters that stay pleasant with this much free memory (ENTITY, DeviceProbe.kt)."""
    free = free_bytes / _GIB
    return 8.0 if free >= 8 else 4.0 if free >= 5 else 2.0 if free >= 3 else 1.3


def judge(subject: Subject, wanted: Need, memory: MemoryReading) -> Fit:
    """The verdict; ENTITY's thresholds, applied to the whole need instead of the file alone.

    NO is for what cannot stay in memory; a second copy that only loading needs makes a model TIGHT.
    """
    free = memory.available_bytes
    if free is None or free <= 0:
        return Fit(FitLevel.UNKNOWN, "available memory could not be read", wanted, memory)
    total, least = wanted.total_bytes, wanted.least_bytes
    if least > free:
        return Fit(FitLevel.NO, f"needs {_two(least, free)[0]}, {_two(least, free)[1]} free now", wanted, memory)
    if total > free:
        words = f"needs {size_words(total)} while it loads and {size_words(least)} after, of {size_words(free)} free"
        return Fit(FitLevel.TIGHT, words, wanted, memory)
    if total > HEADROOM * free:
        big, small = _two(total, free)
        return Fit(FitLevel.TIGHT, f"needs {big} of {small} free: little headroom", wanted, memory)
    if subject.params_b > budget_b(free):
        return Fit(FitLevel.FITS, f"fits, but {subject.params_b:.1f} B parameters will be slow", wanted, memory)
    if subject.fast_kernel is False:
        return Fit(FitLevel.FITS, "fits, but its weight type has no optimised kernel on this CPU", wanted, memory)
    return Fit(FitLevel.GOOD, f"needs {_two(total, free)[0]} of {_two(total, free)[1]} free", wanted, memory)


def fit(subject: Subject, memory: MemoryReading, window: int, *, smaller: tuple[str, ...] = ()) -> Fit:
    """The verdict at a window, and, when it is TIGHT or NO, every single change that would raise it.

    `smaller` names smaller files of the same model, for the last of these.
    """
    verdict = judge(subject, need(subject, window), memory)
    if verdict.level not in (FitLevel.TIGHT, FitLevel.NO):
        return verdict
    order = [FitLevel.NO, FitLevel.TIGHT, FitLevel.FITS, FitLevel.GOOD]

    def better(changed: Need) -> FitLevel | None:
        level = judge(subject, changed, memory).level
        return level if order.index(level) > order.index(verdict.level) else None

    helps: list[str] = []
    for tokens in WINDOWS:
        if tokens < window and (level := better(need(subject, tokens))):
            helps.append(f"a window of {tokens} tokens (-c {tokens}): {level}")
            break
    if level := better(need(subject, window, cache_type="q8_0")):
        helps.append(f"an 8-bit KV cache (-ctk q8_0 -ctv q8_0): {level}")
    if subject.second_copy_bytes and (level := better(need(subject, window, repack=False))):
        helps.append(f"loading without the mapped original (-lm none): {level}")
    tight = verdict.level is FitLevel.TIGHT
    goal_bytes = verdict.need.total_bytes / HEADROOM if tight else verdict.need.least_bytes
    short = goal_bytes - (memory.available_bytes or 0)
    helps.append(f"{size_words(short)} more free memory: close other apps")
    helps += [f"a smaller file of the same model: {name}" for name in smaller[:1]]
    return replace(verdict, helps=tuple(helps))


def size_words(size_bytes: float, decimals: int = 2) -> str:
    """Decimal units: 773 MB, 1.32 GB."""
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:.{decimals}f} GB"
    return f"{size_bytes / 1e6:.{max(0, decimals - 2)}f} MB"


def _two(first: float, second: float) -> tuple[str, str]:
    """Two sizes with enough decimals to look different when they are: never "2.0 GB of 2.0 GB"."""
    for decimals in (2, 3, 4):
        words = size_words(first, decimals), size_words(second, decimals)
        if words[0] != words[1]:
            return words
    return f"{first:.0f} B", f"{second:.0f} B"
