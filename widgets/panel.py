"""The one panel every screen is made of: its own border, five states, and rows kept as Strips until they change."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from entity_tui.widgets.border import ROUNDED, Frame, top_border
from entity_tui.widgets.ink import BLANK, Ink, Line, crop, line, pad, paper_of, repaint
from entity_tui.widgets.numbers import duration
from entity_tui.widgets.text import fold


class PanelState(StrEnum):
    """What a panel can be in. Each looks different, and none of them moves the panel."""

    WAITING = "waiting"
    EMPTY = "empty"
    LIVE = "live"
    STALE = "stale"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of one panel and its words.

    `words` says what is being read, why it is empty, or what broke; `fix` what key or action helps.
    `age_s` is the age of stale values.
    """

    state: PanelState = PanelState.LIVE
    words: str = ""
    fix: str = ""
    age_s: float | None = None

    @classmethod
    def waiting(cls, words: str) -> Condition:
        """Something is being read: what, and for how long."""
        return cls(PanelState.WAITING, words)

    @classmethod
    def empty(cls, words: str, fix: str = "") -> Condition:
        """Nothing to show yet, and the key that fills it."""
        return cls(PanelState.EMPTY, words, fix)

    @classmethod
    def stale(cls, age_s: float) -> Condition:
        """The newest value is `age_s` seconds old."""
        return cls(PanelState.STALE, age_s=age_s)

    @classmethod
    def broken(cls, words: str, fix: str = "") -> Condition:
        """This panel cannot work, why, and what to do; the others go on."""
        return cls(PanelState.BROKEN, words, fix)


LIVE = Condition()


@dataclass(frozen=True, slots=True)
class Sheet:
    """The inside of a panel: `head` stays at the top, `rows` scroll, `foot` stays at the bottom.

    `cursor` is the index in `rows` that must be visible, None without a cursor. `stick_to_end` shows the last rows
    unless the reader scrolled away from them.
    """

    rows: tuple[Line, ...] = ()
    head: tuple[Line, ...] = ()
    foot: tuple[Line, ...] = ()
    cursor: int | None = None
    stick_to_end: bool = False


def condition_lines(condition: Condition, width: int) -> tuple[Line, ...]:
    """The inside of a panel that has nothing live to show, folded to `width` cells."""
    if condition.state is PanelState.BROKEN:
        words = fold(condition.words or "This panel cannot be filled.", max(1, width - 2))
        rows = [line(("✖ " if i == 0 else "  ", Ink.BAD), text) for i, text in enumerate(words)]
        return (*rows, *(line(f"  {text}") for text in fold(condition.fix, max(1, width - 2)) if text))
    ink = Ink.MUTED if condition.state is PanelState.WAITING else Ink.TEXT
    rows = [line((text, ink)) for text in fold(condition.words, width)]
    return (*rows, *(line((text, Ink.MUTED)) for text in fold(condition.fix, width) if text))


@dataclass(slots=True)
class _Drawn:
    """What is on the screen now: the rows as spans and as Strips, index by index."""

    rows: list[Line] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)


class Panel(Widget):
    """A bordered panel. A kind of panel overrides `sheet` and is given values with `show`.

    `render_line` only returns finished Strips. A call of `show` with the values it already has costs one comparison,
    and one that changes three rows asks for three rows to be painted.
    """

    DEFAULT_CSS = """
    Panel { background: $background; }
    """

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = []

    class RowClicked(Message):
        """A row inside the panel was clicked; `row` counts from the first row of the sheet's `rows`."""

        def __init__(self, panel: Panel, row: int) -> None:
            super().__init__()
            self.panel = panel
            self.row = row

    frame: ClassVar[Frame] = ROUNDED
    margin_cells: ClassVar[int] = 1
    """Cells kept free at both sides, inside the border."""

    def __init__(self, title: str = "", *, id: str | None = None, focusable: bool = True) -> None:
        super().__init__(id=id)
        self.can_focus = focusable
        self.title = title
        self.subtitle = ""
        """Words beside the title, such as the name of a model."""
        self.hint = ""
        self.condition = Condition.waiting("")
        self.jump_letter = ""
        self.bare = False
        """True draws the rows without a border, for the narrow layouts."""
        self.top_row = 0
        self._followed = True
        self._last_cursor: int | None = None
        self._drawn = _Drawn()
        self._sheet_rows = 0
        self._view_rows = 0
        self._head_rows = 0

    # -- what a kind of panel says -------------------------------------------------------------------------------

    def sheet(self, width: int, height: int) -> Sheet:
        """The inside, for `width` x `height` cells; called in the live and the stale state."""
        return Sheet()

    def plain_text(self) -> str:
        """What `y` copies: the inside as text, without borders."""
        rows = self._drawn.rows if self.bare else self._drawn.rows[1:-1]
        return "\n".join("".join(text for text, _ in row).strip("│┃ ") for row in rows).strip("\n")

    # -- giving it values ----------------------------------------------------------------------------------------

    def set_condition(self, condition: Condition, *, hint: str = "", subtitle: str = "") -> None:
        """Change the state, the right title and the words beside the title, then draw what changed."""
        self.condition = condition
        self.hint = hint
        self.subtitle = subtitle
        self.redraw()

    def redraw(self) -> None:
        """Draw into Strips and ask for those rows to be painted that differ from what is on the screen."""
        width, height = self.size
        if width < 2 or height < 1 or not self.is_mounted:
            return
        rows = self._bare_rows(width, height) if self.bare or height < 2 else self._compose_rows(width, height)
        paper = paper_of(self)
        drawn = self._drawn
        if len(drawn.rows) != len(rows) or (drawn.strips and drawn.strips[0].cell_length != width):
            drawn.rows = rows
            drawn.strips = [paper.strip(row, width) for row in rows]
            self.refresh()
            return
        changed: list[Region] = []
        for y, row in enumerate(rows):
            if row != drawn.rows[y]:
                drawn.rows[y] = row
                drawn.strips[y] = paper.strip(row, width)
                changed.append(Region(0, y, width, 1))
        if changed:
            self.refresh(*changed)

    def repaint_all(self) -> None:
        """Forget every Strip, because the paper changed."""
        self._drawn = _Drawn()
        self.redraw()

    # -- composing -----------------------------------------------------------------------------------------------

    def _title_line(self) -> Line:
        parts: list[tuple[str, Ink]] = []
        if self.jump_letter:
            parts.append((f"[{self.jump_letter}] ", Ink.JUMP))
        parts.append((self.title, Ink.STRONG))
        if self.subtitle:
            parts.append((f"  {self.subtitle}", Ink.TEXT))
        return tuple(part for part in parts if part[0])

    def _hint(self) -> str:
        if self.condition.state is PanelState.STALE:
            return f"stale {duration(self.condition.age_s)}"
        if self.condition.state is PanelState.WAITING:
            return "waiting"
        return self.hint

    def _compose_rows(self, width: int, height: int) -> list[Line]:
        frame = self.frame
        ink = Ink.FOCUS if self.has_focus else Ink.BORDER
        margin = " " * self.margin_cells
        inner, space = width - 2 - 2 * self.margin_cells, height - 2
        body = self._body(max(0, inner), max(0, space))
        side = (frame.vertical + margin, ink)
        end = (margin + frame.vertical, ink)
        urgent = self.condition.state is PanelState.STALE
        rows = [top_border(frame, self._title_line(), self._hint(), width, ink, urgent=urgent)]
        rows.extend((side, *pad(crop(row, inner), inner), end) for row in body)
        rows.append(line((frame.bottom_left + frame.horizontal * (width - 2) + frame.bottom_right, ink)))
        return rows

    def _bare_rows(self, width: int, height: int) -> list[Line]:
        margin = " " * self.margin_cells
        return [line(margin, *row) for row in self._body(max(0, width - 2 * self.margin_cells), height)]

    def _body(self, width: int, height: int) -> list[Line]:
        state = self.condition.state
        if state in (PanelState.LIVE, PanelState.STALE):
            sheet = self.sheet(width, height)
            if state is PanelState.STALE:
                sheet = Sheet(
                    tuple(repaint(row, Ink.MUTED) for row in sheet.rows),
                    tuple(repaint(row, Ink.MUTED) for row in sheet.head),
                    tuple(repaint(row, Ink.MUTED) for row in sheet.foot),
                    sheet.cursor,
                    sheet.stick_to_end,
                )
        else:
            indent = " " * (1 - self.margin_cells)
            rows = condition_lines(self.condition, width - 2 * len(indent))
            sheet = Sheet(tuple(line(indent, *row) for row in rows))
        return self._fit(sheet, height)

    def _fit(self, sheet: Sheet, height: int) -> list[Line]:
        """Exactly `height` rows: head, the part of the rows in view, foot."""
        head = sheet.head[:height]
        foot = sheet.foot[: max(0, height - len(head) - (1 if sheet.rows else 0))]
        view = max(0, height - len(head) - len(foot))
        furthest = max(0, len(sheet.rows) - view)
        if sheet.stick_to_end and self._followed:
            self.top_row = furthest
        if sheet.cursor is not None and sheet.cursor != self._last_cursor and view:
            self.top_row = min(self.top_row, sheet.cursor)
            self.top_row = max(self.top_row, sheet.cursor - view + 1)
        self._last_cursor = sheet.cursor
        self.top_row = max(0, min(self.top_row, furthest))
        self._sheet_rows, self._view_rows, self._head_rows = len(sheet.rows), view, len(head)
        shown = list(sheet.rows[self.top_row : self.top_row + view])
        shown += [BLANK] * (view - len(shown))
        return [*head, *shown, *foot]

    # -- Textual -------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The finished Strip of one row."""
        strips = self._drawn.strips
        if y < len(strips):
            return strips[y]
        return Strip.blank(self.size.width, paper_of(self).styles[Ink.TEXT])

    def on_mount(self) -> None:
        """Draw once the application is known."""
        self.redraw()

    def on_resize(self) -> None:
        """Draw for the new size; the cursor and the scroll position stay."""
        self.redraw()

    def on_focus(self) -> None:
        """Show the accent border."""
        self.redraw()

    def on_blur(self) -> None:
        """Show the quiet border."""
        self.redraw()

    def scroll_rows(self, rows: int) -> None:
        """Move the rows under the head by so many, not past either end."""
        furthest = max(0, self._sheet_rows - self._view_rows)
        self.top_row = max(0, min(self.top_row + rows, furthest))
        self._followed = self.top_row >= furthest
        self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll three rows towards the end."""
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll three rows towards the start."""
        event.stop()
        self.scroll_rows(-3)

    def on_click(self, event: events.Click) -> None:
        """Tell which row was clicked."""
        row = event.y - (0 if self.bare else 1) - self._head_rows
        if 0 <= row < self._view_rows and row + self.top_row < self._sheet_rows:
            self.post_message(self.RowClicked(self, row + self.top_row))
