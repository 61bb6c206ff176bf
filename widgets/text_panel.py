"""Finished rows in a panel: help, advice, previews, plans, and the one panel of a tiny terminal."""

from __future__ import annotations

from entity_tui.widgets.border import HEAVY
from entity_tui.widgets.ink import Line
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet


class TextPanel(Panel):
    """Shows rows as they are given; longer ones are cut at the border, more of them scroll."""

    def __init__(self, title: str = "", *, id: str | None = None, focusable: bool = True) -> None:
        super().__init__(title, id=id, focusable=focusable)
        self.rows: tuple[Line, ...] = ()
        self.foot: tuple[Line, ...] = ()

    def show(
        self,
        rows: tuple[Line, ...],
        condition: Condition = LIVE,
        *,
        foot: tuple[Line, ...] = (),
        hint: str = "",
        subtitle: str = "",
    ) -> None:
        """Show these rows."""
        self.rows = rows
        self.foot = foot
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    def sheet(self, width: int, height: int) -> Sheet:
        """The rows."""
        return Sheet(self.rows, foot=self.foot)


class TinyPanel(TextPanel):
    """The one panel of a terminal that has no room for panels: every cell of a row is its own."""

    margin_cells = 0


class VerdictBox(TextPanel):
    """A conclusion: the heavy border is reserved for it, at most one on a screen."""

    frame = HEAVY
