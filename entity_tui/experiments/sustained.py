"""Sustained: what is left after minutes? Decode back to back, read in windows of 30 seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmSpec, shipped_arms
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.plan import Gate, Plan
from entity_tui.experiments.sustained_rows import BURST, FALL, RETAINED, STEADY, SUSTAINED
from entity_tui.records.schema import Row

EXPERIMENT = SUSTAINED
MINUTES = (2, 5, 10)
LAUNCH_AIM_S = 30.0
"""What one launch should take: as long as a window, so that loading the model is a small part of it."""


def sustained_plan(
    setting: Setting, choices: Choices, *, minutes: float, decode_tok_s: float, specs: Sequence[ArmSpec] = ()
) -> Plan:
    """Each arm once, from a cool start, for about `minutes` of decoding at the speed measured beforehand.

    Nothing waits inside an arm. The number of launches is decided here, so a device that slows down takes longer.
    UsageError for a speed or a time that is not positive.
    """
    if minutes <= 0 or decode_tok_s <= 0:
        raise UsageError("a sustained run needs minutes and a speed above 0")
    arms = shipped_arms()
    n_gen = choices.n_gen or 128
    repetitions = max(1, round(LAUNCH_AIM_S * decode_tok_s / n_gen))
    launches = max(1, math.ceil(60.0 * minutes * decode_tok_s / (repetitions * n_gen)))
    design = Design(
        experiment=EXPERIMENT,
        title=f"sustained, {minutes:g} minutes an arm",
        specs=tuple(specs) or (arms["threads_only"], arms["optimized"]),
        blocks=1,
        verdicts=False,
        gate=Gate(sensorless_dwell_s=60.0),
        options={"launches": str(launches), "minutes": f"{minutes:g}"},
    )
    return assemble(design, setting, replace(choices, n_prompt=0, n_gen=n_gen, repetitions=repetitions))


def lasting(rows: Sequence[Row]) -> tuple[tuple[str, dict[str, float | None]], ...]:
    """(arm, burst, steady, retained and time to 90 % by metric name) of every arm, in order of the rows."""
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row.arm and row.metric in (BURST, STEADY, RETAINED, FALL) and row.role != "warmup":
            found.setdefault(row.arm, {})[row.metric] = row.value
    return tuple(found.items())


def sentence(arm: str, values: dict[str, float | None]) -> str:
    """One arm's lasting in words."""
    burst, steady, retained, fall = (values.get(name) for name in (BURST, STEADY, RETAINED, FALL))
    if burst is None or steady is None or retained is None:
        return f"{arm}: no usable window."
    when = "it never fell below 90 % for good" if fall is None else f"below 90 % for good after {fall:.0f} s"
    return f"{arm}: {burst:.3g} tok/s at first, {steady:.3g} steady, {100 * retained:.0f} % retained; {when}."
