"""The tune panel: what the reply is sampled with and the server started with; automatic values with their rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from entity_tui.chat.prepare import PLACEMENTS, ChatSettings
from entity_tui.chat.room import ChatRoom
from entity_tui.session import Session
from entity_tui.widgets.text import plain


@dataclass(frozen=True, slots=True)
class Knob:
    """One thing to tune: where it lives, its range in words, and how a text becomes its value (ValueError when not)."""

    key: str
    label: str
    range_words: str
    read: Callable[[str], Any]
    server: bool = False
    """True when the server must be started again for it."""


def _number(low: float, high: float, kind: type = float) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return read


def _automatic(low: int, high: int) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text.strip().lower() in ("", "auto", "0"):
            return 0
        return _number(low, high, int)(text)

    return read


def _one_of(*words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text.strip() not in words:
            raise ValueError
        return text.strip()

    return read


def _truth(text: str) -> bool:
    return bool(("no", "yes").index(text.strip().lower()))


KNOBS = (
    Knob("temperature", "temperature", "0 to 2; 0 is greedy", _number(0, 2)),
    Knob("top_k", "top-k", "0 to 1000; 0 is off", _number(0, 1000, int)),
    Knob("top_p", "top-p", "0 to 1", _number(0, 1)),
    Knob("min_p", "min-p", "0 to 1", _number(0, 1)),
    Knob("repeat_penalty", "repeat penalty", "0.5 to 2, over the last 64 tokens", _number(0.5, 2)),
    Knob("max_tokens", "max new tokens", "64 to 2048", _number(1, 8192, int)),
    Knob("seed", "seed", "-1 takes a fresh one", _number(-1, 2**31, int)),
    Knob("context_tokens", "context", "auto, or 256 to 131072", _automatic(256, 131_072), server=True),
    Knob("threads", "decode threads", "auto, or 1 to 64", _automatic(1, 64), server=True),
    Knob("placement", "placement", ", ".join(PLACEMENTS), _one_of(*PLACEMENTS), server=True),
    Knob("efficiency", "efficiency mode", "yes or no: two decode threads, guard doubled", _truth, server=True),
    Knob("load_mode", "load mode", "auto, mmap or none", _one_of("auto", "mmap", "none"), server=True),
    Knob("repack", "repack", "yes or no", _truth, server=True),
    Knob("cache_type", "KV cache type", "f16 or q8_0", _one_of("f16", "q8_0"), server=True),
)


def what_if(session: Session, room: ChatRoom) -> str:
    """File size and free memory with the window they give, beside what a fixed 8192 would have taken."""
    prepared, facts = room.view.prepared, session.view.facts
    if prepared is None or facts is None:
        return "Start a conversation to see what this model and this memory give."
    size = prepared.model.size_bytes / 1e6
    free = facts.memory.available_bytes
    words = f"{size:.0f} MB file, {free / 2**30:.1f} GiB free" if free else f"{size:.0f} MB file, free memory unknown"
    text = f"{words} → window {room.view.context_tokens}"
    measured = room.kv_mib
    if measured is not None and room.view.context_tokens:
        fixed = measured * 8192 / room.view.context_tokens
        text += f", KV {measured:.0f} MiB; a fixed 8192 would take {fixed:.0f} MiB"
    return text


class TuneScreen(ModalScreen[None]):
    """A form: enter in any field takes everything over, esc leaves it as it was."""

    DEFAULT_CSS = """
    TuneScreen { align: center middle; background: transparent; }
    TuneScreen > VerticalScroll { width: 92%; max-width: 100; height: 90%; border: round $accent; padding: 0 1; }
    TuneScreen > VerticalScroll { background: $background; }
    TuneScreen Horizontal { height: 1; }
    TuneScreen .name { width: 18; color: $text-muted; }
    TuneScreen Input { border: none; height: 1; width: 24; background: $boost; padding: 0; }
    TuneScreen .words { width: 1fr; color: $text-muted; padding: 0 0 0 2; }
    TuneScreen .bad { color: $error; }
    TuneScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "back"),
        Binding("down", "app.focus_next", "next", show=False),
        Binding("up", "app.focus_previous", "previous", show=False),
    ]

    def __init__(self, room: ChatRoom, session: Session) -> None:
        super().__init__()
        self.room = room
        self.session = session

    def _value(self, knob: Knob) -> str:
        view = self.room.view
        value = getattr(view.sampling, knob.key, None)
        if value is None:
            value = getattr(view.settings, knob.key)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "auto" if value == 0 and knob.key in ("context_tokens", "threads") else f"{value}"

    def compose(self) -> ComposeResult:
        """One row a knob, then what is automatic and why."""
        with VerticalScroll() as box:
            box.border_title = "Tune"
            box.border_subtitle = "enter takes over  esc back"
            with Horizontal():
                yield Static("system prompt", classes="name")
                field = Input(self.room.view.system, id="system", select_on_focus=False)
                field.styles.width = "1fr"
                yield field
            for knob in KNOBS:
                with Horizontal():
                    yield Static(knob.label, classes="name")
                    yield Input(self._value(knob), id=f"knob-{knob.key}", select_on_focus=False)
                    yield Static(knob.range_words, classes="words", markup=False)
            yield Static("")
            prepared = self.room.view.prepared
            for choice in prepared.choices if prepared else ():
                with Horizontal():
                    yield Static(choice.name, classes="name", markup=False)
                    yield Static(plain(f"{choice.value}   {choice.rule}"), markup=False)
            yield Static(plain(what_if(self.session, self.room)), markup=False)
            yield Static("", id="problem", classes="bad", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take everything over, or name the first field that is wrong."""
        values: dict[str, Any] = {}
        for knob in KNOBS:
            text = self.query_one(f"#knob-{knob.key}", Input).value
            try:
                values[knob.key] = knob.read(text)
            except ValueError:
                self.query_one("#problem", Static).update(f"{knob.label}: {plain(text)!r} is not {knob.range_words}")
                self.query_one(f"#knob-{knob.key}", Input).focus()
                return
        view = self.room.view
        server = {knob.key: values[knob.key] for knob in KNOBS if knob.server}
        sampling = replace(view.sampling, **{knob.key: values[knob.key] for knob in KNOBS if not knob.server})
        settings: ChatSettings = replace(view.settings, **server)
        system = self.query_one("#system", Input).value
        self.session.background(self.room.tune(settings, sampling, system), source="chat")
        self.dismiss(None)

    def action_leave(self) -> None:
        """Close; nothing changes."""
        self.dismiss(None)
