"""What happened beside a cell that ended well: a charger that moved, a screen that lit up, a phone that slept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entity_tui.engine.bench_output import OK
from entity_tui.experiments.cell_power import CellPower
from entity_tui.experiments.judge import PhaseResult
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.surroundings import Surroundings
from entity_tui.records.journal_events import CellEvent
from entity_tui.records.schema import Role, Row

LONGEST_HOLE_S = 60.0
"""A hole in the recorder's lines strictly longer than this is a phone that slept (LITTLETai's calibrated limit)."""
CLOCK_SLACK = 1.05
CLOCK_SLACK_S = 1.0


def outcome_beside(
    plan: Plan, event: CellEvent, phases: Sequence[PhaseResult], power: CellPower, around: Surroundings
) -> tuple[str, str]:
    """(state, detail) of a cell whose launches all ended well: `ok`, or what else happened while they ran.

    Post-treatment facts come first: a phone that slept has no number, whatever else is true.
    """
    if power.longest_hole_s is not None and power.longest_hole_s > LONGEST_HOLE_S:
        return "suspended", f"no reading for {power.longest_hole_s:.0f} s inside the cell"
    for launch, result in zip(event.launches, phases, strict=True):
        counted = result.result or result.measure
        seconds = counted.seconds if counted is not None else None
        length = launch.t_end_s - launch.t_start_s
        if seconds is not None and length > 0 and seconds > length * CLOCK_SLACK + CLOCK_SLACK_S:
            return "clock_jump", f"the engine counted {seconds:.1f} s in a launch of {length:.1f} s"
    if power.throttled or around.caps_lowered:
        return "throttled", "; ".join(word for word in (power.throttled, around.caps_lowered) if word)
    if power.charging_changed or around.charging_changed:
        return "charging_changed", around.charging_changed or power.charging
    if around.screen_changed:
        return "screen_changed", around.screen_changed
    if event.foreign:
        return "foreign_load", f"another engine ran beside it: {', '.join(event.foreign)}"
    if event.role == Role.WARMUP:
        return OK, ""
    if around.foreign_cpu_pct is not None and around.foreign_cpu_pct > plan.limits.foreign_cpu_pct:
        return "foreign_load", f"other processes used {around.foreign_cpu_pct:.0f} % of a core"
    return OK, ""


def with_surroundings(row: Row, around: Surroundings) -> Row:
    """The row with what the looks around its cell say; the recorder's own readings inside the cell win."""
    return replace(
        row,
        thermal_status_max=around.thermal_status_max,
        charging_state=row.charging_state or around.charging_state or None,
        battery_pct=around.battery_pct,
        foreign_cpu_pct=around.foreign_cpu_pct,
        mem_available_mb=around.mem_available_mb,
        screen_state=around.screen_state or None,
    )
