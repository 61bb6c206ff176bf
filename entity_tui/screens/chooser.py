"""Every experiment with its question and its command: what `a` on Bench shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui.running import ON_A_SERVER
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import KEYS
from entity_tui.screens.layout import SizeClass
from entity_tui.widgets.ink import Line, line, muted
from entity_tui.widgets.table import Column, Table, TableRow, TableValue

EXPERIMENTS = (
    ("ablation", "which change makes this phone faster?", "bench", "b"),
    ("placement", "should threads be pinned here?", "placement", "p"),
    (ON_A_SERVER, "the ablation as a chat meets it, on llama-server", "bench --instrument server", ""),
    ("compare", "is B better than A, on any axis?", "compare", ""),
    ("kernels", "what do the kernels earn?", "kernels", ""),
    ("sustained", "what is left after 2, 5, 10 minutes?", "sustained", ""),
    ("sweep", "which width?", "sweep", ""),
    ("isa-ladder", "what is each CPU backend variant worth?", "isa-ladder", ""),
    ("backends", "CPU or GPU?", "backends", ""),
    ("equivalence", "does scheduling change the answer?", "equivalence", ""),
    ("guard", "does backing off pay?", "guard", ""),
    ("kv-restore", "what does a saved conversation save?", "kv-restore", ""),
    ("observer", "what does the instrument cost?", "observer", ""),
    ("measure", "any other engine: argv, a pattern, a unit", "measure", ""),
)
STARTS = frozenset({"ablation", "placement", ON_A_SERVER})
"""What `enter` starts; the others are commands."""
COLUMNS = (
    Column("name", "experiment", 15, gap=0),
    Column("question", "question", 42, flexible=True, least=20),
    Column("command", "command", 36, gap=2),
    Column("key", "key", 4, drop=1),
)


class ChooserScreen(FrameScreen):
    """A list of experiments. `enter` starts the default plans; `y` copies the command of the others."""

    title_words = "Experiments"
    question = "What can be measured, and with which command?"
    keys = ("run.details",)
    footer = ("back", "run.details", "copy", "help")
    footer_compact = footer
    BINDINGS: ClassVar[list[BindingType]] = [Binding(KEYS["run.details"].keys, "screen.open", "start", show=False)]

    def make_panels(self) -> Iterable[Widget]:
        """One table."""
        return (Table("Experiments", id="experiments", cursor=True),)

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The whole body."""
        return {"experiments": body}

    def heading(self) -> str:
        """Where this is."""
        return "Bench  ›  experiments"

    def fill(self) -> None:
        """The table."""
        rows = tuple(
            TableRow(name, (name, question, f"entity-tui {command}", key))
            for name, question, command, key in EXPERIMENTS
        )
        foot = (muted("enter starts the first three; the others are commands: y copies the one under the cursor"),)
        self.query_one("#experiments", Table).show(TableValue(COLUMNS, rows, foot))

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """Names and questions."""
        return tuple(line(f" {name:15} ", question) for name, question, _, _ in EXPERIMENTS)

    def _chosen(self) -> tuple[str, str, str, str] | None:
        key = self.query_one("#experiments", Table).cursor_key
        return next((row for row in EXPERIMENTS if row[0] == key), None)

    def copied_text(self) -> str:
        """The command under the cursor, with the device it would run on."""
        chosen = self._chosen()
        if chosen is None:
            return ""
        spec = self.session.view.spec
        return f"entity-tui {chosen[2]}" + (f" --device {spec}" if spec else "")

    def action_open(self) -> None:
        """Start the experiment under the cursor, if it has a default plan."""
        chosen = self._chosen()
        if chosen is None:
            return
        if chosen[0] not in STARTS:
            self.entity.say(f"run it with: {self.copied_text()}  (y copies)")
            return
        self.app.pop_screen()
        self.entity.action_run_default(chosen[0])
