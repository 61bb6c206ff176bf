"""Conditions with whether they hold: gates before a cell, checks of a device, what must be the same in a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import fold

MARKS: dict[bool | None, Span] = {True: ("●", Ink.GOOD), False: ("▲", Ink.WARN), None: ("○", Ink.MUTED)}


@dataclass(frozen=True, slots=True)
class GateValue:
    """One condition: does it hold (None: unknown, or only recorded), and its words with the numbers."""

    holds: bool | None
    text: str


def gate_line(gate: GateValue) -> Line:
    """Glyph and words."""
    return line(MARKS[gate.holds], f" {gate.text}")


class Gates(Panel):
    """The plan in a few rows, then every condition."""

    def __init__(self, title: str = "Plan and gates", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.before: tuple[Line, ...] = ()
        self.gates: tuple[GateValue, ...] = ()
        self.countdown: tuple[Line, ...] = ()

    def show(
        self,
        gates: tuple[GateValue, ...],
        before: tuple[Line, ...] = (),
        countdown: tuple[Line, ...] = (),
        condition: Condition = LIVE,
        *,
        hint: str = "",
    ) -> None:
        """Show the plan's rows, the conditions, and what the loop waits for."""
        self.before, self.gates, self.countdown = before, gates, countdown
        self.set_condition(condition, hint=hint)

    def sheet(self, width: int, height: int) -> Sheet:
        """Plan, conditions, countdown; the plan's rows give way first."""
        rows: list[Line] = []
        for gate in self.gates:
            first, *rest = fold(gate.text, max(8, width - 2))
            rows.append(gate_line(GateValue(gate.holds, first)))
            if len(self.gates) + len(rest) + len(self.countdown) <= height:
                rows += [line(f"  {piece}") for piece in rest]
        gates = tuple(rows)
        free = height - len(gates) - len(self.countdown)
        before = self.before[: max(0, free)]
        return Sheet(gates, before, self.countdown)
