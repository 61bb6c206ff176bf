"""A QR code over the picker: the phone scans it and trusts this computer from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from entity_tui.errors import EntityError
from entity_tui.pairing import WAIT_S, pair_by_qr
from entity_tui.transport.qr import qr_lines
from entity_tui.widgets.ink import Ink, Line, line, muted
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import VerdictBox

if TYPE_CHECKING:
    from entity_tui.app import EntityApp

WORDS = "Developer options, Wireless debugging, Pair device with QR code"


class PairingScreen(ModalScreen[None]):
    """Shows the code until a phone scanned it, two minutes are over, or `esc`."""

    DEFAULT_CSS = """
    PairingScreen { align: center middle; background: transparent; }
    PairingScreen > VerdictBox { width: 72; height: 5; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c", "leave", "back")]

    def compose(self) -> ComposeResult:
        """The box."""
        yield VerdictBox("Scan this with the phone", id="pairing")

    @property
    def entity(self) -> EntityApp:
        """The application."""
        return cast("EntityApp", self.app)

    def on_mount(self) -> None:
        """Ask the adb server whether it can find a phone at all; only then there is a code."""
        self._show((muted("asking the adb server"),))
        self.run_worker(self._pair(), exit_on_error=False)

    async def _pair(self) -> None:
        try:
            words = await pair_by_qr(self._draw)
        except EntityError as error:
            rows = [line(plain(error.title))]
            rows += [line(plain(text)) for text in (error.detail, error.fix) if text]
            self._show(tuple(rows))
            return
        self.entity.say(plain(words), log=True)
        self.dismiss(None)

    def _draw(self, payload: str) -> None:
        paper = self.app.current_theme.dark
        code = qr_lines(payload, ascii_only=self.entity.options.ascii, dark_paper=paper)
        if len(code) + 4 > self.app.size.height or len(code[0]) + 4 > self.app.size.width:
            self._show((line("The terminal is too small for the code."), line("entity-tui pair --qr prints it.")))
            return
        self._show((*(line(row) for row in code), muted(WORDS), muted(f"good for {WAIT_S:g} s")))

    def _show(self, rows: tuple[Line, ...]) -> None:
        box = self.query_one(VerdictBox)
        box.styles.width = min(72, self.app.size.width - 2)
        box.styles.height = min(self.app.size.height, len(rows) + 4)
        box.show(rows, foot=(line(("esc", Ink.STRONG), " back"),))
        box.focus()

    def action_leave(self) -> None:
        """Close without pairing."""
        self.dismiss(None)
