"""Which cells may be left out, decided before the run: facts from before the treatment only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from entity_tui.errors import UsageError
from entity_tui.records.schema import Role, Row, Usability

FAILED_BY_THE_ARM = frozenset({"killed_oom", "crashed_sigill", "crashed_segv", "timeout", "safety_stop"})
"""Outcomes of the arm that leave no number. In a comparison such a cell counts as the worst value there is."""

BEFORE_TREATMENT = frozenset(
    {
        "gate_timeout",
        "gate_unavailable",
        "charging_changed",
        "screen_changed",
        "link_lost",
        "device_rebooted",
        "boot_mismatch",
        "foreign_load",
        "low_battery",
        "core_offline",
    }
)
"""States an exclusion predicate may name: none of them can be caused by what the arm does."""

AFTER_TREATMENT = FAILED_BY_THE_ARM | {"throttled"}
"""Outcomes of an arm. Leaving them out would delete the cost of the arm that caused them, so no predicate may."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """How many cells of an arm a predicate left out."""

    arm: str
    predicate: str
    cells: int


def check_predicates(names: Iterable[str]) -> tuple[str, ...]:
    """The names, sorted, when every one may exclude a cell.

    Raises UsageError for an outcome of the arm (throttled, killed, crashed) and for an unknown name.
    """
    wanted = tuple(sorted(set(names)))
    for name in wanted:
        if name in AFTER_TREATMENT:
            raise UsageError(
                f"{name} cannot exclude a cell",
                detail="it is an outcome of the arm: leaving it out would hide what the arm costs",
                fix=f"exclude only facts from before the cell: {', '.join(sorted(BEFORE_TREATMENT))}",
            )
        if name not in BEFORE_TREATMENT:
            raise UsageError(
                f"there is no predicate {name}", fix=f"known predicates: {', '.join(sorted(BEFORE_TREATMENT))}"
            )
    return wanted


def exclude(rows: Sequence[Row], predicates: Iterable[str]) -> tuple[Row, ...]:
    """The rows with `excluded_by` set where a predicate of the plan holds; no row is removed.

    A row that carries a reason already keeps it. Raises UsageError as `check_predicates`.
    """
    names = frozenset(check_predicates(predicates))
    return tuple(
        replace(row, excluded_by=row.state) if row.state in names and not row.excluded_by else row for row in rows
    )


def exclusions(rows: Iterable[Row]) -> tuple[Excluded, ...]:
    """What was left out, by arm and predicate, in the order of the rows."""
    cells: dict[tuple[str, str], set[tuple[object, ...]]] = {}
    for row in rows:
        if row.excluded_by:
            key = (row.arm or "", row.excluded_by)
            cells.setdefault(key, set()).add((row.block, row.position, row.attempt))
    return tuple(Excluded(arm, predicate, len(found)) for (arm, predicate), found in cells.items())


def outcomes(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Cells by arm and state, warm-up left out: what a table prints beside the medians."""
    seen: dict[tuple[object, ...], tuple[str, str]] = {}
    for row in rows:
        if row.role != Role.WARMUP and row.arm:
            seen[(row.arm, row.block, row.position, row.attempt)] = (row.arm, row.state)
    counts: dict[str, dict[str, int]] = {}
    for arm, state in seen.values():
        of_arm = counts.setdefault(arm, {})
        of_arm[state] = of_arm.get(state, 0) + 1
    return counts


def failed_by_the_arm(row: Row) -> bool:
    """True when the cell ended without a number because of what the arm did."""
    return row.usability == Usability.VOID and row.state in FAILED_BY_THE_ARM and row.role != Role.WARMUP
