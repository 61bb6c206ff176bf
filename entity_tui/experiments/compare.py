"""Compare: is B better than A? Two arms that differ on one axis, in balanced pairs, judged as placement is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmSpec, shipped_arms
from entity_tui.experiments.arms import no_env
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.plan import Plan
from entity_tui.records.schema import Metric

EXPERIMENT = "compare"
BLOCKS = 6
METRICS = {"decode": Metric.DECODE_TOK_S, "prompt": Metric.PROMPT_TOK_S, "ttft": Metric.TTFT_DERIVED_MS}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two things compared. Empty fields keep what the plan's own setting has."""

    name: str
    engine: str = ""
    """Folder of the engine on the device."""
    model: str = ""
    """Path of the GGUF on the device."""
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=no_env)
    arm: str = ""
    """A shipped arm to take threads and placement from."""


def axis_of(one: Side, two: Side) -> Axis:
    """What the two sides differ in. UsageError when they differ in nothing."""
    if one.engine != two.engine:
        return Axis.ENGINE
    if one.model != two.model:
        return Axis.MODEL
    if one.flags != two.flags or dict(one.env) != dict(two.env):
        return Axis.FLAGS
    if one.arm != two.arm:
        return Axis.PLACEMENT
    raise UsageError("both sides are the same", fix="give two --engine, two --model, two --side or two --arm")


def _spec(side: Side, base: str, fallback: str) -> ArmSpec:
    arms = shipped_arms()
    known = arms.get(side.arm or base)
    if known is None:
        raise UsageError(f"no arm is called {side.arm or base}", fix=f"arms: {', '.join(arms)}")
    return replace(
        known,
        arm_id=fallback,
        label=side.name or fallback,
        engine=side.engine,
        model=side.model,
        flags=side.flags,
        env=side.env,
    )


def compare_plan(
    setting: Setting,
    choices: Choices,
    sides: Sequence[Side],
    *,
    metrics: Sequence[str] = ("decode",),
    base: str = "optimized",
) -> Plan:
    """The plan that compares the second side with the first, on each metric named.

    `base` is the shipped arm both take threads and placement from. UsageError for anything but two different sides.
    """
    if len(sides) != 2:
        raise UsageError("a comparison has two sides", fix="name the option twice, the baseline first")
    axis = axis_of(sides[0], sides[1])
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise UsageError(f"no metric is called {unknown[0]}", fix=f"metrics: {', '.join(METRICS)}")
    comparisons = tuple(Comparison("a", "b", str(METRICS[metric]), axis) for metric in metrics)
    design = Design(
        experiment=EXPERIMENT,
        title=f"compare {sides[0].name} with {sides[1].name}",
        specs=(_spec(sides[0], base, "a"), _spec(sides[1], base, "b")),
        blocks=BLOCKS if len(metrics) == 1 else BLOCKS + 1,
        comparisons=comparisons,
        paired=True,
        warmup="a",
    )
    return assemble(design, setting, choices)
