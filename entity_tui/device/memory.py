"""How much memory a device has and how hard it is pressed, with MemAvailable as the number that counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from entity_tui.device.provenance import no_sources


@dataclass(frozen=True, slots=True)
class Pressure:
    """One line of a PSI file: the share of time, in percent, that tasks waited."""

    kind: str
    """`some` or `full`."""
    avg10_pct: float | None
    avg60_pct: float | None
    avg300_pct: float | None
    total_us: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Sizes in kB as the kernel prints them (1 kB = 1024 bytes); None when the line was not there."""

    total_kb: int | None = None
    available_kb: int | None = None
    free_kb: int | None = None
    cached_kb: int | None = None
    swap_total_kb: int | None = None
    swap_free_kb: int | None = None
    zram_original_bytes: int | None = None
    zram_compressed_bytes: int | None = None
    pressure: tuple[Pressure, ...] = ()
    outcome: str = "absent"
    pressure_outcome: str = "absent"
    page_bytes: int | None = None
    sources: Mapping[str, str] = field(default_factory=no_sources, repr=False)

    @property
    def total_bytes(self) -> int | None:
        """All memory the kernel manages, in bytes."""
        return None if self.total_kb is None else self.total_kb * 1024

    @property
    def available_bytes(self) -> int | None:
        """What a new process could take, in bytes."""
        return None if self.available_kb is None else self.available_kb * 1024
