"""Plain numbers in a text that a device wrote: a value or None, never an exception."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"-?[0-9]{1,19}\Z")
"""Python refuses to read thousands of digits, and calls `²` a digit that it cannot read: neither is a number here."""

_DECIMAL = re.compile(r"-?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\Z")


def whole(text: str | None) -> int | None:
    """The integer a word holds, at most 19 digits; None for a missing word and for anything else."""
    return int(text) if text is not None and _WHOLE.match(text) else None


def decimal(text: str | None) -> float | None:
    """The decimal number a word holds, without an exponent; None for a missing word and for anything else."""
    return float(text) if text is not None and _DECIMAL.match(text) else None
