"""The field a message is written in: enter sends, alt+enter adds a line, a long paste folds to a chip."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import TextArea

FOLD_CHARACTERS = 2_000
"""A pasted text over this many characters is shown as a chip and sent whole."""


class MessageBox(TextArea):
    """Several lines of text. Posts `Sent` with the whole text; the former messages come back with `up`."""

    DEFAULT_CSS = """
    MessageBox { border: round $border-blurred; background: $background; padding: 0 1; }
    MessageBox:focus { border: round $accent; }
    MessageBox > .text-area--cursor-line { background: $background; }
    """

    class Sent(Message):
        """The user pressed enter; `text` is what was written, chips unfolded."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)
        self.border_title = "Message"
        self.border_subtitle = ""
        self.former: list[str] = []
        self._recalled = 0
        self._chips: dict[str, str] = {}

    def unfolded(self) -> str:
        """The text with every chip replaced by what was pasted."""
        text = self.text
        for chip, pasted in self._chips.items():
            text = text.replace(chip, pasted)
        return text

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._send()
        elif event.key in ("alt+enter", "shift+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        elif event.key == "up" and not self.text and self.former:
            event.stop()
            event.prevent_default()
            self._recalled = min(self._recalled + 1, len(self.former))
            self.load_text(self.former[-self._recalled])
            self.move_cursor(self.document.end)
        elif event.key == "escape":
            event.stop()
            event.prevent_default()
            self.screen.set_focus(None)
            for panel in getattr(self.screen, "focusable_panels", list)():
                self.screen.set_focus(panel)
                break
        else:
            await super()._on_key(event)

    def _send(self) -> None:
        text = self.unfolded().strip()
        if not text:
            return
        self.former.append(text)
        self._recalled = 0
        self._chips.clear()
        self.load_text("")
        self.post_message(self.Sent(text))

    async def _on_paste(self, event: events.Paste) -> None:
        if len(event.text) <= FOLD_CHARACTERS:
            await super()._on_paste(event)
            return
        event.stop()
        event.prevent_default()
        chip = f"[pasted {len(event.text):,} chars]".replace(",", " ")
        while chip in self._chips:
            chip = chip.removesuffix("]") + "+]"
        self._chips[chip] = event.text
        self.insert(chip)
