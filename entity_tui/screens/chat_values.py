"""What the chat screen shows, made from the room's view: turns for the transcript, rows for the side panel."""

from __future__ import annotations

from entity_tui.chat.conversation import ReplyCost, Role
from entity_tui.chat.view import ChatView, TurnView
from entity_tui.screens.device_values import newest
from entity_tui.session import Session
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line
from entity_tui.widgets.numbers import tok_s
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.text import plain
from entity_tui.widgets.transcript import Turn

FINISH_WORDS = {
    "stop": "the model is done",
    "length": "limit of new tokens reached",
    "context": "context window full",
    "stopped": "stopped by you",
    "lost": "the link or the server was lost",
}


def transcript_turns(view: ChatView, *, show_reasoning: bool) -> tuple[Turn, ...]:
    """The turns of the conversation."""
    return tuple(_turn(turn, view, show_reasoning) for turn in view.turns)


def _turn(turn: TurnView, view: ChatView, show_reasoning: bool) -> Turn:
    if turn.role is Role.USER:
        heading = line(("you", Ink.ACCENT), (f"  {turn.clock}", Ink.MUTED))
        return Turn(turn.number, heading, turn.sealed, is_markdown=False)
    cost = turn.cost
    name = plain(view.model.removesuffix(".gguf")) or "model"
    about = [part for part in (_variant(cost, view), _placement(cost, view)) if part]
    spans: list[Span] = [(name, Ink.STRONG), (f"   {' · '.join(about)}" if about else "", Ink.MUTED)]
    at, of = turn.alternatives
    if of > 1:
        spans.append((f"   ‹ {at} of {of} ›", Ink.MUTED))
    before: Line = BLANK
    if turn.reasoning:
        words = "thinking …" if turn.thinking else f"thought for {len(turn.reasoning.split())} words"
        before = line((f"▸ {words}", Ink.MUTED))
    sealed = turn.sealed
    if turn.reasoning and show_reasoning:
        before = BLANK
        sealed = (_quoted(turn.reasoning), *sealed)
    return Turn(turn.number, line(*spans), sealed, turn.tail, before, _after(cost), growing=turn.streaming)


def _quoted(text: str) -> str:
    return "".join(f"> {row}\n" for row in text.splitlines())


def _after(cost: ReplyCost | None) -> Line:
    if cost is None or cost.finish in ("stop", ""):
        return BLANK
    tokens = f" at {cost.generated_tokens} tok" if cost.generated_tokens is not None else ""
    return line(("▲ ", Ink.WARN), (f"{FINISH_WORDS.get(cost.finish, cost.finish)}{tokens}", Ink.MUTED))


def _variant(cost: ReplyCost | None, view: ChatView) -> str:
    return plain((cost.variant if cost else view.variant) or "")


def _placement(cost: ReplyCost | None, view: ChatView) -> str:
    return plain((cost.placement if cost else view.placement) or "")


def conversation_condition(session: Session, view: ChatView) -> Condition:
    """The state of the conversation panel: no device, a run in flight, a failure, nothing said yet, or live."""
    if view.turns:
        return LIVE
    if view.state == "starting":
        return Condition.waiting(plain(view.words))
    if view.state == "failed":
        return Condition.broken(plain(view.words), plain(view.fix))
    if session.view.facts is None:
        return Condition.empty("No phone selected.", "d chooses one; demo and this computer need nothing.")
    if session.busy:
        return Condition.empty("A run is in flight; chat waits until it is done.", "3 shows it, s stops it.")
    return Condition.empty("Nothing said yet.", "Write a message and press enter; the first one starts the server.")


def state_line(view: ChatView) -> Line:
    """One line about what is going on, for the hint of the panel."""
    if view.state == "reading" and view.prompt_total:
        return line(f"reading {view.prompt_done} of {view.prompt_total} tokens")
    if view.state in ("starting", "preparing", "failed"):
        return line(plain(view.words))
    return BLANK


def described(view: ChatView, key: int | None) -> TurnView | None:
    """The reply the side panel is about: the one in view, else the newest."""
    replies = [turn for turn in view.turns if turn.role is Role.ASSISTANT]
    if not replies:
        return None
    before = [turn for turn in replies if key is None or turn.number <= key]
    return before[-1] if before else replies[0]


def reply_rows(session: Session, view: ChatView, turn: TurnView | None, width: int) -> tuple[Line, ...]:
    """The side panel: what this reply costs, measured; a dash where there is no number, with the reason."""
    live = turn is not None and turn.streaming
    cost = turn.cost if turn is not None else None
    rows: list[Line] = []
    if live:
        rows.append(_pair("tok/s", f"{_rate(view.rate_now)}   mean {_rate(view.rate_mean)}"))
    else:
        rows.append(_pair("tok/s", _rate(cost.decode_tok_s if cost else None)))
    prompt = cost.prompt_tok_s if cost else None
    read = f"{cost.prompt_tokens} tok" if cost and cost.prompt_tokens is not None else ""
    reused = f" +{cost.cached_tokens} reused" if cost and cost.cached_tokens else ""
    rows.append(_pair("prompt", f"{_rate(prompt)} tok/s   {read}{reused}"))
    first = view.first_token_ms if live else (cost.first_token_observed_ms if cost else None)
    rows.append(_pair("first token", "—" if first is None else f"{first / 1000:.2f} s  observed"))
    made = view.tokens if live else (cost.generated_tokens if cost else None)
    rows.append(_pair("generated", "—" if made is None else f"{made} tok"))
    rows.append(BLANK)
    rows += _context(view, cost, width)
    rows += _energy(session, view, cost, live)
    rows.append(BLANK)
    rows += _backend(session, view, cost)
    finish = "streaming" if live else (FINISH_WORDS.get(cost.finish, cost.finish) if cost else "")
    rows.append(_pair("finish", finish or "—"))
    if view.dropped_tokens:
        rows.append(line(("▲ ", Ink.WARN), f"{view.dropped_tokens} tokens of the oldest turns left out"))
    return tuple(rows)


def _pair(name: str, value: str | Line) -> Line:
    spans = line(value) if isinstance(value, str) else value
    return ((f"{name:<12}", Ink.MUTED), *spans)


def _rate(value: float | None) -> str:
    return "—" if value is None else tok_s(value)


def _context(view: ChatView, cost: ReplyCost | None, width: int) -> list[Line]:
    size = (cost.context_size if cost else None) or view.context_tokens
    used = (cost.context_used if cost else None) or 0
    if not size:
        return [_pair("context", "—")]
    bar = max(6, min(10, width - 30))
    full = min(bar, round(bar * used / size))
    spans = line(f"{used} / {size}  ", ("█" * full, Ink.GOOD), ("░" * (bar - full), Ink.TRACK))
    return [_pair("context", spans)]


def _energy(session: Session, view: ChatView, cost: ReplyCost | None, live: bool) -> list[Line]:
    rows: list[Line] = []
    watts = newest(session.telemetry, "power_w") if live else (cost.power_w if cost else None)
    note = cost.power_note if cost else (session.view.live.power_note if session.view.live else "")
    rows.append(_pair("power", f"{watts:.2f} W" if watts is not None else f"—  {plain(note)}"))
    joules = cost.energy_j_per_token if cost else None
    if joules is not None:
        rows.append(_pair("energy", f"{joules:.3f} J/tok"))
    rate = view.rate_mean if live else (cost.decode_tok_s if cost else None)
    if view.weights_bytes and rate:
        rows.append(_pair("weights", f"{view.weights_bytes / 1e6:.0f} MB  {view.weights_bytes * rate / 1e9:.1f} GB/s"))
    return rows


def _backend(session: Session, view: ChatView, cost: ReplyCost | None) -> list[Line]:
    variant = _variant(cost, view)
    kleidiai = cost.kleidiai if cost is not None and cost.kleidiai is not None else view.kleidiai
    words = {
        None: line("—"),
        True: line(("● ", Ink.GOOD), "ran for this file"),
        False: line(("○ ", Ink.MUTED), "not in use"),
    }
    live = session.view.live
    status = live.thermal_status if live is not None else None
    throttle = line("unreadable" if status is None else ("NONE" if status == 0 else f"status {status}"))
    if live is not None and live.throttle is not None and live.throttle.short:
        throttle = (*throttle, ("  ▲ clock ", Ink.WARN), (plain(live.throttle.short), Ink.WARN))
    rows = [
        _pair("backend", line(("● ", Ink.GOOD), variant) if variant else "—  not named by the loader"),
        _pair("KleidiAI", words[kleidiai]),
        _pair("placement", _placement(cost, view) or "—"),
        _pair("masks", plain(", ".join(view.masks)) or "—"),
        _pair("throttle", throttle),
        _pair("memory", _memory(view)),
    ]
    if cost is not None and cost.guard_delay_ms:
        rows.append(_pair("guard", f"waited {cost.guard_delay_ms} ms in this reply"))
    if session.view.simulated:
        rows.append(line(("simulated device", Ink.PREDICTED)))
    return rows


def _memory(view: ChatView) -> str:
    """The server's resident memory, what it alone holds and what is the file's."""
    anonymous, file = view.memory_bytes
    if anonymous is None or file is None:
        return "—"
    return f"{anonymous / 1e6:.0f} MB own, {file / 1e6:.0f} MB file"


def status_row(session: Session, view: ChatView) -> Line:
    """The side panel in one line, for narrow terminals."""
    turn = described(view, None)
    cost = turn.cost if turn is not None else None
    rate = view.rate_now if turn is not None and turn.streaming else (cost.decode_tok_s if cost else None)
    parts = [f"{_rate(rate)} tok/s"]
    first = (
        view.first_token_ms if turn is not None and turn.streaming else (cost.first_token_observed_ms if cost else None)
    )
    if first is not None:
        parts.append(f"first {first / 1000:.2f} s")
    if view.context_tokens:
        parts.append(f"ctx {(cost.context_used if cost else None) or 0}/{view.context_tokens}")
    joules = cost.energy_j_per_token if cost else None
    if joules is not None:
        parts.append(f"{joules:.3f} J/tok")
    if view.variant:
        parts.append(plain(view.variant))
    if session.view.simulated:
        parts.append("simulated")
    return line("  ".join(parts))
