"""A conversation as rows: finished segments are drawn once and kept, the growing tail anew; text can be selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.selection import Selection
from textual.strip import Strip

from entity_tui.widgets.ink import BLANK, Ink, Line, line, text_of
from entity_tui.widgets.markdown_lines import DisplayMaths, Drawing, InlineMaths, markdown_rows
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import plain


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: a heading, finished Markdown sources, a tail that still grows, and a closing row."""

    key: int
    heading: Line
    sealed: tuple[str, ...] = ()
    tail: str = ""
    before: Line = BLANK
    """A row between heading and text, such as folded reasoning; empty for none."""
    after: Line = BLANK
    is_markdown: bool = True
    growing: bool = False


def _source_rows(source: str, width: int) -> tuple[Line, ...]:
    """A user's own text: its lines as written, wrapped."""
    from entity_tui.widgets.text import fold

    rows: list[Line] = []
    for raw in source.split("\n"):
        rows.extend(line(part) for part in fold(plain(raw), width))
    return tuple(rows)


class Transcript(Panel):
    """The conversation. `show` takes turns; rows of segments that did not change are never made again."""

    ALLOW_SELECT: ClassVar[bool] = True

    def __init__(self, title: str = "", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.turns: tuple[Turn, ...] = ()
        self.display_maths: DisplayMaths = lambda source: (source,)
        self.inline_maths: InlineMaths = lambda source: source
        self._kept: dict[tuple[str, bool], tuple[Line, ...]] = {}
        self._kept_width = 0
        self._rows: tuple[Line, ...] = ()
        self._lead: list[Line] = []
        self._lead_keys: tuple[object, ...] = ()
        self._lead_starts: list[tuple[int, int]] = []
        self._starts: list[tuple[int, int]] = []
        """(first row, key) of every turn."""
        self._grown: list[Line] = []
        self._grown_of: tuple[int, int, int] = (0, 0, 0)
        """Key and width of the growing turn, and how many of its sealed segments are in `_grown`."""

    def show(self, turns: tuple[Turn, ...], condition: Condition = LIVE, *, hint: str = "", subtitle: str = "") -> None:
        """Show these turns."""
        self.turns = turns
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    @property
    def following(self) -> bool:
        """True while the newest row is in view."""
        return self._followed

    @property
    def rows_below(self) -> int:
        """Rows under the last one in view."""
        return max(0, self._sheet_rows - self._view_rows - self.top_row)

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._followed = True
        self.redraw()

    def sheet(self, width: int, height: int) -> Sheet:
        """All rows; the frame shows the part in view."""
        if width != self._kept_width:
            self._kept, self._kept_width, self._lead_keys = {}, width, ()
        done = self.turns[:-1] if self.turns and self.turns[-1].growing else self.turns
        keys: tuple[object, ...] = (width, *done)
        if keys != self._lead_keys:
            self._lead_keys = keys
            self._lead = []
            self._lead_starts = []
            for turn in done:
                self._lead_starts.append((len(self._lead), turn.key))
                self._lead.extend(self._turn_rows(turn, width))
        rows, self._starts = self._lead, self._lead_starts
        if len(done) < len(self.turns):
            self._starts = [*self._starts, (len(rows), self.turns[-1].key)]
            rows = rows + self._growing_rows(self.turns[-1], width)
        self._rows = tuple(rows)
        return Sheet(self._rows, stick_to_end=True)

    def _growing_rows(self, turn: Turn, width: int) -> list[Line]:
        """The rows of the turn that is being made: segments sealed since the last time are added, none is redone."""
        key, kept_width, count = self._grown_of
        if (key, kept_width) != (turn.key, width) or count > len(turn.sealed) or not self._grown:
            self._grown, count = [turn.heading], 0
        for source in turn.sealed[count:]:
            self._grown.extend(line(" ", *row) for row in self._segment(source, turn.is_markdown, max(8, width - 1)))
            self._grown.append(BLANK)
        self._grown_of = (turn.key, width, len(turn.sealed))
        rows = [*self._grown]
        if turn.before:
            rows.insert(1, line(" ", *turn.before))
        if turn.tail:
            rows.extend(line(" ", *row) for row in self._draw(turn.tail, turn.is_markdown, max(8, width - 1)))
        elif len(rows) > 1:
            rows.pop()
        rows[-1] = (*rows[-1], ("▌", Ink.ACCENT))
        return [*rows, BLANK]

    def find(self, words: str, step: int) -> bool:
        """Bring the next (`step` 1) or previous (-1) row that holds `words` to the top; False without one."""
        wanted = words.casefold()
        hits = [row for row, spans in enumerate(self._rows) if wanted in text_of(spans).casefold()]
        if not hits:
            return False
        if step > 0:
            target = next((row for row in hits if row > self.top_row), hits[0])
        else:
            target = next((row for row in reversed(hits) if row < self.top_row), hits[-1])
        self._followed = False
        self.top_row = target
        self.redraw()
        return True

    def turn_at(self, row: int) -> int | None:
        """Key of the turn a row belongs to."""
        found = None
        for start, key in self._starts:
            if start > row:
                break
            found = key
        return found

    @property
    def turn_in_view(self) -> int | None:
        """Key of the turn at the last row in view: the one the side panel describes."""
        if self._followed and self.turns:
            return self.turns[-1].key
        return self.turn_at(self.top_row + max(0, self._view_rows - 1))

    def _turn_rows(self, turn: Turn, width: int) -> list[Line]:
        inner = max(8, width - 1)
        rows: list[Line] = [turn.heading]
        if turn.before:
            rows.append(line(" ", *turn.before))
        for source in turn.sealed:
            rows.extend(line(" ", *row) for row in self._segment(source, turn.is_markdown, inner))
            rows.append(BLANK)
        if turn.tail:
            rows.extend(line(" ", *row) for row in self._draw(turn.tail, turn.is_markdown, inner))
        elif turn.sealed:
            rows.pop()
        if turn.after:
            rows.append(line(" ", *turn.after))
        rows.append(BLANK)
        return rows

    def _segment(self, source: str, is_markdown: bool, width: int) -> tuple[Line, ...]:
        key = (source, is_markdown)
        rows = self._kept.get(key)
        if rows is None:
            rows = self._kept[key] = self._draw(source, is_markdown, width)
        return rows

    def _draw(self, source: str, is_markdown: bool, width: int) -> tuple[Line, ...]:
        if not is_markdown:
            return _source_rows(source, width)
        return markdown_rows(source, Drawing(width, self.display_maths, self.inline_maths))

    # -- selection with the mouse ----------------------------------------------------------------------------------

    def _row_of(self, y: int) -> int | None:
        """Index in all rows of line `y` of the widget, None for borders."""
        row = y - (0 if self.bare else 1) - self._head_rows
        if not 0 <= row < self._view_rows or row + self.top_row >= self._sheet_rows:
            return None
        return row + self.top_row

    def render_line(self, y: int) -> Strip:
        """The finished Strip of one row, with what is selected in it reversed and its place in the text noted."""
        strip = super().render_line(y)
        row = self._row_of(y)
        if row is None:
            return strip
        edge = self.margin_cells if self.bare else 1 + self.margin_cells
        inner = strip.crop(edge, max(edge, strip.cell_length - edge))
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            start, end = span
            end = inner.cell_length if end == -1 else min(end, inner.cell_length)
            style = self.screen.get_component_rich_style("screen--selection")
            chosen = Strip(inner.crop(start, end)).apply_style(style)
            inner = Strip.join([inner.crop(0, start), chosen, inner.crop(end)])
        inner = inner.apply_offsets(0, row)
        return Strip.join([strip.crop(0, edge), inner, strip.crop(strip.cell_length - edge)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the drawn text."""
        return selection.extract("\n".join(text_of(row) for row in self._rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()
