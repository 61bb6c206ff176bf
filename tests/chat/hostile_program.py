"""A program that shows every hostile reply in a transcript, as a model would have said it; `q` ends it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from entity_tui.chat import maths
from entity_tui.chat.segments import Segments
from entity_tui.widgets.ink import line
from entity_tui.widgets.transcript import Transcript, Turn
from tests.chat.test_hostile_text import CORPUS


class Hostile(App[None]):
    """One turn a case."""

    CSS = "Transcript { width: 100%; height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "quit", "quit"), Binding("space", "page", "page")]

    def compose(self) -> ComposeResult:
        """One panel."""
        transcript = Transcript("Conversation", id="talk")
        transcript.display_maths, transcript.inline_maths = maths.display, maths.linear
        yield transcript

    def on_mount(self) -> None:
        """Show all of them."""
        turns = []
        for number, hostile in enumerate(CORPUS, 1):
            segments = Segments()
            segments.feed(f"{hostile}\n\n```\n{hostile}\n```\n")
            segments.finish()
            turns.append(Turn(number, line(f"case {number}"), tuple(segments.sealed)))
        self.query_one(Transcript).show(tuple(turns), hint=f"{len(turns)} cases")

    def action_page(self) -> None:
        """Show the page before this one."""
        self.query_one(Transcript).scroll_rows(-20)


if __name__ == "__main__":
    Hostile().run()
