"""`entity-tui equivalence`: does scheduling change the answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, print_json, with_device
from entity_tui.commands.plan_options import RunOptions, choices_of, plan_options, run_options, run_options_of

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices
    from entity_tui.experiments.equivalence import Equivalence
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@click.option("--chunks", type=click.IntRange(6, 200), default=12, help="Chunks of text for the perplexity series.")
@plan_options
@run_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Does scheduling change the answer? Greedy text and perplexity of every arm, with three controls.

    Verdict: identical over n tokens and k chunk values (4 decimals), differs, or instrument broken.
    """
    chunks = values.pop("chunks")
    choices = choices_of(values)
    options = run_options_of(values)

    async def use(transport: Transport) -> int:
        return await _compare(transport, options, choices, chunks)

    ctx.exit(with_device(options.device, use, speed=options.speed))


async def study_text_on(transport: Transport, *, dry_run: bool = False) -> str:
    """The study text's path on the device, brought there unless nothing is to run. Raises the transport's errors."""
    import tempfile

    from entity_tui.experiments.equivalence import study_text

    path = f"{transport.root}/texts/study.txt"
    if dry_run:
        return path
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "study.txt"
        local.write_text(study_text(), encoding="utf-8")
        await transport.push(local, path)
    return path


async def _compare(transport: Transport, options: RunOptions, choices: Choices, chunks: int) -> int:
    from entity_tui.commands.plan_run import ready_device, run_ready
    from entity_tui.experiments.equivalence import Verdict, decide, equivalence_plan, read_answers

    ready = await ready_device(transport, options)
    path = await study_text_on(transport, dry_run=options.dry_run)
    plan = equivalence_plan(ready.setting, choices, path, chunks=chunks)
    code, results = await run_ready(transport, ready, options, plan)
    if not results:
        return code
    found = decide(read_answers(plan, results[-1].directory), plan.n_gen)
    _print(found, as_json=options.as_json or options.as_jsonl)
    return max(code, 0 if found.verdict in (Verdict.IDENTICAL, Verdict.DIFFERS) else 1)


def _print(found: Equivalence, *, as_json: bool) -> None:
    from entity_tui.experiments.plan import plain

    if as_json:
        print_json(plain(found))
        return
    for control in found.controls:
        click.echo(f"{'●' if control.passed else '✖'} control: {control.text}")
    for arm, verdict in found.arms.items():
        click.echo(f"  {arm}: {verdict.value}")
    click.echo(found.sentence)
