"""Results of other people's tools, typed in by hand: shown with their source, never analysed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from entity_tui.errors import UsageError
from entity_tui.records.export import read_csv, write_csv
from entity_tui.records.run_directory import EXTERNAL_FILE, RunDirectory

HEADER = ("label", "value", "unit", "source", "typed_utc")


@dataclass(frozen=True, slots=True)
class ExternalResult:
    """One number from elsewhere. `typed_utc` is when it was typed in, ISO 8601."""

    label: str
    value: float
    unit: str
    source: str
    typed_utc: str


def add_external(run: RunDirectory, result: ExternalResult) -> None:
    """Add a result to a run's file. UsageError without a label, a source or a finite value."""
    if not result.label.strip() or not result.source.strip():
        raise UsageError("a result typed by hand needs a label and a source", fix="--source 'their screen, 22 August'")
    if not math.isfinite(result.value):
        raise UsageError("the value is not a number", detail=str(result.value))
    lines = [*external_results(run), result]
    cells = ([item.label, repr(item.value), item.unit, item.source, item.typed_utc] for item in lines)
    run.write_file(EXTERNAL_FILE, write_csv(HEADER, cells))


def external_results(run: RunDirectory) -> tuple[ExternalResult, ...]:
    """The results typed in beside a run, oldest first. UsageError when the file was edited into nonsense."""
    _, lines = read_csv(run.text(EXTERNAL_FILE))
    try:
        return tuple(
            ExternalResult(line["label"], float(line["value"]), line["unit"], line["source"], line["typed_utc"])
            for line in lines
        )
    except (KeyError, ValueError) as error:
        raise UsageError(f"{EXTERNAL_FILE} cannot be read", detail=str(error)) from error
