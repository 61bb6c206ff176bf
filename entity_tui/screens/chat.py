"""Chat: how does it feel, and what does it cost?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.chat import maths
from entity_tui.chat.room import ChatRoom
from entity_tui.chat.view import ChatView
from entity_tui.config import data_folder
from entity_tui.screens.chat_values import (
    conversation_condition,
    described,
    reply_rows,
    state_line,
    status_row,
    transcript_turns,
)
from entity_tui.screens.dialogs import ConfirmScreen, PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.widgets.ink import Line, line, text_of
from entity_tui.widgets.markdown_lines import code_blocks
from entity_tui.widgets.message_box import MessageBox
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import TextPanel
from entity_tui.widgets.transcript import Transcript

STREAM_PAINT_S = 1 / 12
"""A growing reply is drawn a little more than ten times a second; everything else keeps the application's clock."""


class ChatScreen(FrameScreen):
    """A conversation with the model on the device, and what each answer cost."""

    tab = "chat"
    title_words = "Chat"
    question = "How does it feel, and what does it cost?"
    keys = (
        "chat.again",
        "chat.new",
        "chat.tune",
        "chat.open",
        "chat.rename",
        "chat.delete",
        "chat.write",
        "chat.keep",
        "chat.reasoning",
        "chat.earlier",
        "chat.later",
        "filter",
        "find.next",
        "find.previous",
    )
    footer = ("chat.write", "chat.again", "chat.new", "chat.tune", "chat.open", "copy", "export.csv", "filter", "help")
    footer_compact = ("chat.write", "chat.again", "chat.new", "chat.tune", "copy", "export.csv", "help")
    reading = (
        "enter sends, alt+enter adds a line, esc leaves the field; ctrl+c stops the reply and keeps what is shown",
        "tok/s  tokens after the first, over their seconds, by the server's own counters",
        "first token  observed on this computer, the link included",
        "—  no value, with its reason; power is hidden while the battery charges",
        "‹ 1 of 2 ›  another answer to the same question: < and > move",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.show_reasoning = False
        self.searched = ""
        self._drawn: tuple[int, bool, int] = (-1, False, 0)

    def on_mount(self) -> None:
        """Draw a growing reply on a clock of its own."""
        super().on_mount()
        self.set_interval(STREAM_PAINT_S, self.paint_stream)

    def paint_stream(self) -> None:
        """Draw the reply while it grows and this screen is in view."""
        if self.is_current and self.size_class.panels and self.room.view.state == "streaming":
            self.fill()

    @property
    def room(self) -> ChatRoom:
        """The session's chat."""
        return self.session.chat

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """Conversation, this reply, the message."""
        conversation = Transcript("Conversation", id="conversation")
        conversation.display_maths, conversation.inline_maths = maths.display, maths.linear
        return (
            conversation,
            TextPanel("This reply", id="reply"),
            TextPanel(id="status", focusable=False),
            MessageBox(id="message"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The conversation takes what is left; the side panel folds into one line where there is little room."""
        if size is SizeClass.COMPACT:
            top, status, message = split_rows(body, 0, 1, 4)
            return {"conversation": top, "status": status, "message": message}
        top, message = split_rows(body, 0, 5)
        left, right = split_columns(top, 0, 40 if size is SizeClass.FULL else 32)
        return {"conversation": left, "reply": right, "message": message}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The one line has no border."""
        return frozenset({"status"})

    def arrange_panels(self) -> None:
        """Show the message field only where there is room to write."""
        super().arrange_panels()
        self.query_one("#message", MessageBox).display = "message" in self.regions(self.size)

    def focus_first(self) -> None:
        """The message has the focus on entry."""
        if self.focused is None and self.size_class.panels:
            self.set_focus(self.query_one("#message", MessageBox))

    # -- values ----------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Every panel in view."""
        view = self.room.view
        transcript = self.query_one("#conversation", Transcript)
        drawn = (view.sequence, self.show_reasoning, hash(self.session.view.state))
        if drawn != self._drawn or not view.turns:
            self._drawn = drawn
            turns = transcript_turns(view, show_reasoning=self.show_reasoning)
            transcript.show(
                turns, conversation_condition(self.session, view), hint=self._hint_words(), subtitle=plain(view.title)
            )
        if self.in_view("reply"):
            panel = self.query_one("#reply", TextPanel)
            turn = described(view, transcript.turn_in_view)
            hint = "live" if turn is not None and turn.streaming else "measured"
            panel.show(reply_rows(self.session, view, turn, panel.size.width - 4), hint=hint if turn else "")
        if self.in_view("status"):
            self.query_one("#status", TextPanel).show((status_row(self.session, view),))
        box = self.query_one("#message", MessageBox)
        box.border_subtitle = "ctrl+c stops" if view.busy else "enter send  alt+enter newline  esc leave"

    def _hint_words(self) -> str:
        view = self.room.view
        words = text_of(state_line(view))
        if words:
            return words
        transcript = self.query_one("#conversation", Transcript)
        if not view.turns:
            return ""
        return "▼ following" if transcript.following else f"▲ {transcript.rows_below} lines below, G follows"

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The end of the conversation, and what it costs."""
        view: ChatView = self.room.view
        rows = [line(" ", *status_row(self.session, view))]
        turn = described(view, None)
        text = (turn.tail or "".join(turn.sealed[-1:])) if turn is not None else ""
        rows += [line(f" {plain(row)[: width - 2]}") for row in text.splitlines()[-5:]]
        rows.append(line(" make the window 80x24 to write"))
        return tuple(rows)

    # -- what the user does ------------------------------------------------------------------------------------------

    def on_message_box_sent(self, message: MessageBox.Sent) -> None:
        """Send; while a reply is being made, say so and give the text back."""
        box = self.query_one("#message", MessageBox)
        if self.room.view.busy or self.session.busy:
            box.load_text(message.text)
            self.entity.say(
                "one moment: a reply is being made; ctrl+c stops it" if self.room.view.busy else "a run is in flight"
            )
            return
        self.query_one("#conversation", Transcript).follow()
        self.session.background(self._say(message.text), source="chat")

    async def _say(self, text: str) -> None:
        """Send; what could not be said goes back into an empty field."""
        box = self.query_one("#message", MessageBox)
        if not await self.room.send(text) and box.is_mounted and not box.text:
            box.load_text(text)
            box.move_cursor(box.document.end)

    def action_again(self) -> None:
        """Another answer to the last question."""
        if not self.room.view.busy and not self.session.busy:
            self.session.background(self.room.again(), source="chat")

    def action_new(self) -> None:
        """An empty conversation."""
        if not self.room.view.busy:
            self.room.new()
            self.set_focus(self.query_one("#message", MessageBox))

    def action_write(self) -> None:
        """Into the message field."""
        if self.in_view_widget("message"):
            self.set_focus(self.query_one("#message", MessageBox))

    def in_view_widget(self, id: str) -> bool:
        """True when a widget that is no panel has a place now."""
        return self.query_one(f"#{id}").display and self.size_class.panels

    def stop_reply(self) -> bool:
        """Stop what is being said; True when there was something to stop."""
        if not self.room.view.busy:
            return False
        self.session.background(self.room.stop(), source="chat")
        return True

    def action_tune(self) -> None:
        """The tune panel."""
        from entity_tui.screens.tune import TuneScreen

        if not self.room.view.busy:
            self.app.push_screen(TuneScreen(self.room, self.session))

    def action_choose(self) -> None:
        """The list of conversations."""
        from entity_tui.screens.conversations import ConversationsScreen

        def chosen(number: int | None) -> None:
            if number is not None:
                self.entity.attempt(self.room.open(number), "open")

        if not self.room.view.busy:
            self.app.push_screen(ConversationsScreen(self.room.store), chosen)

    def action_rename(self) -> None:
        """Give the conversation another title."""

        def typed(title: str | None) -> None:
            if title:
                self.room.rename(title)

        self.app.push_screen(PromptScreen("title of this conversation", self.room.view.title), typed)

    def action_delete(self) -> None:
        """Delete the conversation, after a question that names it."""
        conversation = self.room.conversation
        if not conversation.number or self.room.view.busy:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.room.store.delete(conversation.number)
                self.room.new()

        rows = (f"«{plain(conversation.title)}» with {len(conversation.messages)} turns.", "It cannot be brought back.")
        self.app.push_screen(ConfirmScreen("Delete this conversation?", rows, "delete"), answered)

    def action_keep(self) -> None:
        """Save the KV state on the device."""
        self.entity.attempt(self.room.keep_state(), "keep")

    def action_reasoning(self) -> None:
        """Fold or unfold what the model thought."""
        self.show_reasoning = not self.show_reasoning
        self.tick()

    def action_alternative(self, step: int) -> None:
        """Another answer to the turn in view."""
        turn = described(self.room.view, self.query_one("#conversation", Transcript).turn_in_view)
        if turn is not None and not self.room.view.busy:
            self.room.turn_alternative(turn.number, step)
            self.tick()

    def action_filter(self) -> None:
        """Find words in the conversation."""

        def typed(words: str | None) -> None:
            if words:
                self.searched = words
                self.action_find(1)

        self.app.push_screen(PromptScreen("find in this conversation", self.searched), typed)

    def action_find(self, step: int) -> None:
        """The next or previous hit."""
        if self.searched and not self.query_one("#conversation", Transcript).find(self.searched, step):
            self.entity.say(f"not found: {plain(self.searched)}")

    def action_move(self, by: int) -> None:
        """Scroll; to the end means follow."""
        transcript = self.query_one("#conversation", Transcript)
        if by >= 1_000_000:
            transcript.follow()
        else:
            transcript.scroll_rows(by)
        self._drawn = (-1, False, 0)
        self.tick()

    def copied_text(self) -> str:
        """The last code block of the reply in view, else its whole source."""
        turn = described(self.room.view, self.query_one("#conversation", Transcript).turn_in_view)
        if turn is None:
            return ""
        source = "".join(turn.sealed) + turn.tail
        blocks = code_blocks(source)
        return blocks[-1] if blocks else source

    def export_rows(self, format_name: str) -> str:
        """The conversation as Markdown (`e`) or JSON (`E`)."""
        return str(self.room.export(data_folder() / "exports", format_name))
