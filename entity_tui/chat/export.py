"""A conversation as a file: Markdown for people, JSON for programs, with what made it and what it cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from entity_tui.chat.conversation import Conversation, Message, ReplyCost, Role


def cost_words(cost: ReplyCost) -> list[str]:
    """What a reply cost, part by part; what was not measured is left out."""
    parts = []
    if cost.decode_tok_s is not None:
        parts.append(f"decode {cost.decode_tok_s:.3g} tok/s")
    if cost.prompt_tok_s is not None:
        parts.append(f"prompt {cost.prompt_tok_s:.3g} tok/s")
    if cost.first_token_observed_ms is not None:
        parts.append(f"first token {cost.first_token_observed_ms / 1000:.2f} s (observed)")
    if cost.energy_j_per_token is not None:
        parts.append(f"{cost.energy_j_per_token:.3f} J/token")
    if cost.guard_delay_ms:
        parts.append(f"thermal guard waited {cost.guard_delay_ms} ms")
    if cost.simulated:
        parts.append("simulated device")
    return parts


def _speed(cost: ReplyCost) -> str:
    return ", ".join(cost_words(cost))


def _last_cost(conversation: Conversation) -> ReplyCost | None:
    return next((message.cost for message in reversed(conversation.messages) if message.cost), None)


def to_markdown(conversation: Conversation) -> str:
    """The thread as Markdown; the header names model, backend, placement and the measured speed of the last reply."""
    lines = [f"# {conversation.title or 'Conversation'}", ""]
    cost = _last_cost(conversation)
    lines.append(f"- model: {conversation.model_name or 'unknown'}")
    if cost is not None:
        lines.append(f"- backend: {cost.variant or 'not named by the loader'}")
        lines.append(f"- placement: {cost.placement or 'scheduler'}")
        lines.append(f"- measured: {_speed(cost) or 'nothing'}")
    lines += [f"- started: {conversation.created_utc}", ""]
    if conversation.system:
        lines += ["## System", "", conversation.system, ""]
    for message in conversation.messages:
        lines += _turn(message)
    return "\n".join(lines).rstrip() + "\n"


def _turn(message: Message) -> list[str]:
    who = "You" if message.role is Role.USER else "Model"
    lines = [f"## {who}", ""]
    if message.reasoning:
        lines += ["<details><summary>reasoning</summary>", "", message.reasoning, "", "</details>", ""]
    lines += [message.text, ""]
    if message.cost is not None:
        cut = f"; {message.cost.finish}" if message.truncated else ""
        lines += [f"*{_speed(message.cost)}{cut}*", ""]
    return lines


def to_json(conversation: Conversation) -> str:
    """The thread with every kept field, as one JSON object."""
    body: dict[str, Any] = asdict(conversation)
    for row, message in zip(body["messages"], conversation.messages, strict=True):
        if message.cost is not None:
            row["cost"]["decode_tok_s"] = message.cost.decode_tok_s
            row["cost"]["prompt_tok_s"] = message.cost.prompt_tok_s
            row["cost"]["energy_j_per_token"] = message.cost.energy_j_per_token
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"
