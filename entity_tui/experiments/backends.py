"""Backends: CPU or GPU? The CPU arm has to prove that it is one, because a registered GPU takes work unasked."""

from __future__ import annotations

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.plan import Plan
from entity_tui.records.schema import Metric

EXPERIMENT = "backends"
BLOCKS = 7


def backends_plan(setting: Setting, choices: Choices) -> Plan:
    """`-dev none` against everything on the GPU; the GPU arm is listed with its reason where the engine has none."""
    has_gpu = bool(setting.cpu_flags)
    specs = (
        ArmSpec("cpu", "CPU alone", placement="fastest", flags=("-dev", "none")),
        ArmSpec(
            "gpu",
            "GPU, all layers",
            placement="fastest",
            flags=("-dev", "auto", "-ngl", "99"),
            incapable="" if has_gpu else "this engine has no GPU backend among its files",
        ),
    )
    metrics = (str(Metric.DECODE_TOK_S), str(Metric.PROMPT_TOK_S))
    design = Design(
        experiment=EXPERIMENT,
        title="backends: CPU against GPU",
        specs=specs,
        blocks=BLOCKS,
        comparisons=tuple(Comparison("cpu", "gpu", metric, Axis.FLAGS) for metric in metrics),
        paired=True,
        warmup="cpu",
    )
    return assemble(design, setting, choices)
