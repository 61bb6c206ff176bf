"""The three rows that every screen shares: the device strip, the tab line, and the keys at the bottom."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message

from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, spread, width_of
from entity_tui.widgets.numbers import celsius, known, percent, watts
from entity_tui.widgets.panel import LIVE, Panel, Sheet
from entity_tui.widgets.text import cells, cut


@dataclass(frozen=True, slots=True)
class StripValue:
    """What the device strip shows. Missing readings are None and take no room."""

    mark: Span = ("○", Ink.MUTED)
    name: str = "no phone selected"
    link: str = ""
    """`usb 0015725…`."""
    link_short: str = ""
    about: str = ""
    """`Dimensity 7300 · 8 GB · Android 15`."""
    about_short: str = ""
    simulated: str = ""
    """`simulated ×20`, empty for a real device; never dropped."""
    words: str = ""
    """The state in a sentence when it is not plainly ready: `lost 12:14:03, retrying 3`."""
    battery_pct: float | None = None
    direction: str = ""
    """`▼` discharging, `▲` charging."""
    watts: float | None = None
    power_note: str = ""
    """Why there are no watts: `chg`, `?W`."""
    skin_c: float | None = None
    skin_name: str = "skin"
    status: str = ""
    """Android's thermal word: `NONE`, `LIGHT` ..."""
    status_ink: Ink = Ink.GOOD
    hz: float | None = None
    link_ms: float | None = None
    version: str = ""
    """Shown at the right end while no device is chosen."""


def _rate(value: StripValue) -> str:
    parts = []
    if value.hz is not None:
        parts.append(f"{value.hz:.0f} Hz" if value.hz >= 0.95 else f"{value.hz:.1f} Hz")
    if value.link_ms is not None:
        parts.append(f"{value.link_ms:.0f} ms")
    return " ".join(parts)


def _readings(value: StripValue, *, wide: bool) -> Line:
    spans: list[Span] = []
    if value.battery_pct is not None:
        power = f"{watts(value.watts)}{' ' if wide else ''}W" if known(value.watts) else value.power_note
        arrow = value.direction if known(value.watts) or value.direction else ""
        spans.append((f"{'bat ' if wide else ''}{percent(value.battery_pct)}% {arrow}{power}".rstrip(), Ink.TEXT))
    if known(value.skin_c):
        name = f"{value.skin_name} " if wide else ""
        spans.append((f"{'   ' if wide else '  '}{name}{celsius(value.skin_c)}°C", Ink.TEXT))
    if value.status:
        mark = "●" if value.status_ink is Ink.GOOD else "▲" if value.status_ink is Ink.WARN else "✖"
        spans += [("  " if wide else " ", Ink.TEXT), (mark, value.status_ink), (f" {value.status}", Ink.TEXT)]
    return tuple(spans)


def strip_line(value: StripValue, width: int) -> Line:
    """The device strip for a terminal of `width` cells; what it leaves out is shown elsewhere."""
    head: list[Span] = [value.mark, (f" {cut(value.name, 28)}", Ink.STRONG)]
    if value.simulated:
        head += [("  ", Ink.TEXT), (value.simulated, Ink.PREDICTED)]
    if value.words:
        words = line(*head, f"   {value.words}")
        return spread(words, line((value.version, Ink.MUTED)), width)
    tail = _rate(value)
    wide, narrow = _readings(value, wide=True), _readings(value, wide=False)
    long_link = f"   {value.link}" if value.link else ""
    short_link = f"  {value.link_short}" if value.link_short else ""
    long_about = f"   {value.about}" if value.about else ""
    short_about = f"  {value.about_short}" if value.about_short else ""
    forms = (
        (long_link, long_about, wide, f"   {tail}"),
        (short_link, long_about, wide, f"   {tail}"),
        (long_link, short_about, wide, f"   {tail}"),
        (short_link, short_about, narrow, f"   {tail}"),
        (short_link, "", narrow, f"  {tail}"),
        ("", "", narrow, f"  {tail}"),
        ("", "", narrow, ""),
        ("", "", narrow[-3:] if len(narrow) > 3 else narrow, ""),
    )
    start: Line = tuple(head)
    end: Line = BLANK
    for link, about, readings, rate in forms:
        start = line(*head, link, (about, Ink.MUTED))
        end = line(*readings, (rate if tail else "", Ink.MUTED))
        if width_of(start) + width_of(end) + 2 <= width:
            break
    return spread(start, end, width)


class DeviceStrip(Panel):
    """Row 1: the link, the device, its battery, heat and throttle status. A click opens the picker."""

    margin_cells = 0

    class Chosen(Message):
        """The strip was clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, focusable=False)
        self.bare = True
        self.condition = LIVE
        self.value = StripValue()

    def show(self, value: StripValue) -> None:
        """Show the device as it is now."""
        if value != self.value:
            self.value = value
            self.redraw()

    def sheet(self, width: int, height: int) -> Sheet:
        """One row."""
        return Sheet((strip_line(self.value, width),))

    def on_click(self, event: events.Click) -> None:
        """Open the picker."""
        event.stop()
        self.post_message(self.Chosen())


@dataclass(frozen=True, slots=True)
class TabsValue:
    """The six screens, which of them is shown, and the words at the right end."""

    names: tuple[tuple[str, str], ...] = ()
    """(long, short) names in order."""
    active: int | None = 0
    heading: str = ""
    """Replaces the tabs on screens that are not one of the six: `Choose a phone`, `Dashboard  ›  Thermal`."""
    status: Line = BLANK


def tab_spans(value: TabsValue, width: int) -> tuple[Line, tuple[tuple[int, int], ...]]:
    """The tabs as spans, and the cells each of them covers."""
    for form in (0, 1) if width >= 100 else (1,):
        spans: list[Span] = [(" ", Ink.TEXT)]
        places: list[tuple[int, int]] = []
        column = 1
        for number, names in enumerate(value.names):
            word = f"{number + 1} {names[form]}"
            here = number == value.active
            text = f"[{word}]" if here else f" {word} "
            spans += [(text, Ink.ACCENT if here else Ink.TEXT), (" ", Ink.TEXT)]
            places.append((column, column + cells(text)))
            column += cells(text) + 1
        if column + width_of(value.status) + 1 <= width:
            break
    return tuple(spans), tuple(places)


class TabLine(Panel):
    """Row 2: the six screens with their digit. A click on one goes there."""

    margin_cells = 0

    class Chosen(Message):
        """A tab was clicked; `number` counts from 0."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, focusable=False)
        self.bare = True
        self.condition = LIVE
        self.value = TabsValue()
        self._places: tuple[tuple[int, int], ...] = ()

    def show(self, value: TabsValue) -> None:
        """Show the tabs."""
        if value != self.value:
            self.value = value
            self.redraw()

    def sheet(self, width: int, height: int) -> Sheet:
        """One row."""
        if self.value.heading:
            self._places = ()
            return Sheet((spread(line(f" {self.value.heading}"), self.value.status, width - 1),))
        spans, self._places = tab_spans(self.value, width)
        return Sheet((spread(spans, self.value.status, width - 1),))

    def on_click(self, event: events.Click) -> None:
        """Go to the screen under the pointer."""
        event.stop()
        for number, (begin, end) in enumerate(self._places):
            if begin <= event.x < end:
                self.post_message(self.Chosen(number))


@dataclass(frozen=True, slots=True)
class KeyHint:
    """One entry of the footer: how the key is written, the word beside it, and the action it stands for."""

    key: str
    word: str
    action: str


class KeyLine(Panel):
    """The last row: the keys of this screen, and the palette at the right end. A click does what the key does."""

    margin_cells = 0

    class Chosen(Message):
        """An entry was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, focusable=False)
        self.bare = True
        self.condition = LIVE
        self.value: tuple[KeyHint, ...] = ()
        self.last: KeyHint | None = None
        self._places: list[tuple[int, int, str]] = []

    def show(self, value: tuple[KeyHint, ...], last: KeyHint | None = None) -> None:
        """Show these keys; `last` stands at the right end."""
        if (value, last) != (self.value, self.last):
            self.value, self.last = value, last
            self.redraw()

    def shown(self, width: int) -> tuple[KeyHint, ...]:
        """The entries that fit into `width` cells, in order."""
        room = width - 1 - (cells(self.last.key) + cells(self.last.word) + 3 if self.last else 0)
        kept: list[KeyHint] = []
        for hint in self.value:
            room -= cells(hint.key) + cells(hint.word) + 3
            if room < -2:
                break
            kept.append(hint)
        return tuple(kept)

    def sheet(self, width: int, height: int) -> Sheet:
        """One row."""
        self._places = []
        spans: list[Span] = [(" ", Ink.TEXT)]
        column = 1
        for hint in self.shown(width):
            spans += [(hint.key, Ink.STRONG), (f" {hint.word}  ", Ink.MUTED)]
            end = column + cells(hint.key) + cells(hint.word) + 1
            self._places.append((column, end, hint.action))
            column = end + 2
        if self.last is None:
            return Sheet((tuple(spans),))
        tail = line((self.last.key, Ink.STRONG), (f" {self.last.word} ", Ink.MUTED))
        self._places.append((width - width_of(tail), width, self.last.action))
        return Sheet((spread(tuple(spans), tail, width),))

    def on_click(self, event: events.Click) -> None:
        """Do what the entry under the pointer says."""
        event.stop()
        for begin, end, action in self._places:
            if begin <= event.x < end:
                self.post_message(self.Chosen(action))
