"""Chat: its place among the six screens, and what a conversation will need. Talking is not part of this version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.geometry import Region
from textual.widget import Widget

from entity_tui.screens.dashboard_values import chosen_engine
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.layout import SizeClass
from entity_tui.session import Session
from entity_tui.widgets.ink import BLANK, Ink, Line, line, muted
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import TextPanel


def chat_rows(session: Session) -> tuple[Line, ...]:
    """That this version has no chat, and what is already there for one."""
    view = session.view
    engine = chosen_engine(view)
    server = engine is not None and "llama-server" in engine.executables
    ready = view.facts is not None

    def have(held: bool, words: str) -> Line:
        return line(("● ", Ink.GOOD) if held else ("○ ", Ink.MUTED), words)

    name = f"{plain(engine.name)} {plain(engine.build)}" if engine else ""
    return (
        line(("Chat is not part of this version.", Ink.STRONG)),
        BLANK,
        line("What a conversation on this device needs, and what of it is here:"),
        BLANK,
        have(ready, "a device that answers"),
        have(server, f"an engine with llama-server{f': {name}' if server else ''}"),
        have(bool(view.models), f"a model on the device{f': {len(view.models)} found' if view.models else ''}"),
        BLANK,
        muted("Bench and Placement measure the same model now: b runs the default plan."),
    )


class ChatScreen(FrameScreen):
    """Says what is missing, and offers nothing that does not work."""

    tab = "chat"
    title_words = "Chat"
    question = "How does it feel, and what does it cost? (not in this version)"
    footer = ("bench.run_default", "placement.run_default", "device", "help")
    footer_compact = footer

    def make_panels(self) -> Iterable[Widget]:
        """One panel."""
        return (TextPanel("Conversation", id="conversation"),)

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The whole body."""
        return {"conversation": body}

    def fill(self) -> None:
        """What is here for a conversation."""
        self.query_one("#conversation", TextPanel).show(chat_rows(self.session))

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The same rows."""
        return tuple(line(" ", *row) for row in chat_rows(self.session) if row)
