"""`entity-tui placement`: should threads be pinned on this device?"""

from __future__ import annotations

from typing import Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, plan_options, run_options, run_options_of


@click.command()
@device_options
@click.option("--little", is_flag=True, help="Run the LITTLE cores alone as well, exploratory.")
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Should threads be pinned on this device?

    The scheduler against the fast cores in balanced pairs; nothing is applied by itself.
    """
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.placement import placement_plan

    little = values.pop("little")
    choices = choices_of(values)
    ctx.exit(run_command(run_options_of(values), lambda setting: placement_plan(setting, choices, little=little)))
