"""Placement: should threads be pinned on this device? The scheduler against the fast cores, in balanced pairs."""

from __future__ import annotations

from dataclasses import replace

from entity_tui.analysis.comparison import Axis
from entity_tui.experiments.arm_specs import shipped_arms
from entity_tui.experiments.build import Choices, Design, Setting, assemble, decode_comparison
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.resolve import configuration, resolve

EXPERIMENT = "placement"
PAIR_BLOCKS = 6
THREE_ARM_BLOCKS = 7
BASELINE = "scheduler"


def placement_plan(setting: Setting, choices: Choices, *, little: bool = False) -> Plan:
    """The placement plan of one device.

    `auto` is left out where its masks and widths are those of `perf_cores`; where they differ it is a third arm with a
    comparison of its own, and the plan has seven blocks instead of six. `little_only` is exploratory and on request.
    UsageError where nothing can be pinned.
    """
    arms = shipped_arms()
    specs = [arms[BASELINE], arms["perf_cores"], arms["auto"]]
    if little:
        specs.append(arms["little_only"])
    ground = setting.ground
    perf, auto = resolve(arms["perf_cores"], ground), resolve(arms["auto"], ground)
    same = configuration(perf) == configuration(auto)
    comparisons = [decode_comparison(BASELINE, "perf_cores", Axis.PLACEMENT)]
    if not same:
        comparisons.append(decode_comparison(BASELINE, "auto", Axis.PLACEMENT))
    design = Design(
        experiment=EXPERIMENT,
        title="placement: scheduler against fast cores",
        specs=tuple(specs),
        blocks=PAIR_BLOCKS if same else THREE_ARM_BLOCKS,
        comparisons=tuple(comparisons),
        paired=True,
        doubles={"auto": "perf_cores"},
        warmup="perf_cores",
    )
    plan = assemble(design, setting, choices)
    if little:
        words = "little_only is exploratory: it is shown and not compared"
        plan = replace(plan, notes=(*plan.notes, words))
    return plan
