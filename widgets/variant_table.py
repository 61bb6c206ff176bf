"""The CPU backend variants an engine ships: what each needs, and whether this CPU can and did load it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.table import Cell, Column, Table, TableRow, TableValue


class VariantStanding(StrEnum):
    """What one variant is on this device."""

    LOADED = "loaded"
    ELIGIBLE = "eligible"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VariantLine:
    """One shipped variant. `needs` and `missing` are feature names, `added` those the variant before it lacks."""

    name: str
    short_name: str
    needs: tuple[str, ...]
    standing: VariantStanding
    missing: tuple[str, ...] = ()
    predicted: bool = False
    predicted_name: str = ""
    """The name our rule predicted, when another one was loaded."""
    score: int | None = None


def status_spans(variant: VariantLine) -> tuple[Span, ...]:
    """Glyph and words of one variant."""
    if variant.standing is VariantStanding.LOADED:
        if variant.predicted_name and not variant.predicted:
            return (("▲", Ink.WARN), (f" LOADED, predicted {variant.predicted_name}", Ink.STRONG))
        tail = "  = predicted" if variant.predicted else ""
        return (("●", Ink.GOOD), (" LOADED", Ink.STRONG), (tail, Ink.TEXT))
    if variant.standing is VariantStanding.ELIGIBLE:
        words = (" eligible", Ink.TEXT), ("  ~ predicted" if variant.predicted else "", Ink.PREDICTED)
        return (("○", Ink.TEXT), *words)
    if variant.standing is VariantStanding.IMPOSSIBLE:
        return (("✖", Ink.BAD), (f" no {missing_words(variant.missing)}", Ink.TEXT))
    return (("—", Ink.MUTED), (" not known here", Ink.MUTED))


def missing_words(missing: tuple[str, ...]) -> str:
    """`i8mm, sve2`, and without commas from four on, which is what a narrow column has room for."""
    return (", " if len(missing) < 4 else " ").join(missing)


def needs_words(needs: tuple[str, ...]) -> str:
    """`dotprod fp16`, and `… i8mm sve2` when the list is long: only its newest three."""
    if not needs:
        return "—"
    return " ".join(needs) if len(needs) <= 2 else "… " + " ".join(needs[-2:])


WIDE = (
    Column("variant", "variant", 11, flexible=True, least=11, gap=0),
    Column("needs", "needs", 13, drop=1),
    Column("status", "status", 46, flexible=True, least=20),
)
NARROW = (
    Column("variant", "variant", 8, flexible=True, least=6, gap=0),
    Column("status", "status", 40, flexible=True, least=14),
)


class VariantTable(Table):
    """Variants in the order they are shipped, and where the evidence for the loaded one comes from."""

    def __init__(self, title: str = "CPU backend variants", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.variants: tuple[VariantLine, ...] = ()
        self.evidence: tuple[Line, ...] = ()
        self.list_name = ""
        """The upstream list the names belong to: `android` and `linux` have variants of the same name."""
        self.explain = False
        """True shows each variant's score, as `enter` asks."""

    def show_variants(
        self,
        variants: tuple[VariantLine, ...],
        evidence: tuple[Line, ...] = (),
        condition: Condition = LIVE,
        *,
        hint: str = "",
    ) -> None:
        """Show the variants of the engine that will run here."""
        self.variants = variants
        self.evidence = evidence
        self._arrange()
        self.set_condition(condition, hint=hint, subtitle=self.list_name)

    def _arrange(self) -> None:
        narrow = self.size.width < 50
        rows = []
        for variant in self.variants:
            status = status_spans(variant)
            if self.explain and variant.score is not None:
                status = (*status, (f"  score {variant.score}", Ink.MUTED))
            wide: tuple[Cell, ...] = (variant.name, needs_words(variant.needs), status)
            rows.append(TableRow(variant.name, (variant.short_name, status) if narrow else wide))
        columns = NARROW if narrow else WIDE
        self.value = TableValue(columns, tuple(rows), foot=self.evidence, air=False, show_header=not narrow)

    def on_resize(self) -> None:
        """Choose the columns for the new width."""
        self._arrange()
        super().on_resize()

    def toggle_scores(self) -> None:
        """Show or hide the scores."""
        self.explain = not self.explain
        self._arrange()
        self.redraw()


def evidence_line(name: str, *parts: str | Span) -> Line:
    """A row under the variants: `evidence       loader log line, 12:04:31`."""
    return line((name.ljust(15), Ink.MUTED), *parts)
