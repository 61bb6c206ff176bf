"""What a span of text means, and how each meaning looks in a theme, without colour, and in plain ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from entity_tui.widgets.text import cells, to_ascii


class Ink(IntEnum):
    """The meaning of a span. State is carried by glyph and word first; ink only repeats it."""

    TEXT = 0
    MUTED = 1
    ACCENT = 2
    GOOD = 3
    WARN = 4
    BAD = 5
    PREDICTED = 6
    STRONG = 7
    BORDER = 8
    FOCUS = 9
    TRACK = 10
    SERIES_1 = 11
    SERIES_2 = 12
    SERIES_3 = 13
    SERIES_4 = 14
    CURSOR = 15
    JUMP = 16
    CODE = 17
    EMPHASIS = 18
    HEADING = 19


SERIES = (Ink.SERIES_1, Ink.SERIES_2, Ink.SERIES_3, Ink.SERIES_4)

Span: TypeAlias = tuple[str, Ink]
Line: TypeAlias = tuple[Span, ...]
"""One row of cells as spans. Hashable, so that an unchanged row is recognised and its Strip kept."""

BLANK: Line = ()


def line(*parts: str | Span) -> Line:
    """A row from texts (ordinary ink) and spans; empty parts vanish."""
    spans = ((part, Ink.TEXT) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span[0])


def muted(text: str) -> Line:
    """A row in the quiet ink."""
    return line((text, Ink.MUTED))


def width_of(row: Line) -> int:
    """Cells a row takes."""
    return sum(cells(text) for text, _ in row)


def pad(row: Line, width: int) -> Line:
    """The row filled with spaces to `width` cells; a longer one is returned as it is."""
    free = width - width_of(row)
    return (*row, (" " * free, Ink.TEXT)) if free > 0 else row


def crop(row: Line, width: int) -> Line:
    """The first `width` cells of a row."""
    kept: list[Span] = []
    left = width
    for text, ink in row:
        if left <= 0:
            break
        size = cells(text)
        if size > left:
            while cells(text) > left:
                text = text[:-1]
            size = cells(text)
        kept.append((text, ink))
        left -= size
    return tuple(kept)


def spread(start: Line, end: Line, width: int) -> Line:
    """`start` at the left and `end` at the right of `width` cells; `end` is left out when both do not fit."""
    free = width - width_of(start) - width_of(end)
    if free < 1:
        return crop(start, width)
    return (*start, (" " * free, Ink.TEXT), *end)


def repaint(row: Line, ink: Ink) -> Line:
    """The same text in one ink."""
    return tuple((text, ink) for text, _ in row)


def text_of(row: Line) -> str:
    """The row without its ink."""
    return "".join(text for text, _ in row)


@dataclass(frozen=True)
class Paper:
    """The look of every Ink, and whether glyphs are ASCII. One per theme; a new one repaints everything."""

    styles: Mapping[Ink, Style]
    ascii: bool = False
    colour: bool = True

    def strip(self, row: Line, width: int) -> Strip:
        """The row as exactly `width` cells of styled segments."""
        styles = self.styles
        row = pad(crop(row, width), width)
        if self.ascii:
            segments: Iterable[Segment] = (Segment(to_ascii(text), styles[ink]) for text, ink in row)
        else:
            segments = (Segment(text, styles[ink]) for text, ink in row)
        return Strip(segments, width)


@dataclass(frozen=True, slots=True)
class Tones:
    """The colours of a theme by name, as `#rrggbb` or an ANSI colour name; None is the terminal's own."""

    background: str | None
    text: str | None
    muted: str
    accent: str
    good: str
    warn: str
    bad: str
    predicted: str
    border: str
    track: str
    series: tuple[str, str, str, str]
    cursor: str


DARK = Tones(
    background="#10141A",
    text="#D8DEE6",
    muted="#8B96A5",
    accent="#19C39A",
    good="#4FB7E8",
    warn="#F0B429",
    bad="#F26D5B",
    predicted="#B79CED",
    border="#3B4654",
    track="#323C49",
    series=("#5CC8FF", "#F0B429", "#E86FA0", "#D9F0C7"),
    cursor="#1E2A36",
)
LIGHT = Tones(
    background="#FBFCFD",
    text="#1B2430",
    muted="#5A6675",
    accent="#0B7A5E",
    good="#0B6AA8",
    warn="#9A6400",
    bad="#7A0019",
    predicted="#6B4FA0",
    border="#B9C3CE",
    track="#D3DAE2",
    series=("#0B6AA8", "#E00606", "#561FF9", "#6F2034"),
    cursor="#E4EBF2",
)
ANSI = Tones(
    background=None,
    text=None,
    muted="bright_black",
    accent="green",
    good="cyan",
    warn="yellow",
    bad="red",
    predicted="magenta",
    border="bright_black",
    track="bright_black",
    series=("cyan", "yellow", "magenta", "green"),
    cursor="bright_black",
)


def coloured(tones: Tones, *, ascii: bool = False) -> Paper:
    """Paper in the colours of a theme."""
    ground = tones.background

    def ink(colour: str | None, *, bold: bool = False) -> Style:
        return Style(color=colour, bgcolor=ground, bold=bold or None)

    cursor = Style(reverse=True) if ground is None else Style(color=tones.text, bgcolor=tones.cursor, bold=True)
    styles = {
        Ink.TEXT: ink(tones.text),
        Ink.MUTED: ink(tones.muted),
        Ink.ACCENT: ink(tones.accent, bold=True),
        Ink.GOOD: ink(tones.good),
        Ink.WARN: ink(tones.warn),
        Ink.BAD: ink(tones.bad),
        Ink.PREDICTED: ink(tones.predicted),
        Ink.STRONG: ink(tones.text, bold=True),
        Ink.BORDER: ink(tones.border),
        Ink.FOCUS: ink(tones.accent),
        Ink.TRACK: ink(tones.track),
        Ink.SERIES_1: ink(tones.series[0]),
        Ink.SERIES_2: ink(tones.series[1]),
        Ink.SERIES_3: ink(tones.series[2]),
        Ink.SERIES_4: ink(tones.series[3]),
        Ink.CURSOR: cursor,
        Ink.CODE: ink(tones.series[0]),
        Ink.EMPHASIS: Style(color=tones.text, bgcolor=ground, italic=True),
        Ink.HEADING: ink(tones.accent, bold=True),
        Ink.JUMP: Style(color=ground or "black", bgcolor=tones.accent, bold=True),
    }
    return Paper(styles, ascii=ascii)


def monochrome(*, ascii: bool = False) -> Paper:
    """Paper in one colour: only bold, dim and reverse tell things apart, beside their glyphs and words."""
    styles = dict.fromkeys(Ink, Style.null())
    styles.update(
        {
            Ink.ACCENT: Style(bold=True),
            Ink.STRONG: Style(bold=True),
            Ink.EMPHASIS: Style(italic=True),
            Ink.HEADING: Style(bold=True),
            Ink.FOCUS: Style(bold=True),
            Ink.BAD: Style(bold=True),
            Ink.CURSOR: Style(reverse=True),
            Ink.JUMP: Style(reverse=True, bold=True),
        }
    )
    return Paper(styles, ascii=ascii, colour=False)


DEFAULT_PAPER = coloured(DARK)


def paper_of(widget: Widget) -> Paper:
    """The paper of the running application; a program that has none gets the dark one."""
    paper = getattr(widget.app, "paper", DEFAULT_PAPER)
    return paper if isinstance(paper, Paper) else DEFAULT_PAPER
