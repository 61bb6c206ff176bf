"""LITTLETai's telemetry tables: a header of column names, empty cells for what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.numbers import decimal
from entity_tui.device.power_units import GaugeSample, voltage_mv


@dataclass(frozen=True, slots=True)
class TelemetryTable:
    """Columns of equal length; an empty cell is None. `skipped` counts lines that did not fit the header."""

    columns: Mapping[str, tuple[float | None, ...]]
    skipped: int = 0

    @property
    def times_s(self) -> tuple[float | None, ...]:
        """The device's boot clock, seconds."""
        return self.columns.get("boottime_s", ())

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a single reading."""
        return tuple(name for name, values in self.columns.items() if values and all(v is None for v in values))

    def gauge(self, *, plugged: bool | None, loaded: bool | None) -> tuple[GaugeSample, ...]:
        """The battery's readings; the table does not say whether the phone was plugged or loaded, the caller does."""

        def whole(value: float | None) -> int | None:
            return None if value is None else round(value)

        rows = zip(
            self.times_s,
            self.columns.get("current_now", ()),
            self.columns.get("voltage_now", ()),
            self.columns.get("charge_counter", ()),
            strict=False,
        )
        return tuple(
            GaugeSample(t, whole(current), voltage_mv(whole(volts))[0], whole(counter), plugged, loaded)
            for t, current, volts, counter in rows
            if t is not None
        )


def parse_telemetry_table(text: str) -> TelemetryTable:
    """Read the table; a cut last line is skipped and counted."""
    lines = text.splitlines()
    names = lines[0].split(",") if lines else []
    if len(names) < 2 or names[0] != "boottime_s":
        return TelemetryTable(MappingProxyType({}))
    columns: dict[str, list[float | None]] = {name: [] for name in names}
    skipped = 0
    for line in lines[1:]:
        cells = line.split(",")
        if len(cells) != len(names):
            skipped += bool(line.strip())
            continue
        for name, cell in zip(names, cells, strict=True):
            columns[name].append(decimal(cell))
    return TelemetryTable(MappingProxyType({name: tuple(values) for name, values in columns.items()}), skipped)
