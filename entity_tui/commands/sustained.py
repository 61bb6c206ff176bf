"""`entity-tui sustained`: what is left of a device's speed after minutes?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, with_device
from entity_tui.commands.plan_options import RunOptions, choices_of, plan_options, run_options, run_options_of

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--minutes", type=click.FloatRange(0.1, 120.0), default=2.0, help="How long each arm decodes: 2, 5, 10.")
@click.option("--arms", default="", metavar="NAMES", help="Arms such as threads_only,optimized (the default).")
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """What is left after 2, 5, 10 minutes? Burst, steady, what is retained, and when it first fell for good."""
    minutes, arms = values.pop("minutes"), values.pop("arms")
    choices = choices_of(values)
    options = run_options_of(values)

    async def use(transport: Transport) -> int:
        return await _sustained(transport, options, choices, minutes, arms)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def _sustained(transport: Transport, options: RunOptions, choices: Choices, minutes: float, arms: str) -> int:
    from entity_tui.commands.plan_run import ready_device, run_ready
    from entity_tui.errors import UsageError
    from entity_tui.experiments.arm_specs import ArmFile, choose_arms
    from entity_tui.experiments.calibrate import decode_rate
    from entity_tui.experiments.sustained import lasting, sentence, sustained_plan

    ready = await ready_device(transport, options)
    specs = choose_arms(arms) if arms else ()
    if isinstance(specs, ArmFile):
        raise UsageError("--arms takes names here", fix="for arms of your own use bench")
    rate = await decode_rate(transport, ready.setting)
    plan = sustained_plan(ready.setting, choices, minutes=minutes, decode_tok_s=rate, specs=specs)
    code, results = await run_ready(transport, ready, options, plan)
    for result in results:
        for arm, values in lasting(result.rows):
            click.echo(sentence(arm, values), err=options.as_json or options.as_jsonl)
    return code
