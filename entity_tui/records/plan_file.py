"""What a stored plan.json declared, read back without the code that made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.errors import UsageError


@dataclass(frozen=True, slots=True)
class Declared:
    """The part of a plan that judges its rows. An empty plan declares nothing and promises no verdict."""

    comparisons: tuple[Comparison, ...] = ()
    rules: Rules = field(default_factory=lambda: Rules(verdicts=False))
    predicates: tuple[str, ...] = ()
    title: str = ""
    experiment: str = ""
    blocks: int | None = None
    seed: int | None = None


def declared(text: str) -> Declared:
    """What a plan's JSON text declares; empty text declares nothing. UsageError for text that is not a plan."""
    if not text.strip():
        return Declared()
    try:
        plan = json.loads(text)
        if not isinstance(plan, dict):
            raise ValueError("not an object")
        return Declared(
            comparisons=tuple(_comparison(item) for item in plan.get("comparisons") or ()),
            rules=_rules(plan),
            predicates=tuple(str(name) for name in plan.get("exclude") or ()),
            title=str(plan.get("title", "")),
            experiment=str(plan.get("experiment", "")),
            blocks=_whole(plan.get("blocks")),
            seed=_whole(plan.get("seed")),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            "plan.json cannot be read", detail=str(error), fix="the run was written by another version"
        ) from error


def _comparison(item: Mapping[str, Any]) -> Comparison:
    return Comparison(
        baseline=str(item["baseline"]),
        treatment=str(item["treatment"]),
        metric=str(item.get("metric", "decode_tok_s")),
        axis=Axis(item.get("axis", Axis.PLACEMENT)),
        expect=str(item.get("expect", "")),
    )


def _rules(plan: Mapping[str, Any]) -> Rules:
    given = plan.get("rules") or {}
    known = {item.name for item in fields(Rules)}
    values = {name: value for name, value in given.items() if name in known}
    values.setdefault("planned_blocks", _whole(plan.get("blocks")))
    values.setdefault("verdicts", plan.get("protocol", "blocks") == "blocks")
    return Rules(**values)


def _whole(value: Any) -> int | None:
    return int(value) if value is not None else None
