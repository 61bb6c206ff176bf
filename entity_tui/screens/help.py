"""Help of one screen: the question it answers, its keys, and how to read it. Data goes on underneath."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.geometry import Region
from textual.widget import Widget

from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import EVERYWHERE, KEYS, shown_key
from entity_tui.screens.layout import SizeClass
from entity_tui.widgets.ink import BLANK, Ink, Line, line, muted
from entity_tui.widgets.text import cells, fold, left
from entity_tui.widgets.text_panel import TextPanel


def key_rows(ids: Iterable[str], keymap: Mapping[str, str], width: int) -> list[Line]:
    """Keys with what they do, in two columns where the words fit."""
    entries = [(shown_key(id, keymap), KEYS[id].help) for id in ids]
    half = width // 2
    rows: list[Line] = []
    waiting: tuple[str, str] | None = None
    for key, words in entries:
        if 10 + cells(words) > half - 2:
            if waiting:
                rows.append(_pair(waiting, None, half))
                waiting = None
            pieces = fold(words, max(10, width - 11))
            rows.append(line((left(key, 10), Ink.STRONG), pieces[0]))
            rows += [line(" " * 10 + piece) for piece in pieces[1:]]
        elif waiting is None:
            waiting = (key, words)
        else:
            rows.append(_pair(waiting, (key, words), half))
            waiting = None
    if waiting:
        rows.append(_pair(waiting, None, half))
    return rows


def _pair(first: tuple[str, str], second: tuple[str, str] | None, half: int) -> Line:
    spans = [(left(first[0], 10), Ink.STRONG), (left(first[1], half - 10), Ink.TEXT)]
    if second:
        spans += [(left(second[0], 10), Ink.STRONG), (second[1], Ink.TEXT)]
    return tuple(spans)


class HelpScreen(FrameScreen):
    """Help over the screen it was opened from."""

    title_words = "Help"
    footer = ("back", "list.down", "list.up", "copy", "quit")

    def __init__(self, about: FrameScreen) -> None:
        super().__init__()
        self.about = about
        self.tab_of_about = about.tab

    def make_panels(self) -> Iterable[Widget]:
        """One panel."""
        return (TextPanel("Help", id="help"),)

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The whole body."""
        return {"help": body}

    def heading(self) -> str:
        """Whose help this is, on screens without tabs."""
        return "" if self.about.tab else self.about.title_words

    def fill(self) -> None:
        """Question, keys, reading."""
        panel = self.query_one("#help", TextPanel)
        panel.show(self.help_rows(panel.size.width - 4), subtitle=self.about.title_words, hint="esc close")

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The keys only."""
        return tuple(key_rows((*self.about.keys, "help", "quit"), self.entity.own_keys, width))

    def help_rows(self, width: int) -> tuple[Line, ...]:
        """All rows for a panel of `width` cells."""
        own = self.entity.own_keys
        about = self.about
        rows: list[Line] = []
        if about.question:
            rows += [line(("What this screen answers", Ink.STRONG))]
            rows += [line(f"  {piece}") for piece in fold(about.question, width - 2)]
            rows.append(BLANK)
        rows += key_rows(about.keys, own, width)
        if about.reading:
            rows += [BLANK, line(("Reading the screen", Ink.STRONG))]
            for text in about.reading:
                glyph, _, words = text.partition("  ")
                pieces = fold(words, max(10, width - 12)) if words else fold(text, width - 2)
                if words:
                    rows.append(line("  ", (left(glyph, 9), Ink.STRONG), pieces[0]))
                    rows += [line(" " * 11 + piece) for piece in pieces[1:]]
                else:
                    rows += [line(f"  {piece}") for piece in pieces]
        rows += [BLANK, muted("Everywhere")]
        rows += key_rows((*EVERYWHERE, "palette", "interrupt"), own, width)
        return tuple(rows)
