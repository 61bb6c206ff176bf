"""`entity-tui backends`: CPU or GPU?"""

from __future__ import annotations

from typing import Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, plan_options, run_options, run_options_of


@click.command()
@device_options
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """CPU or GPU? The CPU arm has to prove that it is one."""
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.backends import backends_plan

    choices = choices_of(values)
    ctx.exit(run_command(run_options_of(values), lambda setting: backends_plan(setting, choices)))
