"""`entity-tui placement`: should threads be pinned on this device?"""

from __future__ import annotations

from typing import Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, instrument_option, plan_options, run_options, run_options_of


@click.command()
@device_options
@click.option("--little", is_flag=True, help="Run the LITTLE cores alone as well, exploratory.")
@click.option("--apply", "applied", default="", metavar="ARM", help="Remember this placement for the device; no run.")
@instrument_option
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Should threads be pinned on this device?

    The scheduler against the fast cores in balanced pairs; nothing is applied by itself.
    """
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.placement import placement_plan

    little, applied = values.pop("little"), values.pop("applied")
    if applied:
        apply(values["device"], applied)
        return
    choices = choices_of(values)
    ctx.exit(run_command(run_options_of(values), lambda setting: placement_plan(setting, choices, little=little)))


def apply(device: str | None, arm: str) -> None:
    """Remember `arm` for the named device. UsageError when none is named: a guess would change the wrong phone."""
    from entity_tui.applied import PLACEMENTS, apply_placement
    from entity_tui.connect import parse_spec
    from entity_tui.errors import UsageError

    if not device:
        raise UsageError("--apply needs --device", fix="name the device whose settings change")
    found = apply_placement(parse_spec(device).text, arm)
    click.echo(f"{found.name}: placement {arm}, {PLACEMENTS[arm]}")
