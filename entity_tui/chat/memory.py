"""What of a conversation still fits: the oldest half of the turns goes, the system prompt stays, the user is told."""

from __future__ import annotations

from dataclasses import dataclass

HEADROOM = 4
"""Tokens kept free at the end of the window (ENTITY)."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Which turns are sent. `dropped_turns` counts from the oldest; `dropped_tokens` is what they would have cost."""

    dropped_turns: int = 0
    dropped_tokens: int = 0
    fits: bool = True
    """False when even the last turn alone does not fit: the message itself is too long."""


def fit_turns(turn_tokens: list[int], *, system_tokens: int, context_tokens: int, reserve_tokens: int) -> Fitted:
    """How many of the oldest turns must go so that the rest, and `reserve_tokens` of answer, fit the window.

    Halves the turns, oldest first, until they fit, and always keeps the last one (ENTITY drops the oldest half of what
    follows the system prompt). Token counts are of the rendered template.
    """
    room = context_tokens - HEADROOM - system_tokens - reserve_tokens
    dropped = 0
    while sum(turn_tokens[dropped:]) > room and dropped < len(turn_tokens) - 1:
        left = len(turn_tokens) - dropped
        dropped += max(1, left // 2)
        dropped = min(dropped, len(turn_tokens) - 1)
    fits = sum(turn_tokens[dropped:]) <= room
    return Fitted(dropped, sum(turn_tokens[:dropped]), fits)
