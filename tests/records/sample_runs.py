"""Heads and rows of small runs, for tests of the store and its queries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row

NOW = datetime(2026, 8, 22, 12, 0, tzinfo=UTC)


def info(session_id: str, **changes: Any) -> RunInfo:
    base = RunInfo(
        session_id=session_id,
        started_utc="2026-08-22T10:00:00+00:00",
        state="done",
        device_name="CMF Phone 1",
        model_name="Llama 3.2 1B",
        model_quant="Q4_0",
    )
    return replace(base, **changes)


def rows(session_id: str, **changes: Any) -> list[Row]:
    base = Row(session_id=session_id, metric=Metric.DECODE_TOK_S, unit="tok/s", role=Role.MEASURE, attempt=1)
    return [
        replace(base, arm=arm, block=block, value=value + block / 10, **changes)
        for arm, value in (("naive", 10.0), ("optimized", 17.0))
        for block in (1, 2, 3)
    ]
