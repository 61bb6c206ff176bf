"""Placements against cores: which cores each may use, edited in place, and what the kernel says was applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.widgets.bars import fine_bar
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, muted
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import center, cut, left, right

NAME_CELLS = 16
WIDE_FROM = 90


@dataclass(frozen=True, slots=True)
class CoreGroup:
    """Cores of one cluster, in the order of the columns."""

    label: str
    name: str
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """One placement. `pinned` False means the scheduler may move threads among its cores."""

    key: str
    name: str
    cpus: frozenset[int]
    pinned: bool
    threads: str
    readback: str = ""
    """What the kernel says: `Cpus_allowed 4-7`; empty before a run."""
    verified: bool | None = None
    own: bool = False
    """True for a placement the reader made, whose cores can be toggled."""


@dataclass(frozen=True, slots=True)
class MaskValue:
    """Clusters, placements, and where the threads of the last cell really ran."""

    groups: tuple[CoreGroup, ...] = ()
    rows: tuple[PlacementRow, ...] = ()
    ran_title: str = ""
    ran_share: tuple[tuple[int, float], ...] = ()
    """(cpu, share of that core's time), 0..1."""
    ran_words: str = ""


class MaskEditor(Panel):
    """A grid of placements and cores with a cursor that is a row and a core."""

    def __init__(self, title: str = "Masks", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.value = MaskValue()
        self.row = 0
        self.column = 0

    def show(self, value: MaskValue, condition: Condition = LIVE, *, hint: str = "", subtitle: str = "") -> None:
        """Show placements; the cursor stays where it can."""
        self.value = value
        self.row = max(0, min(self.row, len(value.rows) - 1))
        self.column = max(0, min(self.column, len(self.cpus()) - 1))
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    def cpus(self) -> tuple[int, ...]:
        """All cores in the order of the columns."""
        return tuple(cpu for group in self.value.groups for cpu in group.cpus)

    @property
    def chosen(self) -> PlacementRow | None:
        """The placement under the cursor."""
        return self.value.rows[self.row] if self.row < len(self.value.rows) else None

    @property
    def chosen_cpu(self) -> int | None:
        """The core under the cursor."""
        cpus = self.cpus()
        return cpus[self.column] if self.column < len(cpus) else None

    def move(self, rows: int, columns: int) -> None:
        """Move the cursor, not past any edge."""
        self.row = max(0, min(len(self.value.rows) - 1, self.row + rows))
        self.column = max(0, min(len(self.cpus()) - 1, self.column + columns))
        self.redraw()

    def scroll_rows(self, rows: int) -> None:
        """The wheel and j, k move the row cursor: all placements fit."""
        self.move(max(-1, min(1, rows)), 0)

    def sheet(self, width: int, height: int) -> Sheet:
        """Cluster names, core numbers, one row per placement, where threads ran."""
        wide = width >= WIDE_FROM
        step = 5 if wide else 3
        rows = tuple(self._row(number, row, step, wide) for number, row in enumerate(self.value.rows))
        head = (self._clusters(step, wide), self._numbers(step))
        roomy = height >= len(rows) + len(head) + 4
        foot: tuple[Line, ...] = ()
        if self.value.ran_title and roomy:
            foot = (muted(self.value.ran_title), self._ran(step))
        return Sheet(rows, (*head, BLANK) if roomy else head, foot, cursor=self.row)

    def _gap(self, wide: bool) -> str:
        return "    " if wide else "   "

    def _clusters(self, step: int, wide: bool) -> Line:
        parts = [" " * NAME_CELLS]
        for group in self.value.groups:
            room = step * len(group.cpus) + 3
            short = group.name.removeprefix("Cortex-")
            forms = (f"{group.label}  {group.name}", f"{group.label} {short}", group.label) if wide else (short,)
            words = next((form for form in forms if len(form) <= room), forms[-1])
            parts.append(left(cut(words, room), step * len(group.cpus) + 4))
        return muted("".join(parts))

    def _numbers(self, step: int) -> Line:
        parts = [left("placement", NAME_CELLS)]
        for group in self.value.groups:
            parts += [left(str(cpu), step) for cpu in group.cpus]
            parts.append("    ")
        parts.append(" thr  what the kernel says" if step == 5 else "thr  verified")
        return muted("".join(parts))

    def _row(self, number: int, row: PlacementRow, step: int, wide: bool) -> Line:
        here = number == self.row
        name = ("▸ " if here else "  ") + cut(row.name, NAME_CELLS - 3)
        spans: list[Span] = [(left(name, NAME_CELLS), Ink.STRONG if here else Ink.TEXT)]
        column = 0
        for group in self.value.groups:
            for cpu in group.cpus:
                mark = ("■" if row.pinned else "▪") if cpu in row.cpus else "·"
                ink = Ink.CURSOR if here and column == self.column and self.has_focus else Ink.TEXT
                if mark == "·" and ink is Ink.TEXT:
                    ink = Ink.MUTED
                spans += [(mark, ink), (" " * (step - 1), Ink.TEXT)]
                column += 1
            spans.append(("    ", Ink.TEXT))
        spans.append((right(row.threads, 3) + "  ", Ink.TEXT))
        spans += self._verified(row, wide)
        return line(*spans)

    def _verified(self, row: PlacementRow, wide: bool) -> Sequence[Span]:
        if not row.readback:
            return (("not run yet" if not row.own else "your own", Ink.MUTED),)
        mark: Span = ("●", Ink.GOOD) if row.verified else ("▲", Ink.WARN)
        if not wide:
            return (mark, (f" {row.readback}", Ink.TEXT))
        words = " verified" if row.verified else " not applied"
        return ((left(f"Cpus_allowed {row.readback}", 20), Ink.TEXT), mark, (words, Ink.TEXT))

    def _ran(self, step: int) -> Line:
        shares = dict(self.value.ran_share)
        spans: list[Span] = [(" " * NAME_CELLS, Ink.TEXT)]
        for group in self.value.groups:
            spans += [(center(fine_bar(shares.get(cpu, 0.0), step - 1), step), Ink.SERIES_1) for cpu in group.cpus]
            spans.append(("    ", Ink.TEXT))
        return line(*spans, self.value.ran_words)
