"""ENTITY's published predictor, kept whole under its own name: speeds, fit verdicts and picks as its app gives them.

Rules restated from DeviceProbe.kt; every number equals the published parity table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from entity_tui.models.fit import budget_b, size_words
from entity_tui.models.recommend import Candidate, Ranked, Workload, rank, recommend

ANCHOR_BYTES = 773_025_920
"""Llama-3.2-1B Q4_0 on the CMF Phone 1 (Dimensity 7300), four pinned threads: the phone all of this is anchored on."""
ANCHOR_DECODE_TOK_S = 18.2
ANCHOR_BANDWIDTH_GB_S = 26.2
ANCHOR_PREFILL_TOK_S = 128.2
ANCHOR_PARAMS_B = 1.24
Q8_PREFILL_GAIN = 1.62
NO_KERNEL_FACTOR = 0.87
NO_DOTPROD_FACTOR = 0.45
ASSUMED_FREE_GIB = 1.5
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Readings:
    """What ENTITY's micro-benchmarks read: GB/s of a 32 MiB copy, and multiply-adds relative to the anchor."""

    bandwidth_gb_s: float
    compute_score: float
    dotprod: bool
    i8mm: bool
    available_bytes: int
    """0 or less means the memory could not be read."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model as the predictor sees it."""

    id: str
    params_b: float
    quant: str
    size_bytes: int

    @property
    def eligible(self) -> bool:
        """ENTITY's label rule for KleidiAI."""
        return self.quant in ("Q4_0", "Q8_0")


@dataclass(frozen=True, slots=True)
class Assessment:
    """One model on one device. `fit` is GREAT, OK, TIGHT or TOO_BIG; `reason` is ENTITY's own sentence."""

    subject: Subject
    decode_tok_s: float
    prefill_tok_s: float
    ttft_s: float
    fit: str
    reason: str


def prefill_gain(quant: str) -> float:
    """How much faster a prompt goes than with Q4_0 on the anchor, by weight type."""
    return Q8_PREFILL_GAIN if quant == "Q8_0" else 1.0 if quant == "Q4_0" else NO_KERNEL_FACTOR


def decode_tok_s(bandwidth_gb_s: float, size_bytes: int) -> float:
    """Generated tokens a second: the anchor's bytes a second, scaled by bandwidth, over the file; at least 0.05."""
    return max(0.05, ANCHOR_BYTES * ANCHOR_DECODE_TOK_S * (bandwidth_gb_s / ANCHOR_BANDWIDTH_GB_S) / size_bytes)


def prefill_tok_s(score: float, params_b: float, quant: str, *, dotprod: bool) -> float:
    """Prompt tokens a second: the anchor's, scaled by compute and size; at least 0.1."""
    rate = ANCHOR_PREFILL_TOK_S * score * ANCHOR_PARAMS_B / max(0.1, params_b) * prefill_gain(quant)
    return max(0.1, rate if dotprod else rate * NO_DOTPROD_FACTOR)


def readings_of_chip(decode_gb_s: float, prefill_b_tok_s: float, *, dotprod: bool) -> tuple[float, float]:
    """(bandwidth reading, compute score) a chip with these measured constants would have shown."""
    bandwidth = decode_gb_s / (ANCHOR_BYTES * ANCHOR_DECODE_TOK_S / 1e9) * ANCHOR_BANDWIDTH_GB_S
    score = prefill_b_tok_s / (ANCHOR_PREFILL_TOK_S * ANCHOR_PARAMS_B)
    return bandwidth, score if dotprod else score / NO_DOTPROD_FACTOR


def assess(subject: Subject, readings: Readings) -> Assessment:
    """Speeds, verdict and reason of one model."""
    decode = decode_tok_s(readings.bandwidth_gb_s, subject.size_bytes)
    prefill = prefill_tok_s(readings.compute_score, subject.params_b, subject.quant, dotprod=readings.dotprod)
    fit, reason = verdict(subject, readings)
    return Assessment(subject, decode, prefill, 512.0 / prefill, fit, reason)


def verdict(subject: Subject, readings: Readings) -> tuple[str, str]:
    """(fit, reason); the first rule that matches wins. Sizes it calls GB are GiB, as in the original."""
    unknown = readings.available_bytes <= 0
    free = ASSUMED_FREE_GIB if unknown else readings.available_bytes / _GIB
    size = subject.size_bytes / _GIB
    if size > free:
        if unknown:
            shown = size_words(subject.size_bytes)
            return "TOO_BIG", f"available memory could not be read - {shown} is too much to risk on an unknown device"
        return "TOO_BIG", f"{_rounded(size)} GB of weights with only {_rounded(free)} GB free right now"
    notes = [_kernel_note(subject, readings)]
    if unknown:
        notes.append(f"available memory could not be read - sized against an assumed {ASSUMED_FREE_GIB} GB free")
        return "TIGHT", " · ".join(notes)
    if size > 0.7 * free:
        notes.append(f"{_rounded(size)} GB of weights against {_rounded(free)} GB free leaves little headroom")
        return "TIGHT", " · ".join(notes)
    within = subject.params_b <= budget_b(free * _GIB)
    if not within:
        notes.append(f"{_rounded(subject.params_b)}B will decode slowly on this CPU")
    return ("GREAT" if subject.eligible and within else "OK"), " · ".join(notes)


def _kernel_note(subject: Subject, readings: Readings) -> str:
    if not subject.eligible:
        return f"{subject.quant} misses KleidiAI - runs ggml's Arm repack kernels instead"
    if readings.i8mm:
        return f"{subject.quant} reaches KleidiAI, and this CPU has i8mm"
    if readings.dotprod:
        return f"{subject.quant} reaches KleidiAI on this CPU's dotprod kernels"
    return f"{subject.quant} reaches KleidiAI, but this CPU has no dotprod"


def _rounded(value: float) -> str:
    """One decimal, ties away from zero as the original's formatter: 2.25 is 2.3."""
    return str(Decimal(value).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))


def candidate(assessment: Assessment) -> Candidate:
    """The assessment as the recommender takes it."""
    return Candidate(
        id=assessment.subject.id,
        params_b=assessment.subject.params_b,
        decode_tok_s=assessment.decode_tok_s,
        prefill_tok_s=assessment.prefill_tok_s,
        eligible=assessment.subject.eligible,
        tight=assessment.fit == "TIGHT",
        fits=assessment.fit != "TOO_BIG",
    )


def ranking(assessments: Sequence[Assessment], workload: Workload) -> tuple[Ranked, ...]:
    """Usable models by score, best first, TIGHT ones included."""
    return rank([candidate(assessment) for assessment in assessments], workload)


def pick(assessments: Sequence[Assessment], workload: Workload) -> tuple[str | None, str | None]:
    """(id of the pick, id of the runner-up); None where there is none."""
    return recommend([candidate(assessment) for assessment in assessments], workload)
