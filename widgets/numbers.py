"""Numbers as the screens write them: digits by unit, true minus, thin grouping, and a dash where there is none."""

from __future__ import annotations

import math

NONE = "—"
_GIGA = 1_000_000_000


def known(value: float | None) -> bool:
    """True for a number that can be shown: not None, not NaN, not infinite."""
    return value is not None and math.isfinite(value)


def fixed(value: float | None, digits: int) -> str:
    """`value` with `digits` decimals, a true minus, and groups of three from 1 000 on."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{abs(value):,.{digits}f}".replace(",", " ")
    negative = value < 0 and any(c not in "0. " for c in text)
    return f"−{text}" if negative else text


def significant(value: float | None) -> str:
    """Three significant digits, none after the point from 100 on: `6.41`, `18.1`, `506`, `1 048`."""
    if value is None or not math.isfinite(value):
        return NONE
    size = abs(value)
    return fixed(value, 2 if size < 9.995 else 1 if size < 99.95 else 0)


tok_s = significant


def watts(value: float | None) -> str:
    """Watts with two decimals."""
    return fixed(value, 2)


def celsius(value: float | None) -> str:
    """Degrees Celsius with one decimal."""
    return fixed(value, 1)


def percent(value: float | None) -> str:
    """A percentage without decimals; `value` is already in percent."""
    return fixed(value, 0)


def mhz(khz: float | None) -> str:
    """Megahertz without decimals from kilohertz."""
    return NONE if khz is None else fixed(khz / 1_000, 0)


def ghz(khz: float | None) -> str:
    """`2.50 GHz` from kilohertz."""
    return NONE if khz is None else f"{fixed(khz / 1_000_000, 2)} GHz"


def millis(value: float | None) -> str:
    """Milliseconds below ten seconds, else seconds with their unit: `1 048`, `12.3 s`."""
    if value is None or not math.isfinite(value):
        return NONE
    return fixed(value, 0) if value < 10_000 else f"{fixed(value / 1_000, 1)} s"


def short_bytes(size: float | None) -> str:
    """A size for a narrow column, decimal: `773M`, `1.32G`, `12k`."""
    if size is None:
        return NONE
    for unit, scale in (("G", _GIGA), ("M", 1_000_000), ("k", 1_000)):
        if size >= scale:
            value = size / scale
            return f"{value:.3g}{unit}" if value < 999.5 else f"{value:.0f}{unit}"
    return f"{size:.0f}"


def long_bytes(size: float | None) -> str:
    """A size with its decimal unit, three significant digits: `773 MB`, `3.40 GB`."""
    if size is None:
        return NONE
    for unit, scale in (("GB", _GIGA), ("MB", 1_000_000), ("kB", 1_000)):
        if size >= scale:
            return f"{significant(size / scale)} {unit}"
    return f"{size:.0f} B"


def duration(seconds: float | None) -> str:
    """A span in words: `40 s`, `2 m 40 s`, `1 h 05 m`."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02d} m"


def ratio(value: float | None) -> str:
    """A factor: `×1.91`."""
    return NONE if value is None else f"×{fixed(value, 2)}"


def change(fraction: float | None, *, unit: bool = True) -> str:
    """A relative change with its sign: `+0.7 %`, `−64.6 %`; `fraction` 0.007 is 0.7 percent."""
    if fraction is None or not math.isfinite(fraction):
        return NONE
    value = fixed(fraction * 100, 1)
    sign = "" if value.startswith("−") else "+"
    return f"{sign}{value}{' %' if unit else ''}"


def plus_minus(sd: float | None, digits: int) -> str:
    """`±0.3`: the population standard deviation, empty for a single pass; `±<0.1` when it would round to nothing."""
    if sd is None or not math.isfinite(sd):
        return ""
    least = 10.0**-digits
    return f"±<{fixed(least, digits)}" if 0 < sd < least / 2 else f"±{fixed(sd, digits)}"


def digits_like(value: float | None) -> int:
    """How many decimals `significant` would give `value`, so that its deviation gets the same."""
    if value is None or not math.isfinite(value):
        return 1
    size = abs(value)
    return 2 if size < 9.995 else 1 if size < 99.95 else 0
