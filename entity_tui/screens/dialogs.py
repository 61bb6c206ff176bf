"""Small screens over a screen: a question with a heavy border, one line to type, and the letters of a jump."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from entity_tui.widgets.ink import Ink, line
from entity_tui.widgets.text import fold
from entity_tui.widgets.text_panel import VerdictBox


class ConfirmScreen(ModalScreen[bool]):
    """Asks once, with what it will cost; `enter` or `y` goes on, anything that means no goes back."""

    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; background: transparent; }
    ConfirmScreen > VerdictBox { width: 76; height: 12; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "answer(True)", "go on"),
        Binding("escape,n,q,ctrl+c", "answer(False)", "back"),
    ]

    def __init__(self, title: str, rows: tuple[str, ...], yes: str) -> None:
        super().__init__()
        self.words = title
        self.rows = rows
        self.yes = yes

    def compose(self) -> ComposeResult:
        """The box."""
        yield VerdictBox(self.words, id="confirm")

    def on_mount(self) -> None:
        """As high as its words, as wide as the terminal allows."""
        box = self.query_one(VerdictBox)
        width = min(76, self.app.size.width - 2)
        rows = [piece for row in self.rows for piece in fold(row, width - 4)]
        box.styles.width = width
        box.styles.height = min(self.app.size.height, len(rows) + 4)
        foot = line(("enter", Ink.STRONG), f" {self.yes}   ", ("esc", Ink.STRONG), " back")
        box.show(tuple(line(row) for row in rows), foot=(foot,))
        box.focus()

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)


class PromptScreen(ModalScreen[str | None]):
    """One line to type at the bottom of the screen; `esc` leaves things as they were."""

    DEFAULT_CSS = """
    PromptScreen { align: left bottom; background: transparent; }
    PromptScreen > Input { height: 3; width: 100%; border: round $accent; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "leave", "back")]

    def __init__(self, words: str, value: str = "", suggestion: str = "") -> None:
        super().__init__()
        self.words = words
        self.value = value
        self.suggestion = suggestion

    def compose(self) -> ComposeResult:
        """The field, with what it is for in its border."""
        field = Input(self.value, placeholder=self.suggestion, select_on_focus=False)
        field.border_title = self.words
        yield field

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was typed."""
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """Close without a value."""
        self.dismiss(None)


class JumpScreen(ModalScreen[str | None]):
    """Waits for one of the letters that stand on the panels below; any other key goes back."""

    DEFAULT_CSS = "JumpScreen { background: transparent; }"

    def __init__(self, letters: frozenset[str]) -> None:
        super().__init__()
        self.letters = letters

    def on_key(self, event: events.Key) -> None:
        """Close with the letter, or without."""
        event.stop()
        event.prevent_default()
        self.dismiss(event.key if event.key in self.letters else None)
