"""`entity-tui isa-ladder`: what is each CPU backend variant of the engine worth on this CPU?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, with_device
from entity_tui.commands.plan_options import RunOptions, choices_of, plan_options, run_options, run_options_of

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices
    from entity_tui.experiments.isa_ladder import RungResult
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--perplexity/--no-perplexity", default=True, help="Read a short text with every rung as well.")
@click.option("--threads", type=click.IntRange(1, 64), help="Threads of every rung; the automatic width otherwise.")
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """What is each CPU backend variant worth? Every shipped one runs alone in a folder of its own.

    Outcomes: measured, not supported (the loader refused this CPU), could not start (a missing library).
    """
    threads, perplexity = values.pop("threads"), values.pop("perplexity")
    choices = choices_of(values)
    options = run_options_of(values)

    async def use(transport: Transport) -> int:
        return await _climb(transport, options, choices, str(threads) if threads else "auto", perplexity=perplexity)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def _climb(transport: Transport, options: RunOptions, choices: Choices, threads: str, *, perplexity: bool) -> int:
    from entity_tui.commands.equivalence import study_text_on
    from entity_tui.commands.plan_run import ready_device, run_ready
    from entity_tui.experiments.isa_ladder import Rung, climb, ladder_folder, ladder_plan, stage

    ready = await ready_device(transport, options)
    engine = ready.setting.engine
    folder = ladder_folder(transport, engine) if options.dry_run else await stage(transport, engine)
    text = ""
    if perplexity and engine.perplexity:
        text = await study_text_on(transport, dry_run=options.dry_run)
    elif perplexity:
        click.echo("this engine has no llama-perplexity: the rungs get speeds only", err=True)
    plan = ladder_plan(ready.setting, choices, folder, threads=threads, text=text)
    code, results = await run_ready(transport, ready, options, plan, refused_is_failure=False)
    if not results:
        return code
    rungs = climb(results[-1].plan, results[-1].rows, ready.facts)
    if options.as_json or options.as_jsonl:
        _print_json(rungs)
    else:
        _print(rungs)
    broken = any(rung.outcome is Rung.COULD_NOT_START for rung in rungs)
    return max(code, 1 if broken else 0)


def _print(rungs: tuple[RungResult, ...]) -> None:
    from entity_tui.commands.plan_output import number

    width = max(len(rung.variant) for rung in rungs)
    for rung in rungs:
        predicted = {True: "should run", False: "should not run", None: "not known"}[rung.predicted]
        line = f"{rung.variant:<{width}}  {rung.outcome.value:<15}  decode {number(rung.decode_tok_s):>6}"
        line += f"  prompt {number(rung.prompt_tok_s):>6}"
        line += "" if rung.perplexity is None else f"  perplexity {rung.perplexity:.4f}"
        line += f"  loaded {rung.loaded or '—'}  {predicted}"
        click.echo(line + (f"  ▲ {rung.finding}" if rung.finding else "") + (f"  {rung.detail}" if rung.detail else ""))


def _print_json(rungs: tuple[RungResult, ...]) -> None:
    import json

    from entity_tui.experiments.plan import plain

    rows = [{**plain(rung), "finding": rung.finding} for rung in rungs]
    click.echo(json.dumps({"rungs": rows}, ensure_ascii=False))
