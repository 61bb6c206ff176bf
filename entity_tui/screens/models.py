"""Models: what fits, what will it do, what does KleidiAI cover?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.errors import EntityError
from entity_tui.model_room import ModelRoom
from entity_tui.model_transfers import ModelTransfers, TransferView
from entity_tui.models.view import ModelRow, Place, sort_rows
from entity_tui.screens.dialogs import ConfirmScreen, PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.screens.log_values import LogReader
from entity_tui.screens.models_values import (
    FIT_MARKS,
    census_rows,
    columns,
    compact_rows,
    fit_rows,
    model_row,
    tensor_rows,
    transfer_line,
)
from entity_tui.widgets.ink import Line, line, muted
from entity_tui.widgets.log_view import LogView
from entity_tui.widgets.numbers import long_bytes, short_bytes
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import TextPanel

ORDERS = ("fit", "size", "speed", "name")


class ModelsScreen(FrameScreen):
    """Every model on the device and in the catalog, the census of one, its fit and prediction."""

    tab = "models"
    title_words = "Models"
    question = "What fits, what will it do, what does KleidiAI cover?"
    keys = ("model.inspect", "model.push", "model.delete", "model.bench", "model.order", "filter")
    footer = ("model.inspect", "model.push", "model.delete", "model.bench", "model.order", "filter", "copy", "help")
    footer_compact = ("model.inspect", "model.bench", "model.order", "filter", "help")
    reading = (
        "~  predicted; its basis stands in the panel at the right",
        "coverage  bytes a token reads whose type has a KleidiAI kernel on this CPU; the build may still lack KleidiAI",
        "GOOD  fits with a fast kernel   FITS  fits   TIGHT  over 70 % of what is free   NO  does not fit",
        "?  the memory could not be read: nothing is assumed",
        "measured  the best usable median on this device, with its runs",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def __init__(self) -> None:
        super().__init__()
        self.order_name = "fit"
        self.filter_words = ""
        self.inspecting = False
        self._room: ModelRoom | None = None
        self._transfers: ModelTransfers | None = None
        self._log = LogReader(60)

    @property
    def room(self) -> ModelRoom:
        """The rows of the connected device."""
        if self._room is None:
            self._room = ModelRoom(self.session)
        return self._room

    @property
    def transfers(self) -> ModelTransfers:
        """Models on their way; they go on while another screen is open."""
        if self._transfers is None:
            self._transfers = ModelTransfers(self.session)
        return self._transfers

    # -- layout ----------------------------------------------------------------------------------------------------

    def make_panels(self) -> Iterable[Widget]:
        """List, census, fit, the narrow summary, log."""
        return (
            Table("Models", id="models", cursor=True),
            TextPanel("Census", id="census"),
            TextPanel("Fit and prediction", id="fit"),
            TextPanel("Model", id="summary"),
            LogView(id="log"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The list over census and fit over log."""
        if size is SizeClass.COMPACT:
            models, summary, log = split_rows(body, 0, 9, 2)
            return {"models": models, "summary": summary, "log": log}
        log_rows = 6 if size is SizeClass.FULL else 3
        models, middle, log = split_rows(body, 0, 17 if size is SizeClass.FULL else 14, log_rows)
        census, fit = split_columns(middle, body.width // 2, 0)
        return {"models": models, "census": census, "fit": fit, "log": log}

    def bare_panels(self, size: SizeClass) -> frozenset[str]:
        """The log has a border only where there is room."""
        return frozenset() if size is SizeClass.FULL else frozenset({"log"})

    # -- values ----------------------------------------------------------------------------------------------------

    def shown(self) -> tuple[ModelRow, ...]:
        """The rows that match the filter, ordered; models on the device before those of the catalog."""
        words = self.filter_words.lower().split()
        kept = [row for row in self.room.rows if all(w in f"{row.title} {row.quant}".lower() for w in words)]
        ordered = sort_rows(kept, self.order_name)
        return tuple(sorted(ordered, key=lambda row: row.place is Place.CATALOG))

    def chosen(self) -> ModelRow | None:
        """The model under the cursor."""
        key = self.query_one("#models", Table).cursor_key
        return next((row for row in self.room.rows if row.id == key), None)

    def fill(self) -> None:
        """Every panel in view; the first look at a device starts reading its headers."""
        if self.room.due:
            self.entity.run_worker(self.room.read(), name="models", exit_on_error=False)
        self._fill_list()
        row = self.chosen()
        for name in ("census", "fit", "summary"):
            if self.in_view(name):
                self._fill_detail(name, row)
        if self.in_view("log"):
            log = self.query_one("#log", LogView)
            entries = self._log.read(self.session.log)
            log.show(entries, LIVE if entries else Condition.empty("Nothing happened yet."), hint="l full log")

    def _condition(self) -> Condition:
        view = self.session.view
        if not view.spec or (view.facts is None and not self.room.rows):
            return Condition.empty("No device is connected.", "d chooses one; demo needs nothing.")
        if self.room.problem is not None and not self.room.rows:
            return Condition.broken(plain(self.room.problem.title), plain(self.room.problem.fix))
        if self.room.rows:
            return LIVE
        return Condition.waiting("looking for models and reading their headers; nothing is loaded or pulled")

    def _fill_list(self) -> None:
        table = self.query_one("#models", Table)
        condition = self._condition()
        rows = self.shown()
        if condition is LIVE and not rows:
            condition = Condition.empty(f"No model matches {self.filter_words}.", "/ changes the filter")
        wide = table.size.width >= 100
        here = [row for row in rows if row.path]
        used = sum(row.size_bytes for row in here)
        files = f"{len(here)} file{'' if len(here) == 1 else 's'} on the device, {long_bytes(used)}"
        free = f", {long_bytes(self.room.free_space_bytes)} free" if self.room.free_space_bytes is not None else ""
        words = f"{files}{free}; {len(rows) - len(here)} more in the catalog"
        foot = (
            transfer_line(self.transfers.views) or muted(f"{words}    sizes read from GGUF headers, nothing loaded"),
        )
        table_rows = tuple(model_row(row, wide=wide) for row in rows)
        value = TableValue(columns(wide), table_rows, foot if table.size.height > 9 else ())
        table.show(value, condition, hint=f"order: {self.order_name}  o change", subtitle=self.filter_words)

    def _fill_detail(self, name: str, row: ModelRow | None) -> None:
        panel = self.query_one(f"#{name}", TextPanel)
        if row is None:
            panel.show((), Condition.empty("No model is under the cursor."))
            return
        width = panel.size.width - 4
        title = f"{plain(row.title)} {plain(row.quant)}"
        if name == "census" and self.inspecting:
            panel.show(tensor_rows(row), subtitle=title, hint="i back")
        elif name == "census":
            panel.show(census_rows(row, width), subtitle=title)
        elif name == "fit":
            panel.show(fit_rows(row, width), hint="~ predicted")
        else:
            panel.show(compact_rows(row, width), subtitle=title)

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Name, size and fit of each model."""
        if self.room.due:
            self.entity.run_worker(self.room.read(), name="models", exit_on_error=False)
        rows = self.shown()
        if not rows:
            return (muted(f" {self._condition().words}"),)
        return tuple(
            line(
                f" {plain(row.title)[:20]:20} {short_bytes(row.size_bytes):>6} ",
                FIT_MARKS[row.fit.level],
                f" {row.fit.level.value}",
            )
            for row in rows[: self.size.height - 2]
        )

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_order(self) -> None:
        """The next order."""
        self.order_name = ORDERS[(ORDERS.index(self.order_name) + 1) % len(ORDERS)]
        self.tick()

    def action_inspect(self) -> None:
        """The tensors of the model under the cursor, and back."""
        row = self.chosen()
        if row is None or row.census is None:
            self.entity.say("only a file on the device has tensors to show")
            return
        if self.size_class is SizeClass.COMPACT:
            self.entity.say("make the window 100x30 to see the tensors")
            return
        self.inspecting = not self.inspecting
        self.tick()

    def action_push(self) -> None:
        """Push a file of this computer in the background."""

        def typed(path: str | None) -> None:
            if path and path.strip():
                self._begin(lambda: self.transfers.push(Path(path.strip())))

        self.app.push_screen(PromptScreen("push a model: the path of a GGUF file of this computer"), typed)

    def action_delete(self) -> None:
        """Delete the model under the cursor from the device, after a question that names it."""
        row = self.chosen()
        path = row.path if row is not None else None
        if row is None or path is None:
            self.entity.say("this model is not on the device")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._begin(lambda: self.transfers.delete(path))

        words = (f"{plain(path)}, {long_bytes(row.size_bytes)}",)
        self.app.push_screen(ConfirmScreen("Delete this model from the device?", words, "delete"), answered)

    def _begin(self, start: Callable[[], TransferView]) -> None:
        """Start a transfer, or say why not."""
        if self.session.read_only:
            self.entity.say("read-only: nothing is moved or deleted")
            return
        try:
            view = start()
            self.entity.say(f"{view.kind} of {plain(view.name)} begun; it goes on in the background")
        except EntityError as error:
            self.entity.complain(error)

    def action_filter(self) -> None:
        """Filter by words of the name or the quantisation."""

        def typed(words: str | None) -> None:
            if words is not None:
                self.filter_words = words.strip()
                self.tick()

        self.app.push_screen(PromptScreen("filter models: words of the name or type", self.filter_words), typed)

    def action_run(self) -> None:
        """Run the default bench plan with the model under the cursor."""
        row = self.chosen()
        if row is None or row.path is None:
            self.entity.say("this model is not on the device; entity-tui models push brings one there")
            return
        self.entity.action_run_default("ablation", row.path)
