"""`entity-tui bench`: the ablation by preset, by the seeds' runs, or with arms of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, instrument_option, plan_options, run_options, run_options_of
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices, Design

DEFAULT_RUNS = 3
DEFAULT_PRESET = "full"


@click.command()
@device_options
@click.option("--preset", metavar="NAME", help="quick, standard, full (the default) or overnight.")
@click.option(
    "--runs", type=click.Choice(["1", "3", "5"]), help="The seeds' protocol: so many runs an arm, no verdict."
)
@click.option("--arms", default="", metavar="FILE|NAMES", help="A YAML file of arms, or names such as naive,optimized.")
@click.option("--order", type=click.Choice(["seeded", "fixed"]), default="seeded", help="fixed is the seeds' order.")
@instrument_option
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Which change makes this device faster, and is the change real?

    Arms run interleaved in seeded random order, each cell behind a gate, each mask read back from every thread.
    """
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.build import assemble

    preset, runs, arms = values.pop("preset"), values.pop("runs"), values.pop("arms")
    choices = choices_of(values)
    design, choices = chosen_design(preset, int(runs) if runs else None, arms, choices)
    ctx.exit(run_command(run_options_of(values), lambda setting: assemble(design, setting, choices)))


def chosen_design(preset: str | None, runs: int | None, arms: str, choices: Choices) -> tuple[Design, Choices]:
    """The design the options ask for, and the choices with what an arms file adds to them.

    Without anything it is the full preset, as the key `b` runs it; arms of one's own get three runs each, or blocks
    with `--blocks`. UsageError for both of `--preset` and `--runs`.
    """
    from dataclasses import replace

    from entity_tui.experiments.ablation import design_file, design_preset, design_runs, file_choices
    from entity_tui.experiments.arm_specs import ArmFile, choose_arms

    if preset and runs:
        raise UsageError(
            "--preset and --runs exclude each other", fix="--runs is the seeds' protocol, a preset is ours"
        )
    if runs and choices.blocks:
        raise UsageError("--runs and --blocks exclude each other", fix="--blocks takes any number and draws verdicts")
    chosen = choose_arms(arms) if arms else ()
    has_blocks = choices.blocks is not None or (isinstance(chosen, ArmFile) and "blocks" in chosen.plan)
    if preset or not (runs or chosen or has_blocks):
        design = design_preset(preset or DEFAULT_PRESET)
    elif runs or not has_blocks:
        design = design_runs(runs or DEFAULT_RUNS)
    else:
        design = replace(design_preset("standard"), title="ablation, blocks as asked", preset="")
    if isinstance(chosen, ArmFile):
        return design_file(chosen, design), file_choices(chosen, choices)
    if chosen:
        names = {spec.arm_id for spec in chosen}
        kept = tuple(item for item in design.comparisons if {item.baseline, item.treatment} <= names)
        design = replace(design, specs=chosen, comparisons=kept)
    return design, choices
