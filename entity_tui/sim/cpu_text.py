"""How a kernel writes sets of cores: lists like `0-3,7` and masks like `f0`."""

from __future__ import annotations

from collections.abc import Iterable


def cpu_list(cpus: Iterable[int]) -> str:
    """`0-3,7` for the cores; empty for none."""
    parts: list[str] = []
    run: list[int] = []
    for cpu in [*sorted(set(cpus)), None]:
        if run and (cpu is None or cpu != run[-1] + 1):
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
        if cpu is not None:
            run.append(cpu)
    return ",".join(parts)


def cpu_mask(cpus: Iterable[int]) -> str:
    """`f0` for cores 4 to 7, in comma-separated groups of 32 bits above that, as /proc/PID/status has it."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = []
    while True:
        groups.append(bits & 0xFFFFFFFF)
        bits >>= 32
        if not bits:
            break
    first, *rest = reversed(groups)
    return ",".join([f"{first:x}", *(f"{group:08x}" for group in rest)])


def cpus_of_mask(text: str) -> tuple[int, ...]:
    """The cores of a bare hexadecimal mask. Raises ValueError."""
    bits = int(text.replace(",", ""), 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
