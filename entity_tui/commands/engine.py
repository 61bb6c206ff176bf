"""`entity-tui engine`: find, install and check llama.cpp on the device."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui import config
from entity_tui.commands.model_files import progress_line
from entity_tui.commands.options import device_options, json_option, print_json, with_device
from entity_tui.models.fit import size_words
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.engine.build import EngineBuild
    from entity_tui.engine.check import EngineCheck
    from entity_tui.engine.install import Installed
    from entity_tui.transport.base import Transport

SIGNS = {"ok": "●", "failed": "✖", "note": "○", "skipped": "·"}


@click.group()
def command() -> None:
    """Find, install and check llama.cpp on the device."""


def engine_json(engine: EngineBuild) -> dict[str, Any]:
    """An engine as plain JSON values."""
    return {
        "name": engine.name,
        "build": engine.build,
        "build_source": engine.build_source,
        "directory": engine.directory,
        "programs": sorted(engine.executables),
        "variant_list": engine.variant_list.value,
        "variants": list(engine.variants),
    }


@command.command("list")
@device_options
@json_option
def list_engines(device: str | None, speed: float | None, as_json: bool) -> None:
    """Engines that are on the device: our own folder, /data/local/tmp, Termux, PATH."""
    from entity_tui.engine.find import find_engines

    engines = with_device(device, find_engines, speed=speed)
    if as_json:
        print_json({"engines": [engine_json(engine) for engine in engines]})
        return
    for engine in engines:
        variants = f"{len(engine.variants)} {engine.variant_list.value} variants" if engine.variants else "no variants"
        click.echo(printable(f"{engine.label}  {engine.directory}  {variants}"))
    if not engines:
        click.echo("no llama.cpp on this device; entity-tui engine install ARCHIVE puts one there", err=True)


@command.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@device_options
@json_option
def install(path: Path, device: str | None, speed: float | None, as_json: bool) -> None:
    """Install a llama.cpp folder or archive: all libraries, unchanged files skipped by their hash."""
    from entity_tui.engine.archive import open_engine
    from entity_tui.engine.install import install as install_engine

    engine = open_engine(path, config.data_folder() / "engines")

    async def work(transport: Transport) -> Installed:
        lines: dict[str, Any] = {}

        def show(name: str, done: int, total: int) -> None:
            lines.setdefault(name, progress_line(name))(done, total)

        return await install_engine(transport, engine, progress=show)

    done = with_device(device, work, speed=speed)
    if as_json:
        print_json(
            {
                "engine": engine_json(done.engine),
                "sent": list(done.sent),
                "unchanged": list(done.unchanged),
                "removed": list(done.removed),
                "sent_bytes": done.sent_bytes,
                "needs": list(done.needs),
            }
        )
        return
    click.echo(printable(done.engine.directory))
    removed = f", {len(done.removed)} of a former build removed" if done.removed else ""
    click.echo(
        f"{done.engine.label}: {len(done.sent)} files sent ({size_words(done.sent_bytes)}), "
        f"{len(done.unchanged)} unchanged{removed}",
        err=True,
    )


@command.command()
@click.argument("engine", default="")
@device_options
@click.option("--model", default="", help="The model for the known answer; the smallest one there if not named.")
@click.option("--no-answer", is_flag=True, help="Leave the known answer out.")
@json_option
def check(engine: str, device: str | None, speed: float | None, model: str, no_answer: bool, as_json: bool) -> None:
    """Check an engine: machine, minimum CPU, libraries, the variant it loads, one known answer. Exit 1 if it fails."""

    async def work(transport: Transport) -> EngineCheck:
        from entity_tui.device.facts import read_facts
        from entity_tui.engine.check import check_engine
        from entity_tui.engine.select import choose_engine, choose_model
        from entity_tui.errors import UsageError
        from entity_tui.experiments.probe import probe

        chosen = await choose_engine(transport, engine, unpacked=config.data_folder() / "engines")
        facts = read_facts(await probe(transport))
        file = None
        if not no_answer:
            try:
                file = await choose_model(transport, model, folders=[config.data_folder() / "models"])
            except UsageError:
                if model:
                    raise
        return await check_engine(transport, chosen, facts.isa, model=file)

    found = with_device(device, work, speed=speed)
    if as_json:
        print_json(
            {
                "engine": engine_json(found.engine),
                "ok": found.ok,
                "build": found.build,
                "predicted": found.predicted,
                "loaded": found.loaded,
                "launched": found.launched,
                "simulated": found.simulated,
                "items": [asdict(item) for item in found.items],
                "variants": [asdict(verdict) for verdict in found.verdicts],
            }
        )
    else:
        _print(found)
    if not found.ok:
        raise click.exceptions.Exit(1)


def _print(found: EngineCheck) -> None:
    marked = "  simulated" if found.simulated else ""
    click.echo(printable(f"{found.engine.name} {found.build}  {found.engine.directory}{marked}"))
    for item in found.items:
        click.echo(printable(f"{SIGNS[item.result.value]} {item.name:<13} {item.words}"))
        if item.fix:
            click.echo(printable(f"  {'':<13} {item.fix}"))
    for verdict in found.verdicts:
        mark = "loaded" if verdict.name == found.loaded else "predicted" if verdict.name == found.predicted else ""
        lacks = f"lacks {', '.join(verdict.missing)}" if verdict.missing else mark
        click.echo(printable(f"    {verdict.name:<22} {lacks}"))
    if not found.launched:
        click.echo("nothing was launched", err=True)
