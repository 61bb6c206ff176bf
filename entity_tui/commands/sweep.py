"""`entity-tui sweep`: which decode width? The winner is confirmed before it is called best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, with_device
from entity_tui.commands.plan_options import (
    RunOptions,
    choices_of,
    instrument_option,
    plan_options,
    run_options,
    run_options_of,
)

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--no-confirm", is_flag=True, help="Stop after the sweep; nothing is called best then.")
@instrument_option
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Which decode width? Widths 2, 4, 6, 8 and the automatic one, pinned and not.

    The fastest is then measured against the automatic width in a fresh plan of two arms.
    """
    confirm = not values.pop("no_confirm")
    choices = choices_of(values)
    options = run_options_of(values)

    async def use(transport: Transport) -> int:
        return await _sweep(transport, options, choices, confirm=confirm)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def _sweep(transport: Transport, options: RunOptions, choices: Choices, *, confirm: bool) -> int:
    from entity_tui.commands.plan_run import ready_device, run_ready
    from entity_tui.experiments.sweep import confirm_plan, ranking, sweep_plan
    from entity_tui.silicon.widths import widths

    ready = await ready_device(transport, options)
    code, results = await run_ready(transport, ready, options, sweep_plan(ready.setting, choices))
    if options.dry_run or not results:
        return code
    order = ranking(results[-1].rows)
    if len(order) < 2 or not confirm:
        return code
    auto = f"sweep_t{widths(ready.facts.topology).decode}_pinned"
    winner = order[0][0]
    other = auto if auto != winner and any(arm == auto for arm, _ in order) else order[1][0]
    click.echo(f"confirming {winner} against {other} in a fresh plan", err=True)
    again, results = await run_ready(transport, ready, options, confirm_plan(ready.setting, choices, winner, other))
    for line in results[-1].view.verdicts[:1]:
        best = f"{winner} is best" if ": faster" in line else f"{winner} is not shown to be best"
        click.echo(f"{best}: {line}", err=options.as_json or options.as_jsonl)
    return max(code, again)
