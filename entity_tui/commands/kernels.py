"""`entity-tui kernels`: what do repacked weights and KleidiAI earn here?"""

from __future__ import annotations

from typing import Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, plan_options, run_options, run_options_of


@click.command()
@device_options
@click.option("--kleidiai", default="", metavar="ENGINE", help="A build made with KleidiAI, as a third arm.")
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """What do repacked weights and KleidiAI earn on this device and this file?"""
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.kernels import kernels_plan

    kleidiai = values.pop("kleidiai")
    choices = choices_of(values)
    options = run_options_of(values)
    engines = (kleidiai,) if kleidiai else ()
    ctx.exit(run_command(options, lambda setting: kernels_plan(setting, choices, kleidiai=kleidiai), engines=engines))
