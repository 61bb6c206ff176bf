"""What a screen shows of a chat: turns and state as immutable values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from entity_tui.chat.conversation import Message, ReplyCost, Role
from entity_tui.chat.generate import Sampling
from entity_tui.chat.prepare import ChatSettings, Prepared
from entity_tui.chat.segments import Segments


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn as a screen draws it: finished Markdown sources, and the tail that still grows."""

    number: int
    role: Role
    clock: str
    sealed: tuple[str, ...] = ()
    tail: str = ""
    reasoning: str = ""
    thinking: bool = False
    alternatives: tuple[int, int] = (1, 1)
    """(this one, how many)."""
    cost: ReplyCost | None = None
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class ChatView:
    """Everything the chat screen shows; replaced whole, `sequence` grows with every change."""

    sequence: int = 0
    title: str = ""
    turns: tuple[TurnView, ...] = ()
    state: str = "closed"
    """closed, starting, ready, preparing, reading, streaming, failed."""
    words: str = ""
    fix: str = ""
    model: str = ""
    variant: str = ""
    kleidiai: bool | None = None
    placement: str = ""
    context_tokens: int = 0
    weights_bytes: int = 0
    prompt_done: int = 0
    prompt_total: int = 0
    rate_now: float | None = None
    rate_mean: float | None = None
    rates: tuple[float, ...] = ()
    tokens: int = 0
    first_token_ms: float | None = None
    dropped_tokens: int = 0
    masks: tuple[str, ...] = ()
    memory_bytes: tuple[int | None, int | None] = (None, None)
    """The server's resident memory: (anonymous, file-backed)."""
    prepared: Prepared | None = None
    settings: ChatSettings = field(default_factory=ChatSettings)
    sampling: Sampling = field(default_factory=Sampling)
    system: str = ""

    @property
    def busy(self) -> bool:
        """True while a reply is being made or the server starts."""
        return self.state in ("starting", "preparing", "reading", "streaming")


def turn_of(message: Message, place: tuple[int, int]) -> TurnView:
    clock = ""
    if message.created_utc:
        clock = datetime.fromisoformat(message.created_utc).astimezone().strftime("%H:%M")
    sealed: tuple[str, ...] = (message.text,) if message.text else ()
    if message.role is Role.ASSISTANT and message.text:
        segments = Segments()
        segments.feed(message.text + "\n")
        segments.finish()
        sealed = tuple(segments.sealed)
    return TurnView(message.number, message.role, clock, sealed, "", message.reasoning, False, place, message.cost)
