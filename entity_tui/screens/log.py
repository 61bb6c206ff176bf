"""The whole log: filterable, one source per digit with alt, following until the reader scrolls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.config import log_folder
from entity_tui.screens.dialogs import PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_rows
from entity_tui.screens.log_values import LogReader
from entity_tui.widgets.ink import Line, muted
from entity_tui.widgets.log_view import LogView, entry_line
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import TextPanel


class LogScreen(FrameScreen):
    """Everything that happened: device, server, sampler, transport, runs."""

    title_words = "Log"
    question = "What happened, when, and what should I look at?"
    keys = ("filter", "log.wrap", "log.follow")
    footer = ("back", "filter", "log.wrap", "log.follow", "export.csv", "copy", "help")
    footer_compact = footer
    reading = (
        "I  information",
        "W  something to look at, marked ▲ elsewhere",
        "E  a failure; the rows below it say more",
        "alt+1…9  show one source, again for all",
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(keys),
        *(Binding(f"alt+{n}", f"screen.source({n})", f"source {n}", show=False) for n in range(1, 10)),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.source = ""
        self._reader = LogReader(2_000)

    def make_panels(self) -> Iterable[Widget]:
        """The log and the row under it."""
        foot = TextPanel(id="log-foot", focusable=False)
        return (LogView("Log", id="log-view", full=True), foot)

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The log, and one row for the file."""
        view, foot = split_rows(body, 0, 1)
        return {"log-view": view, "log-foot": foot}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The row for the file has no border."""
        return frozenset({"log-foot"})

    def heading(self) -> str:
        """Name and sources."""
        names = "  ".join(f"alt+{n} {name}" for n, name in enumerate(self.sources(), 1))
        return f"Log   {names}"

    def sources(self) -> tuple[str, ...]:
        """The sources that said something, most talkative first, at most six."""
        counts = Counter(plain(each.source) for each in self.session.log)
        return tuple(name for name, _ in counts.most_common(6))

    def filter_words(self) -> str:
        """The filter in force."""
        return " ".join(word for word in (self.source, self.words) if word)

    def fill(self) -> None:
        """The lines that match."""
        view = self.query_one("#log-view", LogView)
        entries = self._reader.read(self.session.log, self.filter_words())
        condition: Condition = LIVE
        if not entries:
            words = "Nothing matches the filter." if self.filter_words() else "Nothing happened yet."
            condition = Condition.empty(words, "/ changes the filter" if self.filter_words() else "")
        following = "following" if view.following else "F follows again"
        view.show(entries, condition, hint=f"/ filter  W wrap  {following}", subtitle=self.filter_words())
        foot = self.query_one("#log-foot", TextPanel)
        foot.bare = True
        foot.show((muted(f"files  {log_folder()}   {len(self.session.log)} lines kept here"),))

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The newest lines."""
        return tuple(entry_line(each) for each in self._reader.read(self.session.log)[-(self.size.height - 2) :])

    def action_filter(self) -> None:
        """Ask for words that every line must have."""

        def typed(words: str | None) -> None:
            if words is not None:
                self.words = words.strip()
                self.tick()

        self.app.push_screen(PromptScreen("filter the log: words that must stand in a line", self.words), typed)

    def action_source(self, number: int) -> None:
        """Show one source only, again for all."""
        names = self.sources()
        if number <= len(names):
            chosen = names[number - 1]
            self.source = "" if self.source == chosen else chosen
            self.tick()

    def action_wrap(self) -> None:
        """Fold long lines, or not."""
        view = self.query_one("#log-view", LogView)
        view.wrap = not view.wrap
        view.redraw()

    def action_follow(self) -> None:
        """Keep the newest line in view."""
        self.query_one("#log-view", LogView).follow()
        self.tick()

    def copied_text(self) -> str:
        """All lines that match."""
        return "\n".join(f"{e.clock} {e.level} {e.source} {e.text}" for e in self._reader.entries)

    def export_rows(self, format_name: str) -> str:
        """The lines that match, as rows."""
        from entity_tui.screens.panel_export import write_rows

        rows = [[e.clock, e.level, e.source, e.text] for e in self._reader.entries]
        return str(write_rows("log", ["time", "level", "source", "text"], rows, format_name))
