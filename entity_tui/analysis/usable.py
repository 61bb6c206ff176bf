"""Which rows count: usable and tainted ones, never a warm-up, and no watts of a charging phone."""

from __future__ import annotations

from entity_tui.records.schema import Metric, Row

HIDDEN_WHILE_CHARGING = frozenset(
    {
        Metric.DECODE_POWER_W,
        Metric.CELL_ENERGY_J,
        Metric.TOKEN_ENERGY_J,
        Metric.DECODE_TOK_PER_W,
        Metric.PASS_POWER_W,
        Metric.PASS_TOK_PER_W,
    }
)
"""Metrics that mean nothing on a charging phone: the flag is the only guard, since the sign of the current is lost."""

UNPLUGGED = frozenset({"discharging", "unplugged", "false", "no", "0"})
"""Charging states that leave power readable. `full` and `not charging` mean that a charger is connected."""


def is_charging(row: Row) -> bool:
    """True when the row says that a charger was connected at any time; an unknown state is not charging."""
    return row.charging_state is not None and row.charging_state.strip().lower() not in UNPLUGGED


def contributes(row: Row) -> bool:
    """True when the row's value takes part in medians and comparisons."""
    return row.countable and not (row.metric in HIDDEN_WHILE_CHARGING and is_charging(row))
