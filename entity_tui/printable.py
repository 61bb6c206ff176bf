"""Text from devices, models and files made safe for a terminal: characters stay, control goes."""

from __future__ import annotations

import unicodedata

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """`text` without anything a terminal would act on.

    Control characters (escape sequences begin with one), directional overrides, and lone surrogates become U+FFFD;
    a tab becomes one space. With `keep_newlines` line ends survive, for text that is shown as lines.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    for character in text:
        if character == "\t":
            shown.append(" ")
        elif character == "\n" and keep_newlines:
            shown.append(character)
        elif character in _BIDI or unicodedata.category(character) in ("Cc", "Cs", "Co", "Zl", "Zp"):
            shown.append(_REPLACED)
        else:
            shown.append(character)
    return "".join(shown)
