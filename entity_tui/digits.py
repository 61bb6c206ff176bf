"""Whole numbers in a text that a device wrote: a value or None, never an exception."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"-?[0-9]{1,19}\Z")
"""Python refuses to read thousands of digits, and calls `²` a digit that it cannot read: neither is a number here."""


def whole(text: str | None) -> int | None:
    """The integer a word holds, at most 19 digits; None for a missing word and for anything else."""
    return int(text) if text is not None and _WHOLE.match(text) else None
