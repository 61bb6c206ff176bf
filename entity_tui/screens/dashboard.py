"""Dashboard: what is this phone, what can it run, how hot is it, right now?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.screens.dashboard_tiny import dashboard_tiny
from entity_tui.screens.dashboard_values import (
    SPANS_S,
    power_graph,
    power_summary,
    shipped_list,
    temperature_names,
    thermal_graph,
    variant_evidence,
    variant_lines,
)
from entity_tui.screens.device_values import device_condition, topology_value
from entity_tui.screens.dialogs import PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.screens.log_values import LogReader
from entity_tui.widgets.ink import Line, line
from entity_tui.widgets.log_view import LogView
from entity_tui.widgets.numbers import celsius, watts
from entity_tui.widgets.panel import LIVE, Condition, PanelState
from entity_tui.widgets.time_series import TimeSeries, span_words
from entity_tui.widgets.topology_map import TopologyMap
from entity_tui.widgets.variant_table import VariantLine, VariantStanding, VariantTable


class DashboardScreen(FrameScreen):
    """Topology, variants, temperatures, power, and what happened."""

    tab = "dashboard"
    title_words = "Dashboard"
    question = "What is this phone, what can it run, how hot is it, right now?"
    keys = (
        "explain",
        "graph.pause",
        "graph.shorter",
        "graph.longer",
        "graph.back",
        "graph.forward",
        "graph.cursor_left",
        "graph.cursor_right",
        "sensors",
        "filter",
    )
    footer = (
        "bench.run_default",
        "placement.run_default",
        "graph.pause",
        "zoom",
        "filter",
        "copy",
        "export.csv",
        "device",
        "help",
    )
    footer_compact = ("bench.run_default", "placement.run_default", "graph.pause", "zoom", "device", "help")
    reading = (
        "▰▱  the clock now, of the core's highest",
        "●  loaded, said by the loader's own line; ○ could be loaded; ✖ a feature is missing",
        "~  predicted by our rule, not yet seen",
        "gap  a sample was late or lost; nothing is interpolated",
        "—  no value; power is hidden while the battery charges",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.span_index = 2
        self._span_for = ""
        self.back_s = 0.0
        self.chosen: tuple[str, ...] = ()
        self.filter_words = ""
        self._log = LogReader(60)
        self._variants: tuple[VariantLine, ...] = ()
        self._variants_of: tuple[object, ...] = ()
        """Facts, engines and loaded variant that `_variants` were made from: they change seldom."""

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """Five panels."""
        return (
            TopologyMap(id="topology"),
            VariantTable(id="variants"),
            TimeSeries("Thermal °C", id="thermal"),
            TimeSeries("Power W", id="power"),
            LogView(id="log"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """Two rows of two panels over the log; what is more than the mock-up's size goes to the graphs first."""
        if size is SizeClass.COMPACT:
            top, graphs, log = split_rows(body, min(12 + max(0, body.height - 28) // 3, 16), 0, 2)
            left, right = split_columns(top, body.width * 42 // 80, 0)
            thermal, power = split_columns(graphs, left.width, 0)
        else:
            log_rows = 9 if size is SizeClass.FULL else 3
            spare = max(0, body.height - 28 - log_rows)
            cores = self._core_rows()
            top_rows = min(max(14, cores), 14 + spare // 2)
            top, graphs, log = split_rows(body, top_rows, 0, log_rows + spare // 4)
            left, right = split_columns(top, body.width * 64 // 120, 0)
            thermal, power = split_columns(graphs, body.width // 2, 0)
        return {"topology": left, "variants": right, "thermal": thermal, "power": power, "log": log}

    def _core_rows(self) -> int:
        facts = self.session.view.facts
        if facts is None:
            return 14
        return len(facts.topology.cores) + len(facts.topology.clusters) + 4

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The log is two or three rows without a border where there is little room."""
        return frozenset() if size is SizeClass.FULL else frozenset({"log"})

    # -- values ----------------------------------------------------------------------------------------------------

    @property
    def span_s(self) -> float:
        """Seconds the graphs show."""
        return SPANS_S[self.span_index]

    def _fit_span(self) -> None:
        """A simulated phone lives faster: show as much of its time as half a minute of ours holds."""
        view = self.session.view
        if view.facts is not None and view.spec != self._span_for:
            self._span_for = view.spec
            wanted = 30.0 * view.clock_factor
            longer = [n for n, span in enumerate(SPANS_S) if span >= wanted]
            self.span_index = max(2, longer[0] if longer else len(SPANS_S) - 1)

    def fill(self) -> None:
        """Every panel in view."""
        self._fit_span()
        if self.in_view("topology"):
            self._fill_topology()
        if self.in_view("variants"):
            self._fill_variants()
        if self.in_view("thermal"):
            self._fill_thermal()
        if self.in_view("power"):
            self._fill_power()
        if self.in_view("log"):
            log = self.query_one("#log", LogView)
            entries = self._log.read(self.session.log, self.filter_words)
            words = "Nothing matches the filter." if self.filter_words else "Nothing happened yet."
            condition = LIVE if entries else Condition.empty(words)
            log.show(entries, condition, hint="l full log", subtitle=self.filter_words)

    def _fill_topology(self) -> None:
        condition = device_condition(self.session, "reading cores, clocks and features")
        panel = self.query_one("#topology", TopologyMap)
        value = topology_value(self.session)
        if condition.state is PanelState.LIVE and not value.clusters:
            condition = Condition.broken(
                "This device shows no cores.", "/proc/cpuinfo and /sys/devices could not be read"
            )
        panel.show(value, condition, hint="z zoom")

    def _fill_variants(self) -> None:
        panel = self.query_one("#variants", VariantTable)
        condition = device_condition(self.session, "reading the instruction set")
        if condition.state is PanelState.STALE:
            condition = LIVE  # what a build ships and a CPU can do does not age
        view = self.session.view
        about = (view.facts, view.engines, view.loaded_variant)
        if self._variants_of != about:
            self._variants_of, self._variants = about, variant_lines(self.session)
        variants = self._variants
        if condition.state is PanelState.LIVE and not variants:
            architecture = self.session.view.facts.isa.architecture if self.session.view.facts else ""
            condition = Condition.empty(f"No list of CPU variants for {architecture or 'this CPU'}.")
        loaded = sum(variant.standing is VariantStanding.LOADED for variant in variants)
        hint = f"{loaded} of {len(variants)} loaded" if loaded else f"{len(variants)} shipped"
        panel.list_name = shipped_list(self.session.view)[0].key if self.session.view.facts else ""
        panel.show_variants(variants, variant_evidence(self.session, variants, panel.size.width), condition, hint=hint)

    def _graph_hint(self) -> str:
        return f"{'paused  ' if self.session.paused else ''}{span_words(self.span_s)}  [ ] span"

    def _fill_thermal(self) -> None:
        panel = self.query_one("#thermal", TimeSeries)
        condition = device_condition(self.session, "reading thermal zones")
        names = temperature_names(self.session.telemetry)
        if condition.state is PanelState.LIVE and not names:
            if self.session.telemetry.sequence > 5:
                condition = Condition.broken("No temperature can be read.", "doctor names what this device denies")
            else:
                condition = Condition.waiting("waiting for the first samples")
        value = thermal_graph(self.session, self.chosen, self.span_s, self.back_s)
        hint = self._graph_hint()
        if panel.size.height < 8:
            newest = [(t.name, float(t.values[-1])) for t in value.tracks if len(t.values)]
            hint = " ".join(f"{name} {celsius(number)}" for name, number in newest[:2])
        panel.show(value, condition, hint=hint)

    def _fill_power(self) -> None:
        panel = self.query_one("#power", TimeSeries)
        condition = device_condition(self.session, "reading the battery")
        series = self.session.telemetry.series("power_w")
        if condition.state is PanelState.LIVE and series is None:
            if self.session.telemetry.sequence > 5:
                condition = Condition.empty("No battery power on this device.", "A server or a desktop has no gauge.")
            else:
                condition = Condition.waiting("waiting for the first samples")
        value = power_graph(self.session, self.span_s, self.back_s)
        hint = power_summary(self.session, self.span_s)
        if panel.size.height < 8 and series is not None:
            hint = watts(series.newest)
        panel.show(value, condition, hint=hint)

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Clusters, rate, power, heat, variant, the last thing to look at."""
        return dashboard_tiny(self.session, width, self.size.height - 2)

    def zoom_lines(self) -> tuple[Line, ...]:
        """The moment under the cursor, and how many sensors there are."""
        names = temperature_names(self.session.telemetry)
        shown = ", ".join(self.chosen or names[:2])
        rows = [line(f"sensors {len(names)}: {shown} shown, v selects")]
        graph = self.focused
        if isinstance(graph, TimeSeries) and graph.cursor_column is not None:
            moment = graph.cursor_time_s() or 0.0
            readings = "   ".join(f"{t.name} {celsius(graph.value_at(t, moment))}" for t in graph.value.tracks)
            rows.insert(0, line(f"cursor {moment - graph.value.end_s:.1f} s   {readings}"))
        else:
            rows.insert(0, line("← → move the time cursor   [ ] span   , . scroll"))
        return tuple(rows)

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_act(self) -> None:
        """Pause what is stored and shown; the sampler goes on."""
        self.session.paused = not self.session.paused
        self.tick()

    def action_span(self, by: int) -> None:
        """A shorter or longer span."""
        self.span_index = max(0, min(len(SPANS_S) - 1, self.span_index + by))
        self.tick()

    def action_scroll_time(self, by: int) -> None:
        """Scroll by a quarter of the span."""
        self.back_s = max(0.0, self.back_s - by * self.span_s / 4)
        self.tick()

    def action_time_cursor(self, by: int) -> None:
        """Move the time cursor of the focused graph."""
        graph = self.focused
        if isinstance(graph, TimeSeries):
            graph.move_time_cursor(by)
            self.tick()

    def action_back(self) -> None:
        """Time cursor and scrolling first, then the zoom."""
        graph = self.focused
        if isinstance(graph, TimeSeries) and (graph.cursor_column is not None or self.back_s):
            graph.cursor_column = None
            self.back_s = 0.0
            self.tick()
            return
        super().action_back()

    def action_open(self) -> None:
        """Show the scores of the variants."""
        self.query_one("#variants", VariantTable).toggle_scores()

    def action_choose_shown(self) -> None:
        """Ask which temperatures to show."""
        names = temperature_names(self.session.telemetry)

        def typed(words: str | None) -> None:
            if words is not None:
                asked = words.replace(",", " ").split()
                self.chosen = tuple(name for name in names if name in asked)[:4]
                self.tick()

        shown = " ".join(self.chosen or names[:2])
        self.app.push_screen(PromptScreen(f"sensors, at most four of: {' '.join(names)}"[:110], shown), typed)

    def action_filter(self) -> None:
        """Filter the log panel."""

        def typed(words: str | None) -> None:
            if words is not None:
                self.filter_words = words.strip()
                self.tick()

        self.app.push_screen(PromptScreen("filter the log: words that must stand in a line", self.filter_words), typed)
