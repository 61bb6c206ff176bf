"""A conversation: turns, alternatives of a reply, and what each reply cost. Plain values; the store keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

TITLE_CHARACTERS = 40
STOPPED_NOTE = "[The user stopped this answer before it finished.]"


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class ReplyCost:
    """What one reply cost, measured. None is unknown, never 0.

    `first_token_observed_ms` runs from the request to the first piece of text on this computer, link included.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_ms: float | None = None
    generated_tokens: int | None = None
    decode_ms: float | None = None
    first_token_observed_ms: float | None = None
    context_used: int | None = None
    context_size: int | None = None
    guard_delay_ms: int = 0
    power_w: float | None = None
    energy_j: float | None = None
    power_note: str = ""
    variant: str = ""
    kleidiai: bool | None = None
    placement: str = ""
    thermal_status: int | None = None
    finish: str = ""
    simulated: bool = False

    @property
    def decode_tok_s(self) -> float | None:
        """Tokens after the first over their seconds; None for fewer than two tokens."""
        if not self.decode_ms or self.generated_tokens is None or self.generated_tokens < 2:
            return None
        return (self.generated_tokens - 1) / self.decode_ms * 1000

    @property
    def prompt_tok_s(self) -> float | None:
        """Prompt tokens really evaluated (not those reused) over their seconds."""
        if not self.prompt_ms or not self.prompt_tokens:
            return None
        return self.prompt_tokens / self.prompt_ms * 1000

    @property
    def energy_j_per_token(self) -> float | None:
        """Joules of the decode phase over its tokens; None while power is not valid."""
        if self.energy_j is None or not self.generated_tokens:
            return None
        return self.energy_j / self.generated_tokens


@dataclass(frozen=True, slots=True)
class Message:
    """One turn, or one alternative of a reply. `number` is its row in the store, 0 before it is kept."""

    role: Role
    text: str
    number: int = 0
    parent: int = 0
    """The message it answers; alternatives share one. 0 for the first."""
    created_utc: str = ""
    truncated: bool = False
    """True when the user stopped it, the limit cut it, or the link was lost."""
    reasoning: str = ""
    cost: ReplyCost | None = None

    @property
    def as_sent(self) -> str:
        """What the model is shown of it later: a cut answer says that it was cut."""
        if self.role is Role.ASSISTANT and self.truncated and self.cost and self.cost.finish == "stopped":
            return f"{self.text}\n{STOPPED_NOTE}"
        return self.text


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread of turns, oldest first, along the chosen alternatives."""

    number: int = 0
    title: str = ""
    system: str = ""
    created_utc: str = ""
    updated_utc: str = ""
    model_name: str = ""
    messages: tuple[Message, ...] = ()

    def rows(self) -> list[dict[str, str]]:
        """The turns as a chat request carries them, the system prompt first when there is one."""
        rows = [{"role": "system", "content": self.system}] if self.system else []
        return rows + [{"role": message.role.value, "content": message.as_sent} for message in self.messages]

    def adding(self, message: Message) -> Conversation:
        """The conversation with one more turn."""
        return replace(self, messages=(*self.messages, message))

    def without_last_reply(self) -> Conversation:
        """The conversation up to the last user turn, for another answer to it."""
        messages = self.messages
        while messages and messages[-1].role is Role.ASSISTANT:
            messages = messages[:-1]
        return replace(self, messages=messages)


def title_of(text: str) -> str:
    """A title from the first words of a conversation: 40 characters of its first line."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS else line[:TITLE_CHARACTERS] + "…"


@dataclass(frozen=True, slots=True)
class Folded:
    """A reply in two parts: what the model thought aloud, and what it says."""

    reasoning: str = ""
    text: str = ""
    thinking: bool = field(default=False)
    """True while the thinking part is still open."""


def fold_reasoning(raw: str) -> Folded:
    """Split a leading `<think> ... </think>` off a reply; without one everything is text."""
    lead = raw.lstrip()
    if not lead.startswith("<think>"):
        return Folded(text=raw)
    inside, closed, rest = lead[len("<think>") :].partition("</think>")
    return Folded(inside.strip(), rest.lstrip("\n"), thinking=not closed)
