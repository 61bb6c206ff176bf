"""What the kernel's own readback says about a comparison: equal masks void it, missing ones take its verdict away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Row

SAME_RUN_COLUMNS = (
    "engine",
    "engine_build",
    "model_sha256",
    "model_name",
    "variant_requested",
    "threads_requested",
    "mask_applied",
)
"""What has to be equal for two arms to have run the same thing; flags are known to the comparison's axis only."""


@dataclass(frozen=True, slots=True)
class PlacementCheck:
    """`void`: why the two arms cannot be compared; `against`: why their verdict is taken away. Both may be empty."""

    void: str = ""
    against: str = ""


def check_placement(rows: Sequence[Row], comparison: Comparison) -> PlacementCheck:
    """Judge one comparison by what the launches behind its numbers report about themselves."""
    baseline = _launches(rows, comparison.baseline, comparison.metric)
    treatment = _launches(rows, comparison.treatment, comparison.metric)
    if not baseline or not treatment:
        return PlacementCheck()
    both = [*baseline, *treatment]
    if len({row.simulated for row in both}) > 1:
        return PlacementCheck(void="one arm is simulated, the other is real")
    if len({row.launch_context for row in both if row.launch_context}) > 1:
        return PlacementCheck(void="the arms were launched from different contexts (an app's cgroup, a shell)")
    if comparison.axis in (Axis.PLACEMENT, Axis.THREADS) and _ran_the_same(baseline, treatment):
        mask, threads = baseline[0].mask_applied, baseline[0].threads_requested
        return PlacementCheck(void=f"both arms ran {threads} threads on mask {mask}: the change never happened")
    return PlacementCheck(against=_against(both))


def _launches(rows: Sequence[Row], arm: str, metric: str) -> list[Row]:
    """The rows that tell how an arm was launched for a metric.

    A rate's own rows do. A number of the whole cell, or of its power, has none; then the rates of the same phase (or of
    both phases) of the arm's cells speak for it.
    """
    mine = [row for row in rows if row.arm == arm and contributes(row)]
    own = [row for row in mine if row.metric == metric]
    told = [row for row in own if row.threads_requested is not None]
    if told or not own:
        return told or own
    phases = {row.phase for row in own}
    placed = [row for row in mine if row.threads_requested is not None]
    return [row for row in placed if row.phase in phases] or placed or own


def _ran_the_same(baseline: Sequence[Row], treatment: Sequence[Row]) -> bool:
    """True when every phase of both arms had one setting, read back, and it is the same one."""
    if any(row.mask_applied is None for row in (*baseline, *treatment)):
        return False
    one = {(row.phase, *(getattr(row, name) for name in SAME_RUN_COLUMNS)) for row in baseline}
    two = {(row.phase, *(getattr(row, name) for name in SAME_RUN_COLUMNS)) for row in treatment}
    return one == two and len(one) == len({row.phase for row in baseline})


def _against(rows: Sequence[Row]) -> str:
    unread = sum(1 for row in rows if row.mask_ok is None)
    if unread:
        return f"the mask of {unread} of {len(rows)} launches was not read back"
    for arm in dict.fromkeys(row.arm for row in rows):
        variants = {row.variant_loaded for row in rows if row.arm == arm and row.variant_loaded}
        if len(variants) > 1:
            return f"the CPU variant of {arm} changed during the session: {', '.join(sorted(variants))}"
    return ""
