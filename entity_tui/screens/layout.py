"""Where every panel of a screen goes: a pure function of the size, and the layout that obeys it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget


class SizeClass(StrEnum):
    """How much a terminal has room for; nothing is too small."""

    FULL = "full"
    MEDIUM = "medium"
    COMPACT = "compact"
    TINY = "tiny"
    ONE_LINE = "one line"

    @property
    def panels(self) -> bool:
        """True where there is room for bordered panels."""
        return self in (SizeClass.FULL, SizeClass.MEDIUM, SizeClass.COMPACT)


_FROM = (
    (SizeClass.FULL, 120, 40),
    (SizeClass.MEDIUM, 100, 30),
    (SizeClass.COMPACT, 80, 24),
    (SizeClass.TINY, 40, 10),
)


def size_class(width: int, height: int) -> SizeClass:
    """The largest class whose both dimensions fit."""
    for name, columns, rows in _FROM:
        if width >= columns and height >= rows:
            return name
    return SizeClass.ONE_LINE


def split_rows(area: Region, *heights: int) -> list[Region]:
    """`area` cut into full-width bands. A height of 0 takes what is left; several share it."""
    return [Region(area.x, area.y + at, area.width, size) for at, size in _shares(area.height, heights)]


def split_columns(area: Region, *widths: int) -> list[Region]:
    """`area` cut into full-height columns. A width of 0 takes what is left; several share it."""
    return [Region(area.x + at, area.y, size, area.height) for at, size in _shares(area.width, widths)]


def _shares(total: int, wanted: Sequence[int]) -> list[tuple[int, int]]:
    free = max(0, total - sum(wanted))
    flexible = sum(1 for size in wanted if size == 0)
    shares: list[tuple[int, int]] = []
    place = 0
    for size in wanted:
        if size == 0 and flexible:
            size = free // flexible
            free -= size
            flexible -= 1
        size = max(0, min(size, total - place))
        shares.append((place, size))
        place += size
    return shares


class RegionLayout(Layout):
    """Places each child at the region a function gives for its id; children without one are not shown."""

    name = "regions"

    def __init__(self, regions: Callable[[Size], Mapping[str, Region]]) -> None:
        self._regions = regions

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """One placement for every child that has a region."""
        parent.pre_layout(self)
        regions = self._regions(size)
        placements: list[WidgetPlacement] = []
        for order, child in enumerate(children):
            region = regions.get(child.id or "")
            if region is not None and region.area:
                placements.append(WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, child, order))
        return placements
