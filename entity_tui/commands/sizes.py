"""Sizes as a user types them: 3.4GiB, 773MB, 98362432."""

from __future__ import annotations

import re

from entity_tui.errors import UsageError

_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12}
_UNITS |= {"tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$", re.I)


def parse_size(text: str) -> int:
    """Whole bytes of a size with a decimal (GB) or binary (GiB) unit, rounded down: 2.2GiB is not over 2.2 GiB.

    Raises UsageError.
    """
    match = _SIZE.match(text)
    unit = match[2].lower() if match else ""
    if match is None or unit not in _UNITS or len(match[1]) > 18:
        raise UsageError(f"{text!r} is not a size.", fix="Write 3.4GiB, 773MB, or a number of bytes.")
    return int(float(match[1]) * _UNITS[unit])
