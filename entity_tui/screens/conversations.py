"""The list of conversations over the chat: type to search, enter opens, esc goes back."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from entity_tui.chat.store import ConversationStore
from entity_tui.widgets.text import plain


class ConversationsScreen(ModalScreen[int | None]):
    """Chooses a conversation; closes with its number."""

    DEFAULT_CSS = """
    ConversationsScreen { align: center middle; background: transparent; }
    ConversationsScreen > Vertical { width: 90%; max-width: 90; height: 80%; border: round $accent; }
    ConversationsScreen > Vertical { background: $background; }
    ConversationsScreen Input { border: none; height: 1; background: $background; }
    ConversationsScreen OptionList { border: none; background: $background; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "back"),
        Binding("down", "list", "list", show=False),
    ]

    def __init__(self, store: ConversationStore) -> None:
        super().__init__()
        self.store = store

    def compose(self) -> ComposeResult:
        """A field over a list."""
        with Vertical() as box:
            box.border_title = "Conversations"
            box.border_subtitle = "type to search  enter open  esc back"
            yield Input(placeholder="search titles and words")
            yield OptionList()

    def on_mount(self) -> None:
        """All of them."""
        self._list("")

    def _list(self, search: str) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        for row in self.store.listed(search):
            words = f"{row.updated_utc[5:16].replace('T', ' ')}  {row.turns:3} turns  {plain(row.title)}"
            options.add_option(Option(Text(words), id=str(row.number)))
        if options.option_count:
            options.highlighted = 0

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list."""
        self._list(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Open the first one."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self._chosen(options.get_option_at_index(options.highlighted))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open it."""
        self._chosen(event.option)

    def _chosen(self, option: Option) -> None:
        self.dismiss(int(option.id) if option.id else None)

    def action_list(self) -> None:
        """Into the list."""
        self.query_one(OptionList).focus()

    def action_leave(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
