"""Text that came from a device is data: this is the one door through which it reaches a terminal."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

REPLACEMENT = "\ufffd"
_SPACES = frozenset("\t\n\r\v\f\u2028\u2029\u0085\u00a0")
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


@lru_cache(maxsize=4_096)
def plain(text: str) -> str:
    """One line of printable text: no control or format characters, no escape sequences, no direction overrides.

    Tabs and line ends become a space; what a terminal could act on becomes nothing (a lone surrogate or an unassigned
    code point becomes U+FFFD). The result never spans lines and is never read as markup by our widgets.
    """
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    for character in text:
        if character in _SPACES:
            kept.append(" ")
            continue
        category = unicodedata.category(character)
        if category not in _DROPPED:
            if not "\ufe00" <= character <= "\ufe0f":
                kept.append(character)
        elif category in ("Cs", "Cn", "Co"):
            kept.append(REPLACEMENT)
    return "".join(kept)


def cells(text: str) -> int:
    """How many terminal cells `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """A name shortened to `width` cells, with `…` at the end when something was left out. Never for numbers."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else "…"


def left(text: str, width: int) -> str:
    """`text` padded to `width` cells on the right; a longer one is returned whole."""
    return text + " " * max(0, width - cells(text))


def right(text: str, width: int) -> str:
    """`text` padded to `width` cells on the left; a longer one is returned whole."""
    return " " * max(0, width - cells(text)) + text


def center(text: str, width: int) -> str:
    """`text` in the middle of `width` cells; the odd cell goes to the right."""
    free = max(0, width - cells(text))
    return " " * (free // 2) + text + " " * (free - free // 2)


def fold(text: str, width: int) -> list[str]:
    """`text` broken at spaces into lines of at most `width` cells; a longer word is broken where it must be."""
    if width <= 0:
        return []
    lines: list[str] = []
    current = ""
    for word in text.split():
        while cells(word) > width:
            head = set_cell_size(word, width).rstrip()
            if current:
                lines.append(current)
                current = ""
            lines.append(head or word[:1])
            word = word[len(head) or 1 :]
        candidate = f"{current} {word}" if current else word
        if cells(candidate) <= width:
            current = candidate
        else:
            lines.append(current)
            current = word
    if current or not lines:
        lines.append(current)
    return lines


_ASCII_PAIRS = ((" ±", "+-"), ("≤ ", "<="), ("≥ ", ">="), ("→", ">"), (" °C", " C "))
_ASCII = str.maketrans(
    {
        **dict(zip("●○◐▲✖◆†—–−…×·±≤≥°»«▸▼◂", '*o%!x#+---.x.+<> "">v<', strict=True)),
        **dict(zip("╭╮╰╯─│┤├└┴┬┼", "++++-||++++-", strict=True)),
        **dict(zip("┏┓┗┛━┃┄▮▯▰▱■▪□", "++++=|-#.=.#o.", strict=True)),
        **dict(zip("█▉▊▋▌▍▎▏░▒▓", "####=-:.." + "%%", strict=True)),
        **dict(zip("▁▂▃▄▅▆▇", "..--==#", strict=True)),
        **dict(zip("Δ↑↓←’‘“”ΣµΩ√", "d^v<''\"\"SuOv", strict=True)),
    }
)


@lru_cache(maxsize=8_192)
def to_ascii(text: str) -> str:
    """The same cells in ASCII, for terminals and locales where the glyphs are missing or two cells wide."""
    if text.isascii():
        return text
    for glyph, pair in _ASCII_PAIRS:
        text = text.replace(glyph, pair)
    text = text.translate(_ASCII)
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "?" * cell_len(c) for c in text)
