"""Bars of cells: full and empty parts of a fixed width, for load, clocks, progress and shares."""

from __future__ import annotations

from entity_tui.widgets.ink import Ink, Span


def bar(
    share: float | None, width: int, *, full: str = "█", empty: str = "░", ink: Ink = Ink.SERIES_1
) -> tuple[Span, ...]:
    """`share` 0..1 of `width` cells; None is an empty track, so that nothing moves."""
    filled = 0 if share is None else max(0, min(width, round(share * width)))
    return ((full * filled, ink), (empty * (width - filled), Ink.TRACK))


def meter(share: float | None, width: int) -> tuple[Span, ...]:
    """The share of the highest clock: `▰▰▰▰▱▱▱▱`."""
    return bar(share, width, full="▰", empty="▱", ink=Ink.MUTED)


def progress(done: int, planned: int, width: int) -> tuple[Span, ...]:
    """Progress in cells of a plan: `▮▮▮▮▯▯`."""
    return bar(done / planned if planned else 0.0, width, full="▮", empty="▯", ink=Ink.ACCENT)


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def fine_bar(share: float, width: int) -> str:
    """A bar in eighths of a cell, padded to `width`."""
    eighths = max(0, min(width * 8, round(share * width * 8)))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)
