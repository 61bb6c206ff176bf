"""Kernels: what do repacked weights and KleidiAI earn, on this device and this file?"""

from __future__ import annotations

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.plan import Plan
from entity_tui.records.schema import Metric

EXPERIMENT = "kernels"
BLOCKS = 7


def kernels_plan(setting: Setting, choices: Choices, *, kleidiai: str = "") -> Plan:
    """Repack off against on, on decode and prompt; a KleidiAI build as a third arm where one is named.

    Without one the plan says that this engine cannot show it: the official builds are made without KleidiAI.
    """
    specs = [
        ArmSpec("repack_off", "repack off", placement="fastest", flags=("--repack", "0")),
        ArmSpec("repack_on", "repack on", placement="fastest", flags=("--repack", "1")),
        ArmSpec(
            "kleidiai",
            "KleidiAI build",
            placement="fastest",
            engine=kleidiai,
            incapable="" if kleidiai else "no KleidiAI build was named (--kleidiai ENGINE); official builds have none",
        ),
    ]
    metrics = (str(Metric.DECODE_TOK_S), str(Metric.PROMPT_TOK_S))
    comparisons = [Comparison("repack_off", "repack_on", metric, Axis.FLAGS) for metric in metrics]
    if kleidiai:
        comparisons += [Comparison("repack_on", "kleidiai", metric, Axis.ENGINE) for metric in metrics]
    design = Design(
        experiment=EXPERIMENT,
        title="kernels: repack and KleidiAI",
        specs=tuple(specs),
        blocks=BLOCKS if not kleidiai else BLOCKS + 1,
        comparisons=tuple(comparisons),
        warmup="repack_on",
    )
    return assemble(design, setting, choices)
