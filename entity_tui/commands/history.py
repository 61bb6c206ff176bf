"""`entity-tui history`: what was measured, by whom it can be compared, and the same rows as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.columns import aligned
from entity_tui.commands.options import json_option, print_json
from entity_tui.errors import UsageError
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.analysis.summary import Summary
    from entity_tui.records.arms_table import ArmLine
    from entity_tui.records.index import RunEntry
    from entity_tui.records.marked import MarkedComparison
    from entity_tui.records.run_directory import RunDirectory
    from entity_tui.records.store import RunStore

FORMATS = ("csv", "entity-bench", "llama-bench")


def _store() -> RunStore:
    from entity_tui.records.places import open_store

    return open_store()


@click.group()
def command() -> None:
    """List, compare, export and tag what was measured, from any device."""


@command.command("list")
@click.argument("filter_line", nargs=-1, metavar="[FILTER]...")
@click.option("--order", default="when", metavar="NAME", help="when, tok/s, tok/W, device, model or kind.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@json_option
def list_runs(filter_line: tuple[str, ...], order: str, limit: int, as_json: bool) -> None:
    """Newest first. FILTER: `device~CMF kind=bench since=30d tok/s>10`, all must hold."""
    now = datetime.now(UTC)
    with _store() as store:
        line = " ".join(filter_line)
        page = store.page(line, now=now, order=order, limit=limit)
        found, count, total = page.entries, page.matching, store.count(now=now)
    if as_json:
        print_json({"matching": count, "total": total, "runs": [asdict(entry) for entry in found]})
        return
    for text in _lines(found):
        click.echo(text)
    click.echo(f"{count} of {total} runs" + (f", {limit} shown" if count > limit else ""), err=True)


def _lines(found: tuple[RunEntry, ...]) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("when", "kind", "device", "model", "quant", "arm", "n", "tok/s", "W", "tok/W", "flags", "run")
    ]
    rows += [_cells(entry, arm) for entry in found for arm in entry.arms or (None,)]
    return aligned(rows)


def _cells(entry: RunEntry, arm: ArmLine | None) -> tuple[str, ...]:
    """One line of the list; a run without an arm shows its state."""
    return (
        entry.started_utc[5:16].replace("T", " "),
        entry.kind + (" sim" if entry.simulated else ""),
        printable(entry.device),
        printable(entry.model),
        entry.quant,
        printable(arm.arm) if arm else entry.state,
        str(arm.cells) if arm else "0",
        _number(arm.decode_tok_s if arm else None),
        _number(arm.power_w if arm else None),
        _number(arm.tok_per_w if arm else None),
        " ".join((*(arm.flags if arm else ()), *(f"#{tag}" for tag in entry.tags))),
        entry.session_id,
    )


def _number(value: float | None) -> str:
    return "—" if value is None else _digits(value, 3)


def _digits(value: float, digits: int) -> str:
    """So many significant digits, never as a power of ten."""
    shown = f"{float(f'{value:.{digits}g}'):f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


@command.command()
@click.argument("run")
@json_option
def show(run: str, as_json: bool) -> None:
    """One run: its arms, verdicts and what its order did to it. RUN is an id, its beginning, or a folder."""
    from entity_tui.records.arms_table import arm_lines
    from entity_tui.records.external import external_results
    from entity_tui.records.places import run_of
    from entity_tui.records.reanalysis import read_analysis
    from entity_tui.records.replication import replication_of
    from entity_tui.records.straggler_note import straggler_note
    from entity_tui.records.tables import arm_table

    with _store() as store:
        folder = run_of(run, store)
        found = read_analysis(folder)
        info = folder.info()
        beside = [item.sentence for item in replication_of(store, folder)]
        beside += [said] if (said := straggler_note(folder, found)) else []
    if as_json:
        lines = [asdict(line) for line in arm_lines(found.rows)]
        tables = arm_table(found.rows, found.declared.rules.planned_blocks)
        sentences = (*found.tables.sentences, *beside)
        print_json({**asdict(info), "arms": lines, "table": tables, "sentences": sentences})
        return
    simulated = f"  simulated, clock ×{info.clock_factor:g}" if info.simulated else ""
    click.echo(printable(f"{info.session_id}  {info.experiment}  {info.device_name}  {info.model_name}{simulated}"))
    click.echo(printable(f"{info.engine} {info.engine_build}  started {info.started_utc}  {info.state}"))
    for line in arm_lines(found.rows):
        click.echo(printable(_arm_text(asdict(line))))
    for sentence in (*found.tables.sentences, *beside):
        click.echo(printable(sentence))
    for item in external_results(folder):
        words = f"typed by hand, never analysed: {item.label} {item.value:g} {item.unit} ({item.source})"
        click.echo(printable(words))


def _arm_text(line: dict[str, Any]) -> str:
    sd = f" ±{_digits(line['decode_sd'], 2)}" if line["decode_sd"] is not None else " 1×" if line["cells"] == 1 else ""
    rate, prompt = _number(line["decode_tok_s"]), _number(line["prompt_tok_s"])
    return (
        f"  {line['arm']:16} {line['threads']:>3} thr  mask {line['mask'] or '—':6} n {line['cells']:<3}"
        f" decode {rate}{sd} tok/s  prompt {prompt}  {' '.join(line['flags'])}"
    ).rstrip()


@command.command()
@click.argument("a")
@click.argument("b")
@json_option
def compare(a: str, b: str, as_json: bool) -> None:
    """Two arms, each written RUN:ARM. Values always; an interval only within one session."""
    from entity_tui.records.marked import compare_marked

    with _store() as store:
        (a_run, a_arm), (b_run, b_arm) = _marked(a, store), _marked(b, store)
        found = compare_marked(a_run.rows(), a_arm, b_run.rows(), b_arm)
        declared = _declared(a_run, {a_arm, b_arm}) if found.same_session and a_arm != b_arm else {}
    if as_json:
        verdicts = list(declared.values())
        print_json({**asdict(found), "comparable": found.comparable, "summary": found.summary, "declared": verdicts})
        return
    for text in (*_compared(found, a_arm, b_arm, declared), *declared.values()):
        click.echo(printable(text))


def _declared(run: RunDirectory, arms: set[str]) -> dict[str, str]:
    """The verdict sentences of what the plan declared about two arms, by metric."""
    from entity_tui.analysis.sentences import verdict_sentence
    from entity_tui.records.reanalysis import read_analysis

    judgements = read_analysis(run).analysis.judgements
    mine = [item for item in judgements if {item.comparison.baseline, item.comparison.treatment} == arms]
    return {item.comparison.metric: verdict_sentence(item) for item in mine}


def _marked(name: str, store: RunStore) -> tuple[RunDirectory, str]:
    from entity_tui.records.places import run_of

    run, _, arm = name.rpartition(":")
    if not run:
        raise UsageError(f"{name} names no arm", fix="write RUN:ARM, such as 2026…:optimized")
    folder = run_of(run, store)
    arms = tuple(dict.fromkeys(row.arm for row in folder.rows() if row.arm))
    if arm not in arms:
        raise UsageError(f"the run has no arm {arm}", detail=", ".join(arms))
    return folder, arm


def _compared(found: MarkedComparison, a_arm: str, b_arm: str, declared: Mapping[str, str]) -> list[str]:
    lines = [f"{'':33} {'a ' + a_arm:18} {'b ' + b_arm:18} a / b"]
    for line in found.lines:
        a, b = _value(line.a), _value(line.b)
        ratio = "" if line.ratio is None else f"×{line.ratio:.3f}"
        if line.paired and line.paired.low is not None and line.paired.high is not None:
            coverage = 100 * (line.paired.coverage or 0)
            word = "declared" if line.metric in declared else "exploratory"
            ratio += f"  ×{line.paired.low:.3f} to ×{line.paired.high:.3f} ({coverage:.1f} %, {word})"
        lines.append(f"{line.words + ', ' + line.unit:33} {a:18} {b:18} {ratio}".rstrip())
    lines.append(found.summary)
    if not found.comparable:
        lines.append("Not comparable: the values are shown, nothing follows from their ratio.")
    elif not found.same_session:
        lines.append("Different sessions: values only, no interval.")
    lines += [f"same: {', '.join(found.same)}"] if found.same else []
    return lines + ([f"differs: {', '.join(found.differs)}"] if found.differs else [])


def _value(summary: Summary | None) -> str:
    if summary is None:
        return "—"
    return _digits(summary.median, 4) + (f" ±{_digits(summary.sd, 2)}" if summary.sd is not None else "")


@command.command()
@click.argument("filter_line", nargs=-1, metavar="RUN|[FILTER]...")
@click.option("--format", "format_name", type=click.Choice(FORMATS), default="csv", show_default=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of stdout.")
def export(filter_line: tuple[str, ...], format_name: str, output: Path | None) -> None:
    """The rows of a run, or of every run a filter selects; entity-bench and llama-bench take one run."""
    from entity_tui.records.files import write_whole
    from entity_tui.records.run_export import exported

    with _store() as store:
        text = exported(store, " ".join(filter_line), format_name, datetime.now(UTC))
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    click.echo(str(output), err=True)


@command.command()
@click.argument("filter_line", nargs=-1, metavar="[FILTER]...")
@click.option("--metric", default="decode_tok_s", show_default=True, help="Any metric of rows.csv.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV on stdout.")
def table(filter_line: tuple[str, ...], metric: str, as_csv: bool) -> None:
    """One line a run, one column an arm: medians beside each other, never pooled."""
    from entity_tui.records.export import table_csv
    from entity_tui.records.frame import table_lines

    with _store() as store:
        entries = store.select(" ".join(filter_line), now=datetime.now(UTC), limit=1000)
        rows = list(store.rows(entry.session_id for entry in entries))
    lines = table_lines(rows, metric)
    if as_csv:
        click.echo(table_csv(lines), nl=False)
        return
    header = list(lines[0]) if lines else []
    for text in aligned([header, *(list(line.values()) for line in lines)]):
        click.echo(printable(text))


@command.command()
@click.argument("run")
@click.argument("tags", nargs=-1)
@click.option("--remove", is_flag=True, help="Take the tags away instead of adding them.")
def tag(run: str, tags: tuple[str, ...], remove: bool) -> None:
    """Add tags to a run, or print the ones it has."""
    with _store() as store:
        held = set(store.find(run).tags())
        if tags:
            held = held - set(tags) if remove else held | set(tags)
            store.tag(run, held)
    for name in sorted(held):
        click.echo(printable(name))


@command.command()
@click.argument("run")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(run: str, yes: bool) -> None:
    """Remove a run's folder for good."""
    with _store() as store:
        found = store.find(run)
        if not yes:
            click.confirm(f"Delete {found.session_id} and every file in {found.path}?", abort=True, err=True)
        store.delete(found.session_id)
    click.echo(f"deleted {found.session_id}", err=True)


@command.command()
@click.argument("run")
@click.argument("label")
@click.argument("value", type=float)
@click.argument("unit")
@click.option("--source", required=True, help="Where the number comes from; it is shown beside it.")
def note(run: str, label: str, value: float, unit: str, source: str) -> None:
    """Type in a result from elsewhere: shown beside the run with its source, never analysed."""
    from entity_tui.records.external import ExternalResult, add_external

    with _store() as store:
        add_external(store.find(run), ExternalResult(label, value, unit, source, datetime.now(UTC).isoformat()))
    click.echo(json.dumps({"label": label, "value": value, "unit": unit, "source": source}), err=True)
