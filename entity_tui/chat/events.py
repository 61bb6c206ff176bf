"""What arrives while a reply is made: progress of the prompt, pieces of text, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Finish(StrEnum):
    """How a reply ended."""

    STOP = "stop"
    """The model said it is done."""
    LENGTH = "length"
    """The limit of new tokens was reached."""
    CONTEXT = "context"
    """The context window is full."""
    STOPPED = "stopped"
    """The user stopped it; what was shown is kept."""
    LOST = "lost"
    """The link or the server went away; what was shown is kept."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read: tokens done, reused from the cache, and in all."""

    processed: int
    cached: int
    total: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Piece:
    """New text of the reply. `tokens` are the ids it came from; text may be empty while a character is incomplete."""

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Backoff:
    """The thermal guard waited before the next tokens."""

    delay_ms: int
    status: int


@dataclass(frozen=True, slots=True)
class Timings:
    """The server's own counters for one request.

    `predicted_per_second` leaves out the first token, which belongs to the prompt phase: tokens-1 over seconds.
    """

    cached_tokens: int
    prompt_tokens: int
    prompt_ms: float
    predicted_tokens: int
    predicted_ms: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The reply is over."""

    finish: Finish
    timings: Timings | None = None
    detail: str = ""


Event = PromptProgress | Piece | Backoff | Ended
