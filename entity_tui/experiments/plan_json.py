"""A stored plan, read back whole: a run that was left is collected with exactly the plan it was started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.errors import UsageError
from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.experiments.plan import EngineRef, Gate, Limits, ModelRef, Plan, PlannedCell, Protocol


def read_plan(text: str) -> Plan:
    """The plan in a plan.json. UsageError when it is none, or one of another version."""
    try:
        item = json.loads(text)
        values = {field.name: item[field.name] for field in fields(Plan) if field.name in item}
        values.update(
            protocol=Protocol(item["protocol"]),
            arms=tuple(_arm(row) for row in item["arms"]),
            cells=tuple(PlannedCell(**row) for row in item["cells"]),
            comparisons=tuple(Comparison(**{**row, "axis": Axis(row["axis"])}) for row in item["comparisons"]),
            rules=Rules(**item["rules"]),
            gate=Gate(**item["gate"]),
            limits=Limits(**item["limits"]),
            engine=EngineRef(**{**item["engine"], "variants": tuple(item["engine"]["variants"])}),
            model=ModelRef(**item["model"]),
            online=tuple(item["online"]),
            exclude=tuple(item["exclude"]),
            notes=tuple(item["notes"]),
            options=None if item.get("options") is None else MappingProxyType(dict(item["options"])),
        )
        return Plan(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            "the stored plan cannot be read", detail=str(error), fix="the run was written by another version"
        ) from error


def _setting(row: Mapping[str, Any]) -> PhaseSetting:
    return PhaseSetting(int(row["threads"]), None if row["mask"] is None else frozenset(row["mask"]))


def _arm(row: Mapping[str, Any]) -> Arm:
    return Arm(
        **{
            **row,
            "prefill": _setting(row["prefill"]),
            "decode": _setting(row["decode"]),
            "flags": tuple(row["flags"]),
            "env": MappingProxyType(dict(row["env"])),
            "command": tuple(row["command"]),
            "marks": tuple(row["marks"]),
        }
    )
