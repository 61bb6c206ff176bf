"""`entity-tui predict`: how fast a model will be and whether it fits, before it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui import config
from entity_tui.commands.options import (
    device_options,
    json_option,
    print_json,
    read_snapshot_file,
    snapshot_option,
    with_device,
)
from entity_tui.commands.sizes import parse_size
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.models.catalog import CatalogEntry
    from entity_tui.models.view import Known, ModelRow
    from entity_tui.transport.base import Transport

WORKLOADS = {"balanced": "BALANCED", "long-prompt": "LONG_PROMPT", "long-generation": "LONG_GENERATION"}


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--chip", help="A measured chip instead of a phone: dimensity-7300, mt6878.")
@click.option("--free", metavar="SIZE", help="Memory the system can hand out, such as 3.4GiB.")
@device_options
@snapshot_option
@click.option("--probe", is_flag=True, help="Measure now: a short run of the smallest model on the device.")
@click.option("--method", type=click.Choice(["ours", "entity"]), default="ours", show_default=True)
@click.option("--bandwidth", type=click.FloatRange(min=0.0), help="ENTITY's memory reading, GB/s (method entity).")
@click.option("--score", type=click.FloatRange(min=0.0), help="ENTITY's compute reading, 1.0 on its anchor.")
@click.option("--isa", default="", help="Extensions for --score: dotprod, i8mm (comma-separated).")
@click.option("--workload", type=click.Choice(list(WORKLOADS)), help="Show this workload's recommendation only.")
@json_option
def command(
    models: tuple[str, ...],
    chip: str | None,
    free: str | None,
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    probe: bool,
    method: str,
    bandwidth: float | None,
    score: float | None,
    isa: str,
    workload: str | None,
    as_json: bool,
) -> None:
    """Predicted speed, fit and a recommendation for catalog models; every number with `~` and its basis.

    From this device's own runs when there are any, else from its chip in the dataset, else (--probe) from a short run.
    """
    from entity_tui.engine.own_catalog import load_catalog

    entries = _chosen(load_catalog(config.config_folder()), models)
    free_bytes = parse_size(free) if free else None
    if sum((chip is not None, device is not None, snapshot is not None)) > 1:
        raise UsageError("--chip, --device and --snapshot exclude each other", fix="name one of them")
    if method == "entity" or bandwidth is not None or score is not None:
        from entity_tui.commands.predict_entity import predict_entity

        predict_entity(entries, chip, snapshot, free_bytes, bandwidth, score, isa, workload, as_json=as_json)
        return
    rows = _rows(entries, chip, device, speed, snapshot, free_bytes, probe=probe)
    if models:
        wanted = {entry.file_name for entry in entries}
        rows = tuple(row for row in rows if row.file_name in wanted)
    picks = _picks(rows, workload)
    if as_json:
        from entity_tui.models.row_json import row_json

        print_json({"models": [row_json(row) for row in rows], "recommended": picks})
        return
    from entity_tui.commands.model_tables import print_rows
    from entity_tui.models.view import sort_rows

    print_rows(sort_rows(rows))
    print_picks(picks)
    if any(row.simulated for row in rows):
        click.echo("simulated phone", err=True)
    caveat = next((row.prediction.caveat for row in rows if row.prediction and row.prediction.caveat), "")
    if caveat:
        click.echo(f"▲ {caveat}", err=True)


def _chosen(entries: Sequence[CatalogEntry], names: Sequence[str]) -> tuple[CatalogEntry, ...]:
    from entity_tui.models.catalog import find_entry

    return tuple(find_entry(entries, name) for name in names) if names else tuple(entries)


def _rows(
    entries: Sequence[CatalogEntry],
    chip: str | None,
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    free_bytes: int | None,
    *,
    probe: bool,
) -> tuple[ModelRow, ...]:
    from entity_tui.engine.model_rows import catalog_rows, known_of

    if chip is not None:
        return catalog_rows(entries, _with_free(known_of_chip(chip), free_bytes))
    if snapshot is not None:
        from entity_tui.device.facts import read_facts

        known = known_of(read_facts(read_snapshot_file(snapshot)), taken_at="snapshot")
        return catalog_rows(entries, _with_free(known, free_bytes))

    async def work(transport: Transport) -> tuple[ModelRow, ...]:
        from entity_tui.model_survey import survey, survey_with_probe

        if probe:
            return await survey_with_probe(transport, entries, free_bytes=free_bytes)
        return await survey(transport, entries, catalog=True, free_bytes=free_bytes)

    return with_device(device, work, speed=speed)


def known_of_chip(name: str) -> Known:
    """What is known of a device from its chip alone. Raises UsageError with the chips that were measured."""
    from entity_tui.device.isa import IsaFeatures
    from entity_tui.models.catalog import chip_speeds, find_chip
    from entity_tui.models.predict import machine_of_chip
    from entity_tui.models.view import Known

    found = find_chip(name)
    if found is None:
        codes = ", ".join(f"{speed.code} ({speed.title})" for speed in chip_speeds())
        raise UsageError(
            f"The chip {name!r} is not in the dataset.",
            detail=codes,
            fix="Measure the phone instead: --device --probe.",
        )
    isa = IsaFeatures(
        dotprod=found.dotprod,
        i8mm=found.i8mm,
        fp16=found.dotprod,
        sme=False,
        sme2=False,
        architecture="arm64",
        source=f"{found.title} in the dataset",
    )
    return Known(isa=isa, machine=machine_of_chip(found))


def _with_free(known: Known, free_bytes: int | None) -> Known:
    from entity_tui.models.fit import MemoryReading

    return known if free_bytes is None else replace(known, memory=MemoryReading(free_bytes, source="--free"))


def _picks(rows: Sequence[ModelRow], workload: str | None) -> dict[str, Any]:
    """The recommendation for each workload, over models whose speed is predicted."""
    from entity_tui.models.view import recommended

    names = [workload] if workload else list(WORKLOADS)
    return {name: recommended(rows, WORKLOADS[name]) for name in names}


def print_picks(picks: dict[str, Any]) -> None:
    """One line per workload on stdout."""
    for name, pick in picks.items():
        if pick["pick"] is None:
            click.echo(f"{name}: no model on this list is usable here")
        else:
            second = f", then {pick['runner_up']}" if pick["runner_up"] else ""
            click.echo(f"{name}: {pick['pick']}{second}")
