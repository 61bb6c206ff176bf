"""What every key that works everywhere does: panels, cursor, zoom, jump, copy, export, back; and clicks."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from entity_tui.errors import EntityError
from entity_tui.screens.frame import TABS, Frame
from entity_tui.screens.keys import EVERYWHERE, bindings
from entity_tui.widgets.panel import Panel
from entity_tui.widgets.status_bars import KeyLine, TabLine
from entity_tui.widgets.table import Table

JUMP_LETTERS = "asdfghjkl"


class FrameScreen(Frame):
    """A frame whose keys work. Every screen of the interface is one."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(EVERYWHERE))

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_next_panel(self, by: int) -> None:
        """Focus the next panel."""
        panels = self.focusable_panels()
        if not panels:
            return
        current = self.focused_panel
        index = (panels.index(current) + by) % len(panels) if current in panels else 0
        self.set_focus(panels[index])

    def action_move(self, by: int) -> None:
        """Move the cursor or scroll in the focused panel."""
        panel = self.focused_panel
        if isinstance(panel, Table):
            panel.move_cursor(by)
            self.cursor_moved(panel)
        elif panel is not None:
            panel.scroll_rows(by)

    def cursor_moved(self, table: Table) -> None:
        """The cursor of a table is on another row."""
        self.tick()

    def on_panel_row_clicked(self, message: Panel.RowClicked) -> None:
        """Put the cursor on the clicked row."""
        panel = message.panel
        if isinstance(panel, Table) and panel.has_cursor:
            key = panel.row_key(message.row)
            if key:
                panel.cursor_key = key
                panel.redraw()
                self.cursor_moved(panel)

    def stop_reply(self) -> bool:
        """Stop what only this screen does, for ctrl+c; True when there was something. Chat has a reply to stop."""
        return False

    def action_zoom(self) -> None:
        """Give the focused panel the whole body, or put everything back."""
        panel = self.focused_panel
        if self.zoomed:
            self.zoomed = ""
        elif panel is not None and panel.id and self.size_class.panels:
            self.zoomed = panel.id
        else:
            return
        self.arrange_panels()
        self.call_after_refresh(self.tick)

    def action_back(self) -> None:
        """One step back: out of the zoom, out of a screen on top, else nothing."""
        if self.zoomed:
            self.action_zoom()
        elif self.entity.dismiss_errors():
            return
        elif len(self.app.screen_stack) > 1:
            self.app.pop_screen()

    def action_jump(self) -> None:
        """Put a letter on every panel and wait for one."""
        from entity_tui.screens.dialogs import JumpScreen

        panels = self.focusable_panels()
        letters = dict(zip(JUMP_LETTERS, panels, strict=False))
        for letter, panel in letters.items():
            panel.jump_letter = letter
            panel.redraw()

        def chosen(letter: str | None) -> None:
            for panel in panels:
                panel.jump_letter = ""
                panel.redraw()
            if letter in letters:
                self.set_focus(letters[letter])

        self.app.push_screen(JumpScreen(frozenset(letters)), chosen)

    def copied_text(self) -> str:
        """What `y` copies here: the last exported path once, else the focused panel."""
        panel = self.focused_panel
        return panel.plain_text() if panel is not None else ""

    def action_copy(self) -> None:
        """Copy, through the terminal's own clipboard sequence."""
        text = self.entity.take_path() or self.copied_text()
        if not text:
            self.entity.say("nothing to copy here; tab moves to a panel")
            return
        self.app.copy_to_clipboard(text)
        rows = text.count("\n") + 1
        self.entity.say(f"copied {text if rows == 1 and len(text) < 60 else f'{rows} rows'}")

    def export_rows(self, format_name: str) -> str:
        """Write what is in focus as CSV or JSON; returns the path. Screens that have rows override it."""
        from entity_tui.screens.panel_export import export_panel

        return str(export_panel(self.focused_panel, self.title_words, format_name))

    def action_export(self, format_name: str) -> None:
        """Export and show the path; `y` then copies it."""
        try:
            path = self.export_rows(format_name)
        except EntityError as error:
            self.entity.complain(error)
            return
        self.entity.show_path(path)

    # -- clicks on the shared rows -----------------------------------------------------------------------------------

    def on_device_strip_chosen(self) -> None:
        """The strip opens the picker."""
        self.entity.action_goto("picker")

    def on_tab_line_chosen(self, message: TabLine.Chosen) -> None:
        """A tab goes to its screen."""
        self.entity.action_goto(TABS[message.number][0])

    async def on_key_line_chosen(self, message: KeyLine.Chosen) -> None:
        """A footer entry does what its key does."""
        if message.action:
            await self.run_action(message.action)
