"""The kernel's ways to write a set of CPUs as text, read without ever raising and without losing what was wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIGHEST_CPU = 1023
"""The largest CPU number believed; Linux builds for arm64 stop at 511. Larger ones are noise."""

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?\Z")


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """`0-3,8` or `0 1 2` as sorted distinct CPU numbers.

    Separators are commas, blanks and line ends. An empty text is the empty set (that is what `offline` reads when
    nothing is off). A word that is no list (an error message, a descending range, a number beyond 1023) gives None.
    """
    cpus: set[int] = set()
    for word in text.replace(",", " ").replace("\0", " ").split():
        match = _RANGE.match(word)
        if match is None:
            return None
        first = int(match.group(1))
        last = int(match.group(2)) if match.group(2) is not None else first
        if last < first or last > HIGHEST_CPU:
            return None
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Sorted CPU numbers in the kernel's own form: `0-3,8`; empty for none."""
    parts: list[str] = []
    run: list[int] = []
    for cpu in [*sorted(set(cpus)), -1]:
        if run and cpu == run[-1] + 1:
            run.append(cpu)
            continue
        if run:
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
        run = [cpu]
    return ",".join(parts)


def parse_mask(text: str) -> tuple[int, ...] | None:
    """A hexadecimal CPU mask (`f0`, `0xF0`, `00000000,000000f0`) as CPU numbers; None when it is not one."""
    digits = text.strip().lower().removeprefix("0x").replace(",", "")
    if not digits or len(digits) > (HIGHEST_CPU + 1) // 4 or re.fullmatch(r"[0-9a-f]+", digits) is None:
        return None
    value = int(digits, 16)
    return tuple(bit for bit in range(value.bit_length()) if value >> bit & 1)


def format_mask(cpus: Iterable[int]) -> str:
    """CPU numbers as bare lower-case hex for `taskset`: `{4,5,6,7}` gives `f0`; no CPU gives `0`."""
    return f"{sum(1 << cpu for cpu in set(cpus)):x}"
