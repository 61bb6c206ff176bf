"""Sweep: which decode width? Every width pinned and not; the winner is confirmed before it is called best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entity_tui.analysis.comparison import Axis
from entity_tui.analysis.summary import summarise
from entity_tui.analysis.usable import contributes
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.build import Choices, Design, Setting, assemble, decode_comparison
from entity_tui.experiments.plan import Plan
from entity_tui.records.schema import Metric, Row
from entity_tui.silicon.widths import widths

EXPERIMENT = "sweep"
BLOCKS = 3
CONFIRM_BLOCKS = 6


def sweep_specs(setting: Setting) -> tuple[ArmSpec, ...]:
    """({2, 4, 6, 8} and the automatic width, as far as there are cores), each pinned to the fastest and not."""
    found: list[ArmSpec] = []
    for width in widths(setting.facts.topology).sweep:
        for suffix, placement in (("pinned", "fastest"), ("nopin", "all")):
            name = f"sweep_t{width}_{suffix}"
            found.append(ArmSpec(name, f"{width} threads, {suffix}", threads=str(width), placement=placement))
    return tuple(found)


def sweep_plan(setting: Setting, choices: Choices) -> Plan:
    """A descriptive plan of all widths on decode alone."""
    design = Design(
        experiment=EXPERIMENT,
        title="sweep of decode widths, descriptive",
        specs=sweep_specs(setting),
        blocks=BLOCKS,
        verdicts=False,
        warmup="",
    )
    return assemble(design, setting, replace(choices, n_prompt=choices.n_prompt or 0))


def ranking(rows: Sequence[Row]) -> tuple[tuple[str, float], ...]:
    """(arm, decode median) of every arm with a usable cell, fastest first."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.metric == Metric.DECODE_TOK_S and contributes(row) and row.arm and row.value is not None:
            values.setdefault(row.arm, []).append(row.value)
    medians = [(arm, found.median) for arm, numbers in values.items() if (found := summarise(numbers)) is not None]
    return tuple(sorted(medians, key=lambda item: (-item[1], item[0])))


def confirm_plan(setting: Setting, choices: Choices, winner: str, other: str) -> Plan:
    """A fresh plan of two arms: the sweep's winner against `other`. Its blocks share nothing with the sweep's."""
    specs = {spec.arm_id: spec for spec in sweep_specs(setting)}
    design = Design(
        experiment=EXPERIMENT,
        title=f"confirm {winner} against {other}",
        specs=(specs[other], specs[winner]),
        blocks=CONFIRM_BLOCKS,
        comparisons=(decode_comparison(other, winner, Axis.THREADS, f"{winner} was the sweep's fastest"),),
        paired=True,
        warmup=winner,
    )
    return assemble(design, setting, replace(choices, n_prompt=choices.n_prompt or 0, blocks=None, seed=None))
