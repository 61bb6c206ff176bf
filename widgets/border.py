"""The two borders of panels: rounded, and the heavy one that is reserved for a conclusion."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.widgets.ink import Ink, Line, crop, line, width_of


@dataclass(frozen=True, slots=True)
class Frame:
    """The characters of a border."""

    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    horizontal: str
    vertical: str


ROUNDED = Frame("╭", "╮", "╰", "╯", "─", "│")
HEAVY = Frame("┏", "┓", "┗", "┛", "━", "┃")


def top_border(frame: Frame, title: Line, hint: str, width: int, ink: Ink, *, urgent: bool = False) -> Line:
    """The upper border with the title at the left and the hint at the right.

    A hint that does not fit is left out; an `urgent` one shortens the title instead.
    """
    if width < 4:
        return line((frame.top_left + frame.horizontal * max(0, width - 2) + frame.top_right, ink))
    inner = width - 2
    title = crop(title, max(0, inner - 4 - (len(hint) + 3 if urgent else 0)))
    used = width_of(title) + 3 if title else 0
    hint = hint if hint and used + len(hint) + 4 <= inner else ""
    tail = f" {hint} " if hint else ""
    rule = inner - used - len(tail) - (1 if hint else 0)
    parts: list[tuple[str, Ink]] = [(frame.top_left, ink)]
    if title:
        parts += [(f"{frame.horizontal} ", ink), *title, (" ", ink)]
    parts.append((frame.horizontal * rule, ink))
    if hint:
        parts += [(tail, Ink.MUTED), (frame.horizontal, ink)]
    parts.append((frame.top_right, ink))
    return tuple(parts)
