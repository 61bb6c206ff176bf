"""`entity-tui guard`: does backing off pay?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, print_json, with_device
from entity_tui.commands.plan_options import RunOptions

if TYPE_CHECKING:
    from entity_tui.experiments.guard import Window
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--minutes", type=click.FloatRange(0.05, 60), default=10.0, show_default=True, help="Length of each arm.")
@click.option("--window", type=click.FloatRange(1, 300), default=30.0, show_default=True, help="Seconds of a window.")
@click.option("--cooldown", type=click.FloatRange(0, 3600), default=90.0, show_default=True, help="Seconds between.")
@click.option("--seed", type=int, default=0, help="Draws which arm comes first.")
@click.option("--engine", default="", metavar="PATH", help="Engine folder or build.")
@click.option("--model", default="", metavar="NAME", help="GGUF on the device.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(**values: Any) -> None:
    """Does backing off pay? Sustained generation with the thermal guard off and on, as a chat drives it."""
    minutes, window, cooldown, seed = (values.pop(name) for name in ("minutes", "window", "cooldown", "seed"))
    options = RunOptions(**values)

    async def use(transport: Transport) -> None:
        from entity_tui.commands.plan_run import ready_device
        from entity_tui.experiments.guard import crossover_s, measure_guard, sentence
        from entity_tui.experiments.plan import plain

        def told(row: Window) -> None:
            status = "—" if row.status is None else str(row.status)
            words = f"{row.arm:9}  window {row.number:3}  {row.tok_s:7.2f} tok/s  status {status}  {row.clock}"
            click.echo(f"{words}  waited {row.delay_ms} ms", err=options.as_json)

        ready = await ready_device(transport, options)
        windows = await measure_guard(
            transport, ready.setting, minutes=minutes, window_s=window, cooldown_s=cooldown, seed=seed, on_window=told
        )
        finding = sentence(windows, minutes)
        if options.as_json:
            rows = [{**plain(row), "tok_s": row.tok_s} for row in windows]
            found = {"windows": rows, "crossover_s": crossover_s(windows), "sentence": finding}
            print_json({**found, "simulated": transport.simulated})
        else:
            click.echo(finding + (" (simulated phone)" if transport.simulated else ""))

    with_device(options.device, use, speed=options.speed)
