"""Numbers out of device text: a value or None, never an exception and never a made-up 0."""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[+-]?\d{1,19}\Z")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,19}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,2})?\Z")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}\Z")


def integer(text: str) -> int | None:
    """A whole ASCII decimal number with nothing around it but blanks; None for anything else."""
    word = text.strip()
    return int(word) if word.isascii() and _INTEGER.match(word) else None


def positive(text: str) -> int | None:
    """An integer above 0: frequencies, capacities and sizes that read 0 are unknown, not zero."""
    value = integer(text)
    return value if value is not None and value > 0 else None


def decimal(text: str) -> float | None:
    """A finite decimal number; `NaN`, `Infinity` and words give None."""
    word = text.strip()
    if not word.isascii() or _DECIMAL.match(word) is None:
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def hexadecimal(text: str) -> int | None:
    """`0xd41` or `d41` as a number; None for anything else."""
    word = text.strip()
    return int(word, 16) if word.isascii() and _HEX.match(word) else None
