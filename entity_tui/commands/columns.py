"""Cells as columns of text, for every table the command line prints."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Lines of cells as columns two blanks apart; `right` names the columns that end under each other."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
