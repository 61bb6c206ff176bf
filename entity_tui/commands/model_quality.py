"""`entity-tui models perplexity`: quality measured on the device itself, as a long job."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui import config
from entity_tui.commands.options import device_options, json_option, print_json, with_device
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.engine.perplexity import PerplexityResult
    from entity_tui.transport.base import Transport


@click.command()
@click.argument("model")
@click.option("--text", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True, help="The text.")
@click.option("--chunks", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--context", "context_tokens", type=click.IntRange(32, 32_768), default=512, show_default=True)
@click.option("--threads", type=click.IntRange(1, 64), help="Fixed for the whole job; the prompt width if not named.")
@click.option("--engine", default="", help="The engine's folder or build, when there are several.")
@device_options
@json_option
def perplexity(
    model: str,
    text: Path,
    chunks: int,
    context_tokens: int,
    threads: int | None,
    engine: str,
    device: str | None,
    speed: float | None,
    as_json: bool,
) -> None:
    """Perplexity of a model over a text, computed on the device; lower is better.

    The job goes on when this program ends; the same command picks it up. The estimate after every chunk is kept.
    """

    async def work(transport: Transport) -> PerplexityResult:
        from entity_tui.device.facts import read_facts
        from entity_tui.engine.perplexity import PerplexityJob, make_plan
        from entity_tui.engine.select import choose_engine, choose_model
        from entity_tui.experiments.probe import probe
        from entity_tui.silicon.widths import widths

        chosen = await choose_engine(transport, engine, unpacked=config.data_folder() / "engines")
        file = await choose_model(transport, model, folders=[config.data_folder() / "models"])
        found = widths(read_facts(await probe(transport)).topology)
        plan = make_plan(
            chosen,
            file,
            text,
            chunks=chunks,
            context_tokens=context_tokens,
            threads=threads or found.prefill,
            mask=found.prefill_mask if threads is None else "",
        )

        def show(number: int, value: float) -> None:
            click.echo(f"chunk {number}/{chunks}  perplexity so far {value:.4f}", err=True)

        return await PerplexityJob(transport, plan).run(text, on_chunk=show)

    result = with_device(device, work, speed=speed)
    path = save(result, config.data_folder() / "perplexity")
    if as_json:
        print_json({**asdict(result), "key": result.plan.key, "record": str(path)})
        return
    name = printable(result.plan.model_path.rsplit("/", 1)[-1])
    marked = "  simulated" if result.simulated else ""
    error = f" ± {result.error:.4f} (standard error)" if result.error is not None else ""
    click.echo(f"{name}  perplexity {result.final:.4f}{error}  {len(result.series)} chunks{marked}")
    click.echo(f"series kept in {path}", err=True)


def save(result: PerplexityResult, folder: Path) -> Path:
    """Keep a result: what was run as JSON, the series as CSV beside it. Returns the CSV's path."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{stamp}-{result.plan.key}.csv"
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["chunk", "perplexity_so_far"])
    writer.writerows(enumerate(result.series, 1))
    path.write_text(lines.getvalue(), encoding="utf-8")
    about = {**asdict(result), "taken_at_utc": stamp}
    path.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return path


COMMANDS: tuple[click.Command, ...] = (perplexity,)
"""The sub-commands about quality."""
