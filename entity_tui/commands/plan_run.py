"""Runs a plan from the command line: what every experiment's command does after it has built its plan."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from entity_tui.commands.options import print_json, with_device
from entity_tui.commands.plan_options import RunOptions
from entity_tui.commands.plan_output import Teller, plan_json, print_plan, print_result, result_json
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.experiments.build import Setting
    from entity_tui.experiments.fail_on import FailOn
    from entity_tui.experiments.following import RunResult
    from entity_tui.experiments.plan import Plan
    from entity_tui.experiments.prepare import Ready
    from entity_tui.records.store import RunStore
    from entity_tui.transport.base import Transport

FAILED, UNDECIDED = 1, 6


def run_command(
    options: RunOptions, build: Callable[[Setting], Plan], *, engines: Sequence[str] = (), models: Sequence[str] = ()
) -> int:
    """Prepare the device, show or run the plan `build` makes for it, print the result; returns the exit code.

    `engines` and `models` are further ones that the plan's arms name.
    Raises EntityError for everything that keeps a run from starting.
    """
    from entity_tui.experiments.fail_on import parse_fail_on

    condition = parse_fail_on(options.fail_on) if options.fail_on else None

    async def use(transport: Transport) -> int:
        ready = await ready_device(transport, options, engines, models)
        code, _ = await run_ready(transport, ready, options, build(ready.setting), condition)
        return code

    return with_device(options.device, use, speed=options.speed)


async def ready_device(
    transport: Transport, options: RunOptions, engines: Sequence[str] = (), models: Sequence[str] = ()
) -> Ready:
    """The device with engine and model chosen by the options, else by the settings. Raises EntityError."""
    from entity_tui import config
    from entity_tui.experiments.prepare import prepare

    settings = config.load()
    return await prepare(
        transport,
        engine=options.engine or str(settings["engine"]),
        model=options.model or str(settings["model"]),
        sha256=options.model_sha256.lower(),
        folders=(config.data_folder() / "models",),
        engines=engines,
        models=models,
        hashes=config.data_folder() / "model-hashes.json",
    )


async def run_ready(
    transport: Transport,
    ready: Ready,
    options: RunOptions,
    plan: Plan,
    condition: FailOn | None = None,
    *,
    refused_is_failure: bool = True,
) -> tuple[int, list[RunResult]]:
    """Show or run a plan on a device that is ready and print what came out; (exit code, results).

    The results are empty for a dry run. `refused_is_failure` false is for plans in which an arm may rightly not run.
    """
    from entity_tui import config
    from entity_tui.experiments.context import clock_factor
    from entity_tui.experiments.estimate import estimate, sleep_words, words
    from entity_tui.records.store import RunStore

    cost = estimate(plan, ready.facts, clock_factor=clock_factor(ready.snapshot))
    if options.dry_run:
        if options.as_json or options.as_jsonl:
            print_json(plan_json(plan, cost))
        else:
            print_plan(plan, cost, sleep_words(ready.facts))
        return 0, []
    click.echo(f"{plan.title}: {words(cost)} {sleep_words(ready.facts)}", err=True)
    if cost.needs_confirmation and not options.assume_yes and sys.stdin.isatty():
        click.confirm("Start it?", abort=True, err=True)
    with RunStore(config.data_folder()) as store:
        results = await _sessions(transport, plan, ready, store, Teller(as_jsonl=options.as_jsonl))
        code = 0
        for result in results:
            code = max(code, _report(result, options, condition, refused_is_failure=refused_is_failure))
        _replicated(store, results, options)
    await _done(options, results[-1])
    return code, results


async def _sessions(transport: Transport, plan: Plan, ready: Ready, store: RunStore, teller: Teller) -> list[RunResult]:
    """Every session of the plan, one after the other; a run that was left behind is taken up first."""
    from entity_tui.experiments.pickup import Action, left_behind, take_up
    from entity_tui.experiments.run import new_session_id, run_plan

    results: list[RunResult] = []
    continues = ""
    for left in await left_behind(transport, store):
        word = {Action.ATTACH: "is in flight", Action.COLLECT: "has ended", Action.RESUME: "was cut"}[left.action]
        click.echo(f"the run {left.session_id} {word} on the device: {left.action.value}", err=True)
        try:
            result = await take_up(transport, store, left, teller)
        except UsageError as error:
            click.echo(f"▲ {error}", err=True)
            continues = left.session_id
            continue
        if left.asks_the_same(plan) and not results:
            results.append(result)
    repeats = new_session_id() if plan.sessions > 1 else ""
    while len(results) < plan.sessions:
        results.append(
            await run_plan(
                transport,
                plan,
                snapshot=ready.snapshot,
                facts=ready.facts,
                store=store,
                on_view=teller,
                continues=continues,
                repeats=repeats,
            )
        )
        continues = ""
        if results[-1].outcome != "done":
            break
    return results


def _report(
    result: RunResult, options: RunOptions, condition: FailOn | None, *, refused_is_failure: bool = True
) -> int:
    if options.as_json:
        print_json(result_json(result))
    elif options.as_jsonl:
        click.echo(json.dumps({"event": "result", **result_json(result)}, ensure_ascii=False))
    else:
        print_result(result)
    if options.csv is not None:
        write_export(result, options)
    complete = _every_arm_measured(result) or not refused_is_failure
    code = 0 if result.outcome == "done" and complete else FAILED
    if condition is None:
        return code
    return max(code, _gate(result, condition, strict=options.strict))


def _replicated(store: RunStore, results: Sequence[RunResult], options: RunOptions) -> None:
    """In how many sessions of a repetition each verdict came back; the sessions are never pooled."""
    from entity_tui.printable import printable
    from entity_tui.records.replication import replication_of

    if len(results) < 2:
        return
    for found in replication_of(store, results[-1].directory):
        if options.as_jsonl:
            click.echo(json.dumps({"event": "replication", "sentence": found.sentence}, ensure_ascii=False))
        else:
            click.echo(printable(found.sentence), err=options.as_json)


def _every_arm_measured(result: RunResult) -> bool:
    return all(row.void == 0 for row in result.view.arms if row.planned)


def _gate(result: RunResult, condition: FailOn, *, strict: bool) -> int:
    from entity_tui.analysis.sentences import verdict_sentence
    from entity_tui.experiments.fail_on import judge_gate
    from entity_tui.experiments.tables import analysis_of

    found = judge_gate(condition, analysis_of(result.plan, result.rows).judgements)
    for item in found.failed:
        click.echo(f"✖ {condition.text}: {verdict_sentence(item)}", err=True)
    for item in found.undecided:
        need = item.blocks_needed
        more = f"; run it again with --blocks {need} --seed {result.plan.seed}" if need else ""
        click.echo(f"? {item.comparison.name}: {item.verdict.value}, {item.reason}{more}", err=True)
    if found.failed:
        return FAILED
    return UNDECIDED if strict and found.undecided else 0


def write_export(result: RunResult, options: RunOptions) -> None:
    """Write the rows to the file the user named, in the format the user chose. Raises RecordError."""
    from entity_tui.records.export import write_tidy_csv
    from entity_tui.records.files import write_whole

    assert options.csv is not None
    if options.csv_format == "entity-bench":
        from entity_tui.records.entity_export import entity_bench_of

        write_whole(options.csv, entity_bench_of(result.directory))
    elif options.csv_format == "llama-bench":
        from entity_tui.records.llama_bench import write_llama_bench

        write_whole(options.csv, write_llama_bench(result.rows))
    else:
        write_tidy_csv(result.rows, options.csv)
    click.echo(f"rows written to {options.csv}", err=True)


async def _done(options: RunOptions, result: RunResult) -> None:
    """The bell, and the user's own command with the session and its outcome as arguments."""
    click.echo("\a", nl=False, err=True)
    if options.on_done:
        from entity_tui.transport.local import LocalTransport

        async with LocalTransport() as here:
            done = await here.run(["sh", "-c", options.on_done, "on-done", result.session_id, result.outcome])
        if not done.ok:
            click.echo(f"▲ --on-done ended with {done.exit_code}: {done.error_text.strip()}", err=True)
