"""`entity-tui kv-restore`: what does a saved conversation save?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, print_json, with_device
from entity_tui.commands.plan_options import RunOptions

if TYPE_CHECKING:
    from entity_tui.experiments.kv_restore import RestorePoint
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--length", "lengths", multiple=True, type=click.IntRange(16, 100_000), help="Tokens of history; repeat.")
@click.option("--engine", default="", metavar="PATH", help="Engine folder or build.")
@click.option("--model", default="", metavar="NAME", help="GGUF on the device.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """What does a saved conversation save? Wall time of restoring it and of reading it again, by length."""
    from entity_tui.experiments.kv_restore import LENGTHS

    lengths = tuple(sorted(values.pop("lengths"))) or LENGTHS
    options = RunOptions(**values)

    async def use(transport: Transport) -> int:
        return await _measure(transport, options, lengths)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def _measure(transport: Transport, options: RunOptions, lengths: tuple[int, ...]) -> int:
    from entity_tui.commands.plan_run import ready_device
    from entity_tui.experiments.context import clock_factor
    from entity_tui.experiments.kv_restore import measure_restore, sentence
    from entity_tui.experiments.plan import plain

    ready = await ready_device(transport, options)

    def told(point: RestorePoint) -> None:
        click.echo(
            f"{point.tokens:>6} tokens  read {point.reprimed_s:7.2f} s  restored {point.restored_s:6.2f} s  "
            f"{point.size_bytes / 1e6:6.1f} MB",
            err=options.as_json,
        )

    points = await measure_restore(transport, ready.setting, lengths=lengths, on_point=told)
    if options.as_json:
        print_json(
            {
                "points": [{**plain(point), "bytes_per_token": point.bytes_per_token} for point in points],
                "sentence": sentence(points),
                "simulated": transport.simulated,
                "clock_factor": clock_factor(ready.snapshot),
            }
        )
    else:
        click.echo(sentence(points))
    return 0 if all(point.evaluated == 1 for point in points) else 1
