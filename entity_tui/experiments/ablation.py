"""Ablation: which change makes this device faster? Threads and masks taken apart, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmFile, ArmSpec, shipped_arms
from entity_tui.experiments.build import Choices, Design
from entity_tui.experiments.plan import Gate, Protocol
from entity_tui.records.schema import Metric

EXPERIMENT = "ablation"
RUN_COUNTS = (1, 3, 5)


@cache
def shipped_plans() -> Mapping[str, Any]:
    """The table of presets, as written in plans.yaml."""
    import yaml

    loaded: Mapping[str, Any] = yaml.safe_load(
        resources.files("entity_tui.profiles").joinpath("plans.yaml").read_text(encoding="utf-8")
    )
    return loaded


def preset_names() -> tuple[str, ...]:
    """quick, standard, full, overnight."""
    return tuple(shipped_plans()["presets"])


def read_comparisons(rows: Sequence[Any], where: str) -> tuple[Comparison, ...]:
    """Declared comparisons from YAML rows. UsageError for a row without both arms or with an unknown axis."""
    found: list[Comparison] = []
    for row in rows:
        try:
            found.append(
                Comparison(
                    baseline=str(row["baseline"]),
                    treatment=str(row["treatment"]),
                    metric=str(row.get("metric", Metric.DECODE_TOK_S)),
                    axis=Axis(row.get("axis", "placement")),
                    expect=str(row.get("expect", "")),
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"a comparison in {where} cannot be read",
                detail=f"{row!r}: {error}",
                fix="write {baseline: naive, treatment: optimized, axis: placement}",
            ) from error
    return tuple(found)


def design_preset(name: str) -> Design:
    """The ablation of one preset. UsageError for an unknown one."""
    row = shipped_plans()["presets"].get(name)
    if row is None:
        raise UsageError(f"no preset is called {name}", fix=f"presets: {', '.join(preset_names())}")
    arms = shipped_arms()
    return Design(
        experiment=EXPERIMENT,
        title=row["title"],
        preset=name,
        specs=tuple(arms[arm] for arm in row["arms"]),
        blocks=row["blocks"],
        sessions=row.get("sessions", 1),
        comparisons=read_comparisons(row["comparisons"], "plans.yaml"),
        verdicts=row["verdicts"],
    )


def design_runs(runs: int, specs: Sequence[ArmSpec] = ()) -> Design:
    """The seeds' protocol: 1, 3 or 5 runs of each arm, their cooldown, medians, no verdict."""
    if runs not in RUN_COUNTS:
        raise UsageError(f"--runs {runs}", fix="the seeds' protocol has 1, 3 or 5 runs; --blocks takes any number")
    row = shipped_plans()["runs"]
    arms = shipped_arms()
    return Design(
        experiment=EXPERIMENT,
        title=row["title"],
        preset=f"runs {runs}",
        specs=tuple(specs) or tuple(arms[arm] for arm in row["arms"]),
        blocks=runs,
        protocol=Protocol.RUNS,
        verdicts=False,
        gate=Gate(run_on_timeout=True, sensorless_dwell_s=15.0),
    )


def design_file(file: ArmFile, base: Design) -> Design:
    """`base` with the arms of a user's own file, and with its comparisons, blocks and title where it has them."""
    from dataclasses import replace

    known = {"blocks", "comparisons", "title", "gate", "prompt", "generate", "margins", "limits", "seed", "exclude"}
    unknown = set(file.plan) - known
    if unknown:
        raise UsageError(
            f"{file.source}: unknown key {sorted(unknown)[0]}", fix=f"known: arms, {', '.join(sorted(known))}"
        )
    arms = set(file.arms)
    if "comparisons" in file.plan:
        comparisons = read_comparisons(file.plan["comparisons"] or (), file.source)
        for item in comparisons:
            for name in (item.baseline, item.treatment):
                if name not in arms:
                    raise UsageError(f"{file.source} compares {name}, which is not one of its arms")
    else:
        comparisons = tuple(item for item in base.comparisons if {item.baseline, item.treatment} <= arms)
    blocks = file.plan.get("blocks", base.blocks)
    if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1:
        raise UsageError(f"{file.source}: blocks is a number above 0")
    return replace(
        base,
        specs=tuple(file.arms.values()),
        comparisons=comparisons,
        blocks=blocks if base.protocol is Protocol.BLOCKS else base.blocks,
        title=str(file.plan.get("title", base.title)),
    )


def file_choices(file: ArmFile, choices: Choices) -> Choices:
    """What a user's file says about the plan, where the command line did not say it already."""
    from dataclasses import replace

    def number(key: str) -> int | None:
        value = file.plan.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UsageError(f"{file.source}: {key} is a number above 0")
        return value

    margins = file.plan.get("margins") or {}
    return replace(
        choices,
        n_prompt=choices.n_prompt if choices.n_prompt is not None else number("prompt"),
        n_gen=choices.n_gen if choices.n_gen is not None else number("generate"),
        seed=choices.seed if choices.seed is not None else file.plan.get("seed"),
        gate={**dict(file.plan.get("gate") or {}), **choices.gate},
        limits={**dict(file.plan.get("limits") or {}), **choices.limits},
        worth_margin=choices.worth_margin if choices.worth_margin is not None else margins.get("worth_having"),
        equivalent_margin=(
            choices.equivalent_margin if choices.equivalent_margin is not None else margins.get("equivalent")
        ),
        exclude=choices.exclude or tuple(file.plan.get("exclude") or ()),
    )
