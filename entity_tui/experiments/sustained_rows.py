"""Rows of a sustained cell: burst, steady, what is retained, and when the rate first fell for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entity_tui.analysis.sustained import retention
from entity_tui.experiments.judge import PhaseResult
from entity_tui.records.journal_events import LaunchEnd
from entity_tui.records.schema import Better, Phase, Row

SUSTAINED = "sustained"
PASS_METRIC = "pass_tok_s"
BURST, STEADY, RETAINED, FALL = "burst_tok_s", "steady_tok_s", "retained", "time_to_90_pct_s"


def passes(
    phases: Sequence[tuple[LaunchEnd, PhaseResult]],
) -> tuple[list[float], list[float], list[int]]:
    """(starts, ends, tokens) of every repetition, on the device clock: they end one after the other with the launch."""
    starts: list[float] = []
    ends: list[float] = []
    tokens: list[int] = []
    for launch, phase in phases:
        if phase.result is None:
            continue
        lengths = [sample / 1e9 for sample in phase.result.samples_ns]
        at = launch.t_end_s - sum(lengths)
        for length in lengths:
            starts.append(at)
            ends.append(at + length)
            tokens.append(phase.result.tokens)
            at += length
    return starts, ends, tokens


def retention_rows(base: Row, phases: Sequence[tuple[LaunchEnd, PhaseResult]]) -> tuple[Row, ...]:
    """What the cell says about lasting; nothing without a usable pass. A rate that never fell has an empty time."""
    found = retention(*passes(phases))
    if found is None:
        return ()
    row = replace(base, phase=Phase.CELL)
    higher, lower = Better.HIGHER, Better.LOWER
    return (
        replace(row, metric=BURST, value=found.burst, unit="tok/s", better=higher),
        replace(row, metric=STEADY, value=found.steady, unit="tok/s", better=higher),
        replace(row, metric=RETAINED, value=found.retained, unit="", better=higher),
        replace(
            row, metric=FALL, value=found.to_90_s, unit="s", better=Better.NEITHER if found.to_90_s is None else lower
        ),
    )
