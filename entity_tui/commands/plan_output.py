"""How a plan, a run and its result are printed: tables for people, JSON for programs, words on stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.columns import aligned
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.experiments.estimate import Estimate
    from entity_tui.experiments.following import RunResult
    from entity_tui.experiments.live import ArmRow, RunView
    from entity_tui.experiments.plan import Plan

MISSING = "—"


def plan_json(plan: Plan, cost: Estimate) -> dict[str, Any]:
    """The plan as JSON values, with its hash and cost."""
    from entity_tui.experiments.plan import plain

    return {"plan_hash": plan.plan_hash, "estimate": plain(cost), "plan": plain(plan)}


def print_plan(plan: Plan, cost: Estimate, sleep: str) -> None:
    """The plan in words and in order, before it starts."""
    from entity_tui.experiments.estimate import words
    from entity_tui.experiments.launches import cell_launches, command_lines

    click.echo(f"{plan.title}: {plan.experiment}, {plan.blocks} blocks, seed {plan.seed}, plan {plan.plan_hash[:12]}")
    click.echo(f"engine {plan.engine.name} {plan.engine.build} in {printable(plan.engine.directory)}")
    click.echo(f"model {printable(plan.model.name)}  prompt {plan.n_prompt}  generate {plan.n_gen}")
    for arm in plan.arms:
        reason = arm.incapable or (f"= {arm.same_as}" if arm.same_as else "")
        click.echo(f"  {arm.arm_id:<14}{'not run: ' + reason if reason else _setting(plan, arm)}")
    gate = plan.gate
    if gate.skip:
        click.echo("gate: none, the experiment wants the heat")
    else:
        click.echo(
            f"gate: {gate.sensor} ≤ max(start + {gate.margin_c:g}, {gate.floor_c:g}) °C, throttle none, clocks free, "
            f"{gate.minimum_s:g} to {gate.limit_s:g} s"
        )
    for item in plan.comparisons:
        expect = f", expected: {item.expect}" if item.expect else ""
        click.echo(f"declared: {item.name} on {item.metric}{expect}")
    margins = plan.rules
    click.echo(
        f"margins: worth having {100 * margins.worth_margin:g} %, equivalent {100 * margins.equivalent_margin:g} %"
    )
    click.echo("order:")
    for block in dict.fromkeys(cell.block for cell in plan.cells):
        arms = " ".join(cell.arm for cell in plan.cells if cell.block == block)
        click.echo(f"  {'warm-up' if block == 0 else f'block {block}'}: {arms}")
    first = plan.runnable[0]
    for line in command_lines(cell_launches(plan, first, first.role)):
        click.echo(f"  {printable(line)}")
    for note in plan.notes:
        click.echo(f"▲ {printable(note)}")
    click.echo(words(cost))
    click.echo(sleep)


def _setting(plan: Plan, arm: Any) -> str:
    from entity_tui.experiments.tables import mask_words

    decode, prefill = arm.decode, arm.prefill
    text = f"decode {decode.threads} on {mask_words(decode.mask, plan.online)}"
    if prefill != decode:
        text += f", prefill {prefill.threads} on {mask_words(prefill.mask, plan.online)}"
    extra = [*arm.flags, *(f"{name}={value}" for name, value in sorted(arm.env.items()))]
    return printable(f"{text} {' '.join(extra)}".rstrip())


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, or a dash for what is missing."""
    if value is None:
        return MISSING
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


def spread(value: float | None, sd: float | None) -> str:
    """Median ± population SD; a single pass has no ± and says so."""
    if value is None:
        return MISSING
    if sd is None:
        return f"{number(value)} 1×"
    return f"{number(value)} ±{sd:.2g}" if sd < 100 else f"{number(value)} ±{sd:.0f}"


HEADER = ("arm", "thr", "mask", "n", "decode tok/s", "prompt tok/s", "ttft ms", "W", "tok/W", "state")


def _cells(row: ArmRow) -> tuple[str, ...]:
    threads = (
        f"{row.decode_threads}"
        if row.decode_threads == row.prefill_threads
        else (f"{row.decode_threads}/{row.prefill_threads}")
    )
    mark = " †" if row.done < row.planned else ""
    word = row.word + (f" ({row.tainted} tainted)" if row.tainted else "") + (f" ({row.void} void)" if row.void else "")
    mask = row.decode_mask if row.decode_mask == row.prefill_mask else f"{row.decode_mask}/{row.prefill_mask}"
    return (
        row.arm,
        threads,
        mask,
        f"{row.done}/{row.planned}{mark}",
        spread(row.decode_tok_s, row.decode_sd),
        spread(row.prefill_tok_s, row.prefill_sd),
        number(row.ttft_derived_ms),
        number(row.power_w) if row.power_w is not None else (row.power_note if row.power_note == "chg" else MISSING),
        number(row.tok_per_w),
        word,
    )


def print_arms(rows: Sequence[ArmRow]) -> None:
    """The arms table: medians ± population SD, how many cells they are from, and how each arm ended."""
    for line in aligned([HEADER, *(_cells(row) for row in rows)], frozenset(range(1, 9)) - {2}):
        click.echo(line)


def print_result(result: RunResult) -> None:
    """Everything a reader of the terminal gets at the end of a run."""
    view = result.view
    if view.simulated:
        click.echo(f"simulated phone, clock ×{view.clock_factor:g}: nothing here was measured on a real device")
    print_arms(view.arms)
    if any(row.power_note == "chg" for row in view.arms):
        click.echo("W and tok/W are hidden: the phone was charging")
    for row in view.arms:
        if row.detail:
            click.echo(f"  {row.arm}: {printable(row.detail)}")
    for factor in view.factors:
        ratio = MISSING if factor.ratio is None else f"×{factor.ratio:.3f}"
        interval = "" if factor.low is None or factor.high is None else f"  {factor.low:.3f} to {factor.high:.3f}"
        words = " ".join(word for word in (factor.verdict, factor.note) if word)
        click.echo(f"{factor.label:<28} {factor.change:<22} {ratio:>8}{interval}  {printable(words)}".rstrip())
    for line in (*view.verdicts, *view.diagnostics):
        click.echo(printable(line))
    click.echo(f"{result.outcome}: {len(result.rows)} rows in {view.csv_path}")


def result_json(result: RunResult) -> dict[str, Any]:
    """The result as JSON values; every simulated one says so."""
    from entity_tui.experiments.plan import plain

    view = result.view
    return {
        "session_id": result.session_id,
        "outcome": result.outcome,
        "experiment": view.experiment,
        "title": view.title,
        "plan_hash": view.plan_hash,
        "plan_seed": view.seed,
        "simulated": view.simulated,
        "clock_factor": view.clock_factor,
        "model": view.model_name,
        "engine": view.engine_name,
        "arms": [plain(row) for row in view.arms],
        "factors": [plain(row) for row in view.factors],
        "pairs": [plain(row) for row in view.pairs],
        "verdicts": list(view.verdicts),
        "diagnostics": list(view.diagnostics),
        "notes": list(result.plan.notes),
        "rows": len(result.rows),
        "csv": str(view.csv_path),
        "directory": str(result.directory.path),
    }


class Teller:
    """Tells what happens while a run goes on: log lines on stderr, and JSON lines on stdout when asked for."""

    def __init__(self, *, as_jsonl: bool) -> None:
        self._as_jsonl = as_jsonl
        self._told = 0
        self._session = ""

    def __call__(self, view: RunView) -> None:
        if view.session_id != self._session:
            self._session, self._told = view.session_id, 0
            click.echo(f"session {view.session_id}", err=True)
        for line in view.log[self._told :]:
            mark = "▲ " if line.level != "info" else ""
            progress = f"[{view.cells_done}/{view.cells_planned}] "
            click.echo(progress + mark + printable(line.text), err=True)
            if self._as_jsonl:
                event = {
                    "event": "log",
                    "session_id": view.session_id,
                    "at": line.at_utc,
                    "level": line.level,
                    "text": line.text,
                    "cells_done": view.cells_done,
                    "cells_planned": view.cells_planned,
                    "eta_s": view.eta_s,
                    "simulated": view.simulated,
                }
                click.echo(json.dumps(event, ensure_ascii=False))
        self._told = len(view.log)
