"""What Bench and Placement share: start, stop, export, and the log of the run in flight."""

from __future__ import annotations

from entity_tui.errors import UsageError
from entity_tui.experiments.live import RunView
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.log_values import LogReader
from entity_tui.widgets.log_view import LogView
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.text import plain


class RunScreen(FrameScreen):
    """A screen that shows a run."""

    experiment = "ablation"

    def __init__(self) -> None:
        super().__init__()
        self._log = LogReader(60)

    def run_view(self) -> RunView | None:
        """The run this screen is about, None before the first."""
        return self.session.run

    def fill_log(self) -> None:
        """The session's log, which holds the run's lines too."""
        if self.in_view("log"):
            entries = self._log.read(self.session.log)
            condition = LIVE if entries else Condition.empty("Nothing happened yet.")
            self.query_one("#log", LogView).show(entries, condition, hint="l full log")

    def run_condition(self, run: RunView) -> Condition:
        """The state of a panel that shows the arms of a run: measured, being prepared, or ended before it began."""
        if run.arms:
            return LIVE
        if run.finished:
            return Condition.broken(
                plain(run.outcome or "The run ended before its first cell."), "l says more; r tries again"
            )
        first = plain(run.plan_lines[0]).rstrip(".") if run.plan_lines else "the plan"
        return Condition.waiting(f"{first}. Preflight: engine, pin probe, clocks, battery, foreign load")

    def before_first(self, words: str) -> Condition:
        """The state of a panel while there is no run."""
        if self.session.view.facts is None:
            return Condition.empty("No device is connected.", "d chooses one; demo needs nothing.")
        if self.entity.starting:
            return Condition.waiting("looking at the engine and the model, making the plan")
        return Condition.empty("No runs yet.", words)

    def action_run(self) -> None:
        """Run this screen's plan."""
        self.entity.action_run_default(self.experiment)

    def action_stop(self) -> None:
        """Stop after the cell, twice: now."""
        if self.entity.run_in_flight():
            self.entity.stop_run()
        else:
            self.entity.say("nothing runs")

    def export_rows(self, format_name: str) -> str:
        """The run's tidy rows as CSV; as JSON the panel in focus."""
        if format_name == "csv" and self.session.run is not None:
            return str(self.session.export_run("csv"))
        if format_name == "csv":
            raise UsageError("no run to export", fix="r runs the plan of this screen")
        return super().export_rows(format_name)
