"""`entity-tui observer`: what does the instrument cost?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, print_json, with_device
from entity_tui.commands.plan_options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--within", is_flag=True, help="Suspend runner and recorder within one launch: finer on a busy machine.")
@click.option("--blocks", type=click.IntRange(1, 2000), help="Pairs of launches (24), or of windows in one (400).")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Seed of the order within the blocks.")
@click.option("--threads", type=click.IntRange(1, 64), default=1, help="Threads of the engine.")
@click.option("--cpu", type=click.IntRange(0, 511), default=1, help="First CPU of the engine.")
@click.option("--recorder-cpu", type=click.IntRange(0, 511), default=0, help="CPU of runner and recorder.")
@click.option("--generate", type=click.IntRange(4, 100_000), help="Tokens of a repetition (128; 16 with --within).")
@click.option("--repetitions", type=click.IntRange(1, 1000), default=3, help="Repetitions of a launch.")
@click.option("--engine", default="", metavar="PATH", help="Engine folder or build.")
@click.option("--model", default="", metavar="NAME", help="GGUF on the device.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """What does the instrument cost? The same launch bare and under runner and recorder, in seeded blocks.

    With --within both states share one launch: runner and recorder are suspended in half of its windows.
    """
    options = RunOptions(**{name: values.pop(name) for name in ("device", "speed", "engine", "model", "as_json")})

    async def use(transport: Transport) -> int:
        return await _observe(transport, options, values)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def _observe(transport: Transport, options: RunOptions, values: dict[str, Any]) -> int:
    from entity_tui.commands.plan_run import ready_device
    from entity_tui.experiments import observer, observer_within

    form = observer_within if values["within"] else observer
    measure = observer_within.observe_within if values["within"] else observer.observe
    blocks = values["blocks"] or form.BLOCKS
    ready = await ready_device(transport, options)
    plan = observer.observer_plan(
        ready.setting,
        threads=values["threads"],
        cpu=values["cpu"],
        n_gen=values["generate"] or form.GENERATE,
        repetitions=values["repetitions"],
    )

    def told(block: int, rates: Mapping[str, float]) -> None:
        words = ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
        click.echo(f"block {block}/{blocks}: {words} tok/s", err=True)

    found = await measure(
        transport,
        plan,
        ready.snapshot,
        ready.facts,
        recorder_cpu=values["recorder_cpu"],
        blocks=blocks,
        seed=values["seed"],
        on_block=told,
    )
    cost = found.cost
    if cost is None:
        click.echo("no block holds both arms", err=True)
        return 1
    item = cost.paired
    if options.as_json:
        print_json(
            {
                "ratio": item.ratio,
                "low": item.low,
                "high": item.high,
                "coverage": item.coverage,
                "blocks": item.n,
                "margin": cost.margin,
                "within": cost.within,
                "median_pct": cost.block_pct.median,
                "threads": found.threads,
                "seed": found.seed,
            }
        )
    else:
        low, high = ("—" if end is None else f"×{end:.4f}" for end in (item.low, item.high))
        inside = {True: "inside", False: "not inside", None: "too few blocks to say"}[cost.within]
        click.echo(
            f"recorded against bare: ×{item.ratio:.4f}, {low} to {high} over {item.n} blocks; "
            f"{inside} ±{100 * cost.margin:g} %"
        )
    return 0
