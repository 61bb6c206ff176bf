"""The thermal guard: how long to wait before every eighth token, by the phone's own thermal status."""

from __future__ import annotations

from dataclasses import dataclass

STRIDE = 8
"""The guard acts before the 1st, 9th, 17th ... token (ENTITY: token counter AND 7 is 0)."""

EFFICIENCY_DECODE_THREADS = 2
"""Decode width in efficiency mode; the prompt keeps its own width rule (ENTITY)."""

MODERATE, SEVERE = 2, 3


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """What the user chose: the guard acts in automatic mode only; efficiency mode doubles its delay."""

    automatic: bool = True
    efficiency: bool = False


def delay_ms(status: int | None, settings: GuardSettings) -> int:
    """Milliseconds to wait: 0 below moderate, 6 at moderate, 12 from severe on; doubled in efficiency mode.

    An unreadable status counts as 0, as in ENTITY; a screen must show that it is unreadable.
    """
    if not settings.automatic or status is None or status < MODERATE:
        base = 0
    elif status < SEVERE:
        base = 6
    else:
        base = 12
    return base * 2 if settings.efficiency else base


def due(emitted_tokens: int) -> bool:
    """True before the token that follows `emitted_tokens` of this reply when the guard looks at the phone."""
    return emitted_tokens & (STRIDE - 1) == 0
