"""Placement: should threads be pinned on this phone?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.device.cpu_lists import format_cpu_list, format_mask
from entity_tui.experiments.live import RunView
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.screens.placement_values import mask_value, pair_value, spread_rows, verdict_rows
from entity_tui.screens.run_screen import RunScreen
from entity_tui.screens.run_values import run_progress
from entity_tui.widgets.ink import Ink, Line, line, muted
from entity_tui.widgets.log_view import LogView
from entity_tui.widgets.mask_editor import MaskEditor, PlacementRow
from entity_tui.widgets.numbers import change, tok_s
from entity_tui.widgets.paired_table import COLUMNS, paired_value
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.spread import Spread
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text_panel import VerdictBox


class PlacementScreen(RunScreen):
    """Masks, paired results, spread, verdict, log."""

    tab = "placement"
    title_words = "Placement"
    question = "Should threads be pinned on this phone?"
    experiment = "placement"
    keys = ("run.start", "run.stop", "mask.left", "mask.right", "mask.toggle", "mask.new", "placement.apply")
    footer = ("run.start", "run.stop", "mask.toggle", "mask.new", "placement.apply", "export.csv", "copy", "help")
    footer_compact = ("run.start", "run.stop", "mask.toggle", "mask.new", "export.csv", "help")
    reading = (
        "■  threads are pinned to this core   ▪  the scheduler may use it   ·  not in the mask",
        "●  verified: the kernel says the mask was applied to every thread",
        "▲  not applied: the comparison stops before it starts",
        "IQR  the middle half of the cells",
        "change  paired by block, with its exact 95 % interval from six pairs on",
        "words  faster, slower, equivalent, different but too small to matter, undecided",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.own: list[PlacementRow] = []

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """Five panels."""
        return (
            MaskEditor(id="masks"),
            Table("Paired results", id="pairs", cursor=True),
            Spread(id="spread"),
            VerdictBox("Verdict", id="verdict"),
            LogView(id="log"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """Masks over results over spread and verdict over log."""
        if size is SizeClass.COMPACT:
            masks, pairs, verdict, log = split_rows(body, 8 + max(0, body.height - 21) // 2, 6, 0, 2)
            return {"masks": masks, "pairs": pairs, "verdict": verdict, "log": log}
        log_rows = 8 if size is SizeClass.FULL else 3
        rows = (12, 8, 0, log_rows) if size is SizeClass.FULL else (9, 8, 0, log_rows)
        masks, pairs, lower, log = split_rows(body, *rows)
        spread, verdict = split_columns(lower, body.width * 59 // 120, 0)
        return {"masks": masks, "pairs": pairs, "spread": spread, "verdict": verdict, "log": log}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The log has a border only where there is room."""
        return frozenset() if size is SizeClass.FULL else frozenset({"log"})

    # -- values ----------------------------------------------------------------------------------------------------

    def run_view(self) -> RunView | None:
        """The last run, when it compared placements."""
        run = self.session.run
        return run if run is not None and (run.experiment == "placement" or run.pairs) else None

    def fill(self) -> None:
        """Every panel in view."""
        run = self.run_view()
        self._fill_masks(run)
        if self.in_view("pairs"):
            self._fill_pairs(run)
        if self.in_view("spread"):
            self._fill_spread(run)
        if self.in_view("verdict"):
            self._fill_verdict(run)
        self.fill_log()

    def _fill_masks(self, run: RunView | None) -> None:
        masks = self.query_one("#masks", MaskEditor)
        facts = self.session.view.facts
        if facts is None:
            masks.show(masks.value, Condition.empty("No device is connected.", "d chooses one; demo needs nothing."))
            return
        value = mask_value(facts.topology, run, self.own)
        condition = LIVE if value.groups else Condition.broken("The cores of this device cannot be told apart.")
        masks.show(value, condition, hint="space toggle core  n new placement")

    def _fill_pairs(self, run: RunView | None) -> None:
        table = self.query_one("#pairs", Table)
        if run is None:
            table.show(TableValue(COLUMNS), self.before_first("r compares the scheduler with the fast cores, paired."))
            return
        if not run.pairs:
            waiting = Condition.waiting("the first pair is being measured")
            table.show(TableValue(COLUMNS), waiting if run.arms and not run.finished else self.run_condition(run))
            return
        foot = () if run.finished else (run_progress(run, table.size.width),)
        value = paired_value([pair_value(pair) for pair in run.pairs], foot)
        table.show(value, hint="paired, randomised AB and BA, 95 % interval", subtitle=run.model_name)

    def _fill_spread(self, run: RunView | None) -> None:
        spread = self.query_one("#spread", Spread)
        rows = spread_rows(run) if run is not None else ()
        condition = LIVE if rows else self.before_first("The spread of each placement appears here.")
        spread.show(rows, condition)

    def _fill_verdict(self, run: RunView | None) -> None:
        box = self.query_one("#verdict", VerdictBox)
        if run is None:
            box.show((), self.before_first("A verdict needs six blocks."))
        elif not run.verdicts:
            words = "Not yet: the blocks are not complete." if not run.finished else "This run states no verdict."
            box.show((), Condition.empty(words))
        else:
            box.show(verdict_rows(run, box.size.width - 4))

    def action_apply(self) -> None:
        """Remember the placement under the cursor for this device; Chat uses it, and says so."""
        from entity_tui.applied import PLACEMENTS, apply_placement

        spec = self.session.view.spec
        masks, pairs = self.query_one("#masks", MaskEditor), self.query_one("#pairs", Table)
        under = masks.chosen
        arm = pairs.cursor_key if pairs.has_focus else (under.key if under is not None else "")
        if not spec or arm not in PLACEMENTS:
            self.entity.say(f"enter applies one of: {', '.join(PLACEMENTS)}")
            return
        apply_placement(spec, arm)
        self.entity.say(f"{arm} is this device's placement now: {PLACEMENTS[arm]}", log=True)

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Rates, changes and the verdict."""
        run = self.run_view()
        if run is None:
            return (line(" No runs yet."), muted(" r compares placements"))
        rows = [
            line(
                f" {p.name[:12].ljust(12)} {tok_s(p.median):>5} ",
                (change(p.change) if not p.baseline else "", Ink.TEXT),
            )
            for p in map(pair_value, run.pairs)
        ]
        return (*rows, *(line(" ", *row) for row in verdict_rows(run, width - 2)[:3]), run_progress(run, width - 2))

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the row cursor of the editor, or of the focused table."""
        if isinstance(self.focused, MaskEditor):
            self.focused.move(by, 0)
        else:
            super().action_move(by)

    def action_time_cursor(self, by: int) -> None:
        """Move the core cursor."""
        self.query_one("#masks", MaskEditor).move(0, by)

    def action_act(self) -> None:
        """Toggle the core under the cursor in a placement of the reader's own."""
        masks = self.query_one("#masks", MaskEditor)
        row, cpu = masks.chosen, masks.chosen_cpu
        if row is None or cpu is None:
            return
        if not row.own:
            self.entity.say("the shipped placements stay as they are; n makes one of your own")
            return
        changed = row.cpus ^ {cpu}
        if not changed:
            self.entity.say("a mask without a core cannot run")
            return
        index = next(i for i, each in enumerate(self.own) if each.key == row.key)
        self.own[index] = replace(row, cpus=changed, threads=str(len(changed)))
        self._tell(self.own[index])

    def action_new(self) -> None:
        """A new placement on the cores of the row under the cursor."""
        masks = self.query_one("#masks", MaskEditor)
        if masks.chosen is None:
            self.entity.say("connect a device first")
            return
        name = f"own_{len(self.own) + 1}"
        cpus = masks.chosen.cpus
        self.own.append(PlacementRow(name, name, cpus, True, str(len(cpus)), own=True))
        self.tick()
        masks.move(len(masks.value.rows), 0)
        self._tell(self.own[-1])

    def _tell(self, row: PlacementRow) -> None:
        """Write the placement down for the command line, and its mask and command into the log."""
        from entity_tui.screens.own_placements import command_for, write_placements

        path = write_placements(self.own)
        cpus = format_cpu_list(row.cpus) or "—"
        words = f"{row.name}: mask {format_mask(row.cpus)}, CPUs {cpus}, {command_for(path, row)}"
        self.session.log.add("placement", words)
        self.tick()

    def copied_text(self) -> str:
        """The command of an own placement, else the focused panel."""
        masks = self.query_one("#masks", MaskEditor)
        if self.focused is masks and masks.chosen is not None and masks.chosen.own:
            from entity_tui.screens.own_placements import command_for, placements_path

            return command_for(placements_path(), masks.chosen)
        return super().copied_text()
