"""Bench: which change makes this phone faster, and is the change real?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.experiments.live import CellPhase, RunView
from entity_tui.screens.dashboard_values import power_graph, thermal_graph
from entity_tui.screens.device_values import newest, skin_reading
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.screens.run_screen import RunScreen
from entity_tui.screens.run_values import (
    arm_values,
    countdown,
    factor_summary,
    factor_value,
    gate_values,
    phase_words,
    plan_rows,
    rate_graph,
    run_progress,
    title_spans,
)
from entity_tui.widgets.arms_table import COLUMNS, arms_value, rate_words
from entity_tui.widgets.factor_bars import FactorBars
from entity_tui.widgets.gates import Gates
from entity_tui.widgets.ink import Ink, Line, line, muted
from entity_tui.widgets.log_view import LogView
from entity_tui.widgets.numbers import celsius, known, watts
from entity_tui.widgets.panel import Condition
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text import plain
from entity_tui.widgets.time_series import TimeSeries


class BenchScreen(RunScreen):
    """Arms, gates, the cell in flight, factors, log."""

    tab = "bench"
    title_words = "Bench"
    question = "Which change makes this phone faster, and is the change real?"
    keys = ("run.start", "run.stop", "run.arms", "run.details", "graph.shorter", "graph.longer")
    footer = ("run.start", "run.stop", "run.arms", "run.details", "export.csv", "copy", "zoom", "help")
    footer_compact = ("run.start", "run.stop", "run.arms", "run.details", "export.csv", "help")
    reading = (
        "±  population standard deviation over usable cells, never an interval",
        "†  fewer blocks than planned, so far",
        "?  undecided: the data do not say; the reason stands beside it",
        "●  a declared comparison with a verdict   ○  equivalent, or too small to matter",
        "✖  failed, its reason is in the row",
        "tainted  kept in the medians and marked; void: left out, with its reason",
        "—  no power while the battery charges (chg): a cabled phone charges",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.span_s = 60.0

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """Six panels."""
        return (
            Table("Arms", id="arms", cursor=True),
            Gates(id="gates"),
            TimeSeries("Live", id="live"),
            TimeSeries("Heat during this cell", id="heat"),
            FactorBars(id="factors"),
            LogView(id="log"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """Arms and gates over live graphs over factors over log."""
        if size is SizeClass.COMPACT:
            arms_rows = 8 + max(0, body.height - 21) // 3
            arms, middle, factors, log = split_rows(body, arms_rows, 0, 5, 1)
            live, gates = split_columns(middle, body.width // 2, 0)
            return {"arms": arms, "live": live, "gates": gates, "factors": factors, "log": log}
        if size is SizeClass.MEDIUM:
            top, factors, log = split_rows(body, 11, 0, 3)
            arms, gates = split_columns(top, 0, 28)
            factors_area, graphs = split_rows(factors, 8, 0)
            live, heat = split_columns(graphs, body.width // 2, 0)
            return {"arms": arms, "gates": gates, "factors": factors_area, "live": live, "heat": heat, "log": log}
        top, graphs, factors, log = split_rows(body, 11 + max(0, body.height - 37) // 3, 0, 10, 4)
        arms, gates = split_columns(top, 0, 30 if body.width < 150 else 40)
        live, heat = split_columns(graphs, body.width // 2, 0)
        return {"arms": arms, "gates": gates, "live": live, "heat": heat, "factors": factors, "log": log}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The log has a border only where there is room."""
        return frozenset() if size is SizeClass.FULL else frozenset({"log"})

    # -- values ----------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Every panel in view."""
        run = self.run_view()
        self._fill_arms(run)
        if self.in_view("gates"):
            self._fill_gates(run)
        if self.in_view("live"):
            self._fill_live(run)
        if self.in_view("heat"):
            self._fill_heat(run)
        if self.in_view("factors"):
            self._fill_factors(run)
        self.fill_log()

    def _fill_arms(self, run: RunView | None) -> None:
        table = self.query_one("#arms", Table)
        width = table.size.width
        if run is None:
            table.show(TableValue(COLUMNS), self.before_first("r runs the default plan; a lists every experiment."))
            return
        condition = self.run_condition(run)
        value = arms_value(arm_values(run), (run_progress(run, width),) if width >= 90 else ())
        narrow = f"{run.cells_done}/{run.cells_planned}"
        hint = f"† provisional until {run.blocks_planned}/{run.blocks_planned}" if not run.finished else "median ± sd"
        if width < 90:
            hint = narrow if run.finished else f"{narrow}  {_eta(run)}"
        table.show(value, condition, hint=hint, subtitle=title_spans(run))

    def _fill_gates(self, run: RunView | None) -> None:
        gates = self.query_one("#gates", Gates)
        if run is None:
            gates.show((), condition=self.before_first("The plan is shown in full before it starts."))
            return
        gates.show(gate_values(run), plan_rows(run), countdown(run), hint="")

    def _fill_live(self, run: RunView | None) -> None:
        panel = self.query_one("#live", TimeSeries)
        if run is None or self.session.telemetry.sequence < 2:
            panel.show(panel.value, self.before_first("Clocks and power of the open cell appear here."))
            return
        current = run.current
        if run.rates_tok_s and current is not None and current.phase is CellPhase.DECODE and not run.finished:
            panel.title = "Decode tok/s"
            panel.show(rate_graph(run, self.span_s), hint="streamed by the server", subtitle=plain(current.arm))
            return
        name = f"{plain(current.arm)}, {phase_words(run)}" if current is not None and not run.finished else "idle"
        quiet = current is not None and current.phase in (CellPhase.PREFILL, CellPhase.DECODE)
        value = power_graph(self.session, self.span_s * self.session.view.clock_factor, 0.0)
        panel.title = "Power W"
        panel.show(value, hint="quiet: sampler 1 Hz" if quiet and not run.finished else "", subtitle=name)

    def _fill_heat(self, run: RunView | None) -> None:
        panel = self.query_one("#heat", TimeSeries)
        if run is None or self.session.telemetry.sequence < 2:
            panel.show(panel.value, self.before_first("Temperatures of the open cell appear here."))
            return
        panel.show(
            thermal_graph(self.session, (), self.span_s * self.session.view.clock_factor, 0.0), hint="gap = no sample"
        )

    def _fill_factors(self, run: RunView | None) -> None:
        panel = self.query_one("#factors", FactorBars)
        if run is None:
            panel.show((), condition=self.before_first("Factors fill in as blocks finish."))
            return
        if not run.factors:
            words = (
                "Factors appear when the first block has ended." if not run.finished else "This plan has no factors."
            )
            panel.show((), condition=Condition.empty(words))
            return
        width = panel.size.width - 4
        interval = any(factor.low is not None for factor in run.factors)
        hint = "paired by block, signed-rank 95 % interval" if interval else "ratios of medians, no interval"
        panel.show(tuple(factor_value(f) for f in run.factors), factor_summary(run, width), hint=hint)

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Arms with their rate, and how far the run is."""
        run = self.run_view()
        if run is None:
            return (line(" No runs yet."), muted(" r runs the default plan"))
        rows = [
            line(f" {arm.arm[:14].ljust(14)} {arm.done}/{arm.planned} ", rate_words(arm.decode_tok_s, arm.decode_sd))
            for arm in arm_values(run)
        ]
        skin, name = skin_reading(self.session.telemetry)
        power = newest(self.session.telemetry, "power_w")
        foot = "  ".join(
            part
            for part in (
                f"{name} {celsius(skin)} °C" if known(skin) else "",
                f"{watts(power)} W" if power is not None else "",
            )
            if part
        )
        return (
            *rows,
            line(" ", *run_progress(run, width - 2)),
            muted(f" {foot}"),
            line((" simulated", Ink.PREDICTED)) if run.simulated else (),
        )

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_span(self, by: int) -> None:
        """Shorter or longer graphs."""
        spans = (30.0, 60.0, 120.0, 300.0, 600.0)
        place = spans.index(self.span_s) if self.span_s in spans else 1
        self.span_s = spans[max(0, min(len(spans) - 1, place + by))]
        self.tick()

    def action_arms(self) -> None:
        """Every experiment with its command."""
        from entity_tui.screens.chooser import ChooserScreen

        self.app.push_screen(ChooserScreen())

    def action_open(self) -> None:
        """The cells of the arm under the cursor."""
        from entity_tui.screens.cells import CellsScreen

        run = self.run_view()
        key = self.query_one("#arms", Table).cursor_key
        if run is None or not key:
            self.entity.say("no arm is under the cursor")
            return
        arm = next((arm.arm for arm in run.arms if key in (plain(arm.label), arm.arm)), key)
        self.app.push_screen(CellsScreen(run.directory, arm, run.title))


def _eta(run: RunView) -> str:
    from entity_tui.widgets.numbers import duration

    return f"eta {duration(run.eta_s)}" if run.eta_s is not None else ""
