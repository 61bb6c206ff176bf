"""The one recommender: which model to take for a workload, whatever method predicted the speeds (ENTITY's rule)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MIN_DECODE_TOK_S = 5.0
"""Below this nothing is recommended; `entity_minimum` in profiles/usability.yaml."""


class Workload(StrEnum):
    """What the model is for: it decides whether prompt or generation speed counts more."""

    BALANCED = "BALANCED"
    LONG_PROMPT = "LONG_PROMPT"
    LONG_GENERATION = "LONG_GENERATION"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model with its predicted speeds and verdict."""

    id: str
    params_b: float
    decode_tok_s: float
    prefill_tok_s: float
    eligible: bool
    """Its weights reach the fast kernels."""
    tight: bool
    fits: bool


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and its score."""

    candidate: Candidate
    score: float


def score(candidate: Candidate, workload: Workload) -> float:
    """Size helps up to 4 B, speed up to where more is not noticed; a missing kernel and tight memory cost."""
    value = 2.2 * min(4.0, candidate.params_b) + 0.35 * min(candidate.decode_tok_s, 12.0)
    if workload is Workload.LONG_PROMPT:
        value += 0.008 * min(candidate.prefill_tok_s, 250.0)
    elif workload is Workload.LONG_GENERATION:
        value += 0.15 * min(candidate.decode_tok_s, 20.0)
    else:
        value += 0.004 * min(candidate.prefill_tok_s, 250.0)
    return value - (0.0 if candidate.eligible else 0.8) - (1.5 if candidate.tight else 0.0)


def rank(candidates: Sequence[Candidate], workload: Workload) -> tuple[Ranked, ...]:
    """Usable candidates (they fit, and generate at least 5 tok/s) by score; equal scores keep their order."""
    usable = [c for c in candidates if c.fits and c.decode_tok_s >= MIN_DECODE_TOK_S]
    rows = [Ranked(candidate, score(candidate, workload)) for candidate in usable]
    return tuple(sorted(rows, key=lambda row: -row.score))


def recommend(candidates: Sequence[Candidate], workload: Workload) -> tuple[str | None, str | None]:
    """(pick, runner-up) by id. Tight ones are left out unless nothing else is usable; None when nothing is."""
    rows = rank(candidates, workload)
    roomy = [row for row in rows if not row.candidate.tight]
    pool = roomy or list(rows)
    if not pool:
        return None, None
    best = pool[0].candidate.id
    return best, next((row.candidate.id for row in pool[1:] if row.candidate.id != best), None)
