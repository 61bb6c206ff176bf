"""Tidy rows for tests: a session with known ratios in a known order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from entity_tui.records.schema import UNITS, Metric, Role, Row

SETTINGS: Mapping[str, tuple[int, str]] = {
    "naive": (8, "ff"),
    "naive_aa": (8, "ff"),
    "threads_only": (4, "ff"),
    "optimized": (4, "f0"),
    "efficiency": (4, "f"),
}


def cell(arm: str, block: int, value: float | None, **changes: Any) -> Row:
    """One decode row with its mask read back."""
    threads, mask = SETTINGS.get(arm, (4, "f0"))
    metric = changes.pop("metric", Metric.DECODE_TOK_S)
    unit, better = UNITS[metric]
    row = Row(
        session_id="s",
        metric=metric,
        unit=unit,
        better=better,
        value=value,
        arm=arm,
        block=block,
        position=1,
        attempt=1,
        cell_key=arm,
        role=Role.AA if arm == "naive_aa" else Role.MEASURE,
        phase="decode",
        threads_requested=threads,
        mask_requested=mask,
        mask_applied=mask,
        mask_ok=True,
        variant_loaded="android_armv8.2_1",
    )
    return replace(row, **changes)


def session(arms: Mapping[str, Sequence[float]], **changes: Any) -> list[Row]:
    """Rows of every arm, its values in block order from 1."""
    return [
        cell(arm, block, value, position=place, **changes)
        for place, (arm, values) in enumerate(arms.items(), start=1)
        for block, value in enumerate(values, start=1)
    ]


def scaled(base: Sequence[float], ratio: float, jitter: Sequence[float] = ()) -> list[float]:
    """Another arm's values: base × ratio, with a little noise of its own when given."""
    noise = jitter or [0.0] * len(base)
    return [value * ratio * (1 + extra) for value, extra in zip(base, noise, strict=True)]
