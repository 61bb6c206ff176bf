"""What all screens share: strip, tabs, panels at their regions, footer, sizes, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.layout import Layout
from textual.screen import Screen
from textual.widget import Widget

from entity_tui.logbook import Level
from entity_tui.screens.device_values import strip_value
from entity_tui.screens.keys import KEYS, shown_key
from entity_tui.screens.layout import RegionLayout, SizeClass, size_class
from entity_tui.session import Session
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line
from entity_tui.widgets.panel import Panel
from entity_tui.widgets.status_bars import DeviceStrip, KeyHint, KeyLine, TabLine, TabsValue
from entity_tui.widgets.text_panel import TextPanel, TinyPanel

if TYPE_CHECKING:
    from entity_tui.app import EntityApp

TABS = (
    ("dashboard", "Dashboard", "Dash"),
    ("chat", "Chat", "Chat"),
    ("bench", "Bench", "Bench"),
    ("placement", "Placement", "Place"),
    ("models", "Models", "Models"),
    ("history", "History", "Hist"),
)


class Frame(Screen[None]):
    """A screen of entity-tui. A kind of screen names itself, makes panels, places them, and fills them.

    The application calls `tick` on its clock for the screen that is shown, and for no other.
    """

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    Frame { background: $background; overflow: hidden; }
    """
    tab: ClassVar[str] = ""
    """The mode of one of the six screens, empty for the others."""
    title_words: ClassVar[str] = ""
    """The screen's name, for headings, help and exports."""
    question: ClassVar[str] = ""
    """The question the screen answers, as Help prints it."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Ids of the screen's own bindings."""
    footer: ClassVar[tuple[str, ...]] = ()
    """Ids in the footer, in order."""
    footer_compact: ClassVar[tuple[str, ...]] = ()
    """Ids in the footer of narrow terminals."""
    reading: ClassVar[tuple[str, ...]] = ()
    """How to read the screen, as Help prints it."""

    def __init__(self) -> None:
        super().__init__()
        self.zoomed = ""
        """Id of the panel that has the whole body, empty for none."""
        self._panel_count = 0
        """Widgets of the screen once they exist: the clock may strike before that, and while they are taken down."""
        self._region_layout = RegionLayout(self.regions)
        self._alarm_count: tuple[int, int] = (-1, 0)

    # -- for a kind of screen --------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """The panels, each with an id."""
        return ()

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """Where the panels go in `body`, for sizes that have panels."""
        return {}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """Ids of panels that are drawn without a border in this size."""
        return frozenset()

    def fill(self) -> None:
        """Give every panel in view its values. Called five times a second while the screen is shown."""

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The screen in one text panel."""
        return ()

    def zoom_lines(self) -> tuple[Line, ...]:
        """Up to two rows under a zoomed panel."""
        return ()

    def heading(self) -> str:
        """Words in place of the tabs."""
        return ""

    # -- values ----------------------------------------------------------------------------------------------------

    @property
    def entity(self) -> EntityApp:
        """The application."""
        return cast("EntityApp", self.app)

    @property
    def session(self) -> Session:
        """The one session."""
        return self.entity.session

    @property
    def size_class(self) -> SizeClass:
        """What the terminal has room for now."""
        return size_class(self.size.width, self.size.height)

    def panel(self, id: str) -> Panel:
        """A panel by its id."""
        return self.query_one(f"#{id}", Panel)

    def in_view(self, id: str) -> bool:
        """True when the panel has a place now."""
        return self.panel(id).display

    @property
    def focused_panel(self) -> Panel | None:
        """The panel with the accent border."""
        return self.focused if isinstance(self.focused, Panel) else None

    # -- layout ----------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Regions instead of Textual's own layouts: exact in every size, and no containers."""
        return self._region_layout

    def regions(self, size: Size) -> Mapping[str, Region]:
        """Every widget's place for a terminal of this size."""
        kind = size_class(size.width, size.height)
        if kind is SizeClass.ONE_LINE:
            return {"tiny": Region(0, 0, size.width, size.height)}
        last = Region(0, size.height - 1, size.width, 1)
        places = {"strip": Region(0, 0, size.width, 1), "keys": last}
        if kind is SizeClass.TINY:
            return {**places, "tiny": Region(0, 1, size.width, size.height - 2)}
        places["tabs"] = Region(0, 1, size.width, 1)
        body = Region(0, 2, size.width, size.height - 3)
        if self.zoomed:
            room = body.height - 3
            places[self.zoomed] = Region(0, 2, size.width, room)
            places["under"] = Region(0, 2 + room, size.width, 3)
            return places
        return {**places, **self.place(kind, body)}

    def arrange_panels(self) -> None:
        """Show the panels that have a place, without a border where the size asks for it."""
        kind = self.size_class
        regions = self.regions(self.size)
        bare = self.bare_panels(kind) if not self.zoomed else frozenset()
        for widget in self.children:
            if isinstance(widget, Panel):
                widget.display = widget.id in regions
                if widget.can_focus and not isinstance(widget, (DeviceStrip, TabLine, KeyLine)):
                    widget.bare = widget.id in bare
        if not self.zoomed and self.focused is not None and not self.focused.display:
            self.set_focus(None)
        self.refresh(layout=True)

    def compose(self) -> ComposeResult:
        """Strip, tabs, the screen's own panels, the tiny panel, the rows under a zoomed panel, the keys."""
        yield DeviceStrip(id="strip")
        yield TabLine(id="tabs")
        yield from self.make_panels()
        tiny, under = TinyPanel(id="tiny", focusable=False), TextPanel(id="under", focusable=False)
        tiny.bare = under.bare = True
        yield tiny
        yield under
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Place the panels and draw once."""
        self._panel_count = len(self.children)
        self.arrange_panels()
        self.focus_first()

    def on_resize(self, event: events.Resize) -> None:
        """Place the panels anew; focus, cursor and zoom stay."""
        self.arrange_panels()
        self.call_after_refresh(self.tick)

    def on_screen_resume(self) -> None:
        """Show what happened meanwhile at once."""
        self.call_after_refresh(self.tick)

    def focus_first(self) -> None:
        """Focus the first panel in view."""
        panels = self.focusable_panels()
        if panels and self.focused is None:
            self.set_focus(panels[0])

    def focusable_panels(self) -> list[Panel]:
        """Panels in view that can have the focus, in order."""
        return [widget for widget in self.children if isinstance(widget, Panel) and widget.can_focus and widget.display]

    # -- the clock -------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Draw what is new. Widgets compare, so a tick without news paints nothing.

        A mistake in drawing one value must not end a session with a run in it: it is written down, once, with its
        traceback in the log file, and the next tick tries again.
        """
        try:
            self._draw()
        except Exception as error:
            self.entity.drawing_failed(error)

    def _draw(self) -> None:
        if len(self.children) < self._panel_count or not self._panel_count or not self.size.area:
            return
        kind = self.size_class
        strip = self.query_one("#strip", DeviceStrip)
        if kind is not SizeClass.ONE_LINE:
            strip.show(strip_value(self.session, self.entity.version_words))
            self._show_keys(kind)
        if not kind.panels:
            self.query_one("#tiny", TextPanel).show(self._tiny(kind))
            return
        names = tuple((long, short) for _, long, short in TABS)
        modes = [mode for mode, _, _ in TABS]
        active = modes.index(self.tab) if self.tab in modes else None
        zoomed = f"{self.title_words}  ›  {self.panel(self.zoomed).title}" if self.zoomed else ""
        tabs = TabsValue(names, active, self.heading() or zoomed, self._status(kind))
        self.query_one("#tabs", TabLine).show(tabs)
        self.fill()
        if self.zoomed:
            self.query_one("#under", TextPanel).show(self.zoom_lines())

    def _tiny(self, kind: SizeClass) -> tuple[Line, ...]:
        if kind is SizeClass.ONE_LINE:
            return (line(self.entity.one_line(self.size.width)),)
        return self.tiny_lines(self.size.width)

    def _show_keys(self, kind: SizeClass) -> None:
        ids = self.footer if kind in (SizeClass.FULL, SizeClass.MEDIUM) else self.footer_compact or self.footer
        if kind is SizeClass.TINY:
            ids = ("help", "quit")
        if self.zoomed:
            ids = ("back", "copy", "export.csv", "help")
        narrow = kind is SizeClass.COMPACT
        hints = tuple(self._hint(id, narrow) for id in ids)
        if kind is SizeClass.TINY:
            hints = (KeyHint("1-6", "screens", ""), *hints)
        last = None if kind is SizeClass.TINY else self._hint("palette", narrow)
        self.query_one("#keys", KeyLine).show(hints, last)

    def _hint(self, id: str, narrow: bool) -> KeyHint:
        key = KEYS[id]
        return KeyHint(shown_key(id, self.entity.own_keys), key.short if narrow and key.short else key.word, key.action)

    def _status(self, kind: SizeClass) -> Line:
        log = self.session.log
        if log.last_number != self._alarm_count[0]:
            self._alarm_count = (log.last_number, log.count(Level.WARNING) + log.count(Level.ERROR))
        spans: list[Span] = []
        run = self.session.run
        if run is not None and not run.finished and self.tab not in ("bench", "placement"):
            spans += [("◐", Ink.GOOD), (f" {run.experiment} {run.cells_done}/{run.cells_planned}   ", Ink.TEXT)]
        if self.session.paused:
            spans += [("▲", Ink.WARN), (" paused   ", Ink.TEXT)]
        alarms = self._alarm_count[1]
        spans.append(("log", Ink.MUTED))
        if alarms:
            spans += [(" ▲", Ink.WARN), (str(alarms), Ink.TEXT)]
        if kind is SizeClass.FULL:
            spans.append((f"   theme {self.entity.theme}", Ink.MUTED))
        return tuple(spans) or BLANK
