"""What happened, newest at the bottom, following until the reader scrolls away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import fold, left

LEVEL_INK = {"I": Ink.MUTED, "W": Ink.WARN, "E": Ink.BAD}
LEVEL_MARK = {"I": "", "W": "▲ ", "E": "✖ "}


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event: local `HH:MM:SS`, level letter I, W or E, who says it, and the words (already plain)."""

    number: int
    clock: str
    level: str
    source: str
    text: str


def entry_line(entry: LogEntry) -> Line:
    """The short form of a panel at the foot of a screen: `12:05:02 ▲ power  fuel gauge updates once a second`."""
    mark = LEVEL_MARK.get(entry.level, "")
    spans: list[Span] = [(f"{entry.clock} ", Ink.MUTED)]
    if mark:
        spans.append((mark, LEVEL_INK[entry.level]))
    source = left(entry.source, 8 if not mark else 6) + " " if entry.source else ""
    spans += [(source, Ink.MUTED), (entry.text, Ink.TEXT)]
    return tuple(spans)


def full_lines(entry: LogEntry, width: int, *, wrap: bool) -> list[Line]:
    """The long form of the log screen, with its level as a letter; wrapped rows hang under the text."""
    head: list[Span] = [(f"{entry.clock} ", Ink.MUTED), (entry.level, LEVEL_INK.get(entry.level, Ink.TEXT))]
    head.append((f" {left(entry.source, 8)} ", Ink.MUTED))
    room = max(8, width - 20)
    pieces = fold(entry.text, room) if wrap else [entry.text]
    rows = [line(*head, pieces[0])]
    rows += [line(("         │          ", Ink.MUTED), piece) for piece in pieces[1:]]
    return rows


class LogView(Panel):
    """Log lines. `full=True` is the log screen's form with level letters and wrapped text."""

    def __init__(self, title: str = "Log", *, id: str | None = None, full: bool = False) -> None:
        super().__init__(title, id=id)
        self.full = full
        self.wrap = True
        self.entries: tuple[LogEntry, ...] = ()
        self._rows: tuple[Line, ...] = ()
        self._drawn_for: tuple[object, ...] = ()

    def show(
        self, entries: Sequence[LogEntry], condition: Condition = LIVE, *, hint: str = "", subtitle: str = ""
    ) -> None:
        """Show these entries, oldest first."""
        self.entries = tuple(entries)
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    @property
    def following(self) -> bool:
        """True while the newest line is kept in view."""
        return self._followed

    def follow(self) -> None:
        """Keep the newest line in view again."""
        self._followed = True
        self.redraw()

    def sheet(self, width: int, height: int) -> Sheet:
        """The entries; the short form makes rows only for what fits."""
        if self.full:
            key = (len(self.entries), self.entries[-1:], self.entries[:1], width, self.wrap)
            if key != self._drawn_for:
                rows: list[Line] = []
                for entry in self.entries:
                    rows.extend(full_lines(entry, width, wrap=self.wrap))
                self._rows, self._drawn_for = tuple(rows), key
            return Sheet(self._rows, stick_to_end=True)
        shown = self.entries[-max(height, 40) :]
        return Sheet(tuple(entry_line(entry) for entry in shown), stick_to_end=True)
