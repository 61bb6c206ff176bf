"""`entity-tui measure`: any other engine by its own command line, under our gates, masks and states."""

from __future__ import annotations

from typing import Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, plan_options, run_options, run_options_of


@click.command(context_settings={"ignore_unknown_options": True})
@device_options
@click.option("--pattern", required=True, metavar="REGEX", help="Finds the number in the output, in one group.")
@click.option("--unit", default="", metavar="TEXT", help="Unit of the number, such as tok/s or ms.")
@click.option(
    "--better", type=click.Choice(["higher", "lower"]), default="higher", help="Which direction is worth having."
)
@click.option("--arm", "arms", multiple=True, metavar="NAME", help="Arms to place it by (scheduler and perf_cores).")
@plan_options
@run_options
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Measure another engine: ONNX Runtime, TFLite, MNN, ncnn, by its command line after `--`.

    {threads}, {mask} and {model} in the command are filled in.
    """
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.command import CommandLine, command_plan

    line = CommandLine(tuple(values.pop("argv")), values.pop("pattern"), values.pop("unit"), values.pop("better"))
    arms = values.pop("arms") or ("scheduler", "perf_cores")
    choices = choices_of(values)
    ctx.exit(run_command(run_options_of(values), lambda setting: command_plan(setting, choices, line, arms)))
