"""`entity-tui models`: what is in a model file, which ones a device has, and how they get there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui import config
from entity_tui.commands.model_files import COMMANDS as FILE_COMMANDS
from entity_tui.commands.model_quality import COMMANDS as QUALITY_COMMANDS
from entity_tui.commands.options import (
    device_options,
    json_option,
    print_json,
    read_snapshot_file,
    snapshot_option,
    with_device,
)
from entity_tui.errors import DeviceUnreachable, UsageError

if TYPE_CHECKING:
    from entity_tui.models.view import ModelRow
    from entity_tui.transport.base import Transport


@click.group(invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """What is in a model file, and which ones the device has; without a sub-command, the list."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, device=None, speed=None, snapshot=None, catalog=False, order="fit", as_json=False)


@command.command("list")
@device_options
@snapshot_option
@click.option("--catalog", is_flag=True, help="Also models that could be downloaded; needs no phone.")
@click.option("--order", type=click.Choice(["fit", "size", "name", "speed"]), default="fit", show_default=True)
@json_option
def list_models(
    device: str | None, speed: float | None, snapshot: Path | None, catalog: bool, order: str, as_json: bool
) -> None:
    """Models on the device with fit, prediction and measurement; `~` is predicted."""
    from entity_tui.models.view import sort_rows

    look = _rows(device, speed, snapshot, catalog)
    rows, free_space = look.rows, look.free_bytes
    rows = sort_rows(rows, order)
    here = [row for row in rows if row.path]
    used = sum(row.size_bytes for row in here)
    if as_json:
        from entity_tui.models.row_json import row_json

        storage = {"files": len(here), "models_bytes": used, "free_bytes": free_space}
        about = {"device": look.device, "simulated": look.simulated, "storage": storage}
        print_json({**about, "models": [row_json(row) for row in rows]})
        return
    from entity_tui.commands.model_tables import print_rows
    from entity_tui.models.fit import size_words

    print_rows(rows)
    if look.simulated:
        click.echo("simulated phone", err=True)
    if free_space is not None:
        click.echo(f"{len(here)} files, {size_words(used)} used, {size_words(free_space)} free", err=True)


@dataclass(frozen=True, slots=True)
class _Listed:
    """What the list shows, and of which device."""

    rows: tuple[ModelRow, ...]
    device: str = ""
    simulated: bool = False
    free_bytes: int | None = None


def _rows(device: str | None, speed: float | None, snapshot: Path | None, catalog: bool) -> _Listed:
    """Rows of a device, or of the catalog for a snapshot or for no device at all."""
    from entity_tui.engine.model_rows import catalog_rows, known_of
    from entity_tui.engine.own_catalog import load_catalog

    entries = load_catalog(config.config_folder())
    if snapshot is not None:
        if device is not None:
            raise UsageError("--device and --snapshot exclude each other", fix="name one of them")
        from entity_tui.device.facts import read_facts

        facts = read_facts(read_snapshot_file(snapshot))
        return _Listed(catalog_rows(entries, known_of(facts, taken_at="snapshot")), str(snapshot))

    async def work(transport: Transport) -> _Listed:
        from entity_tui.model_survey import free_space_bytes, survey

        rows = await survey(transport, entries, catalog=catalog)
        return _Listed(rows, transport.spec, transport.simulated, await free_space_bytes(transport))

    try:
        return with_device(device, work, speed=speed)
    except DeviceUnreachable:
        if not catalog or device is not None:
            raise
        click.echo("no phone is connected: the catalog without fit", err=True)
        return _Listed(catalog_rows(entries, known_of(None)))


@command.command()
@click.argument("model")
@device_options
@snapshot_option
@click.option("--tensors", is_flag=True, help="List every tensor.")
@click.option("--free", metavar="SIZE", help="Judge the fit against this much free memory, such as 3.4GiB.")
@json_option
def inspect(
    model: str,
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    tensors: bool,
    free: str | None,
    as_json: bool,
) -> None:
    """Census, model card and KleidiAI coverage of a FILE here, or of one on the device (--device).

    Only the header is read; over a link only its bytes are transferred.
    """
    from entity_tui.commands.model_tables import print_inspection
    from entity_tui.commands.sizes import parse_size

    row = _inspected(model, device, speed, snapshot, parse_size(free) if free else None)
    if as_json:
        from entity_tui.models.row_json import census_json, row_json

        value = row_json(row)
        if row.census is not None:
            value["census"] = census_json(row.census, tensors=tensors)
        print_json(value)
    else:
        print_inspection(row, tensors=tensors)


def _inspected(
    model: str, device: str | None, speed: float | None, snapshot: Path | None, free_bytes: int | None
) -> ModelRow:
    from dataclasses import replace

    from entity_tui.engine.model_files import local_census
    from entity_tui.engine.model_rows import known_of
    from entity_tui.engine.own_catalog import load_catalog
    from entity_tui.engine.select import local_model
    from entity_tui.models.fit import MemoryReading
    from entity_tui.models.view import Place, file_row

    entries = load_catalog(config.config_folder())
    if device is not None:

        async def work(transport: Transport) -> ModelRow:
            from entity_tui.model_survey import survey_one

            return await survey_one(transport, model, entries)

        return with_device(device, work, speed=speed)
    path = Path(model).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {model}.", fix="For a file on a phone add --device NAME.")
    facts = None
    if snapshot is not None:
        from entity_tui.device.facts import read_facts

        facts = read_facts(read_snapshot_file(snapshot))
    known = known_of(facts, taken_at="snapshot" if facts else "")
    if free_bytes is not None:
        known = replace(known, memory=MemoryReading(free_bytes, source="--free"))
    return file_row(local_model(path.resolve()), local_census(path), known, catalog=entries, place=Place.LAPTOP)


for _extra in (*FILE_COMMANDS, *QUALITY_COMMANDS):
    command.add_command(_extra)
