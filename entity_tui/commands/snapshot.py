"""`entity-tui snapshot`: everything a device says of itself, saved to one file, or a saved file shown."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui.commands.options import device_options, json_option, print_json, read_snapshot_file, take_snapshot

if TYPE_CHECKING:
    from entity_tui.device.snapshot import Reading


@click.group()
def command() -> None:
    """Save everything the device says of itself to a file, or show such a file."""


@command.command()
@device_options
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--keep-ids", is_flag=True, help="Keep serial numbers, addresses and accounts.")
def save(device: str | None, speed: float | None, file: Path, keep_ids: bool) -> None:
    """Probe the device and write FILE; serials, addresses and accounts are taken out unless asked otherwise."""
    from entity_tui.device.redaction import redact
    from entity_tui.device.snapshot import dumps
    from entity_tui.errors import UsageError

    snapshot = take_snapshot(device, None, speed=speed)
    if not keep_ids:
        snapshot = redact(snapshot)
    part = file.with_name(file.name + ".part")
    try:
        part.write_text(dumps(snapshot), encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}", detail=str(error)) from error
    outcomes = Counter(reading.outcome.value for reading in (*snapshot.files.values(), *snapshot.commands.values()))
    words = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items(), key=lambda item: -item[1]))
    ids = "serials, addresses and accounts kept" if keep_ids else "serials, addresses and accounts taken out"
    mark = "simulated · " if snapshot.simulated else ""
    click.echo(f"{mark}{file}: {words}, {len(snapshot.props)} properties; {ids}", err=True)


@command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--only", "word", default="", metavar="TEXT", help="Only sources that contain TEXT.")
@click.option("--failed", is_flag=True, help="Only what could not be read.")
@json_option
def show(file: Path, word: str, failed: bool, as_json: bool) -> None:
    """List what FILE holds, each source with its outcome; with --only, the texts themselves."""
    from entity_tui.device.snapshot import to_json
    from entity_tui.printable import printable

    snapshot = read_snapshot_file(file)
    if as_json:
        print_json(to_json(snapshot))
        return
    origin = snapshot.origin or snapshot.device_spec or "unknown device"
    click.echo(f"{'simulated · ' if snapshot.simulated else ''}{printable(origin)} {snapshot.taken_at_utc}".rstrip())
    for reading in (*snapshot.files.values(), *snapshot.commands.values()):
        if word not in reading.source or (failed and reading.ok):
            continue
        click.echo(f"{reading.outcome.value:<9} {printable(reading.source)}  {printable(_beside(reading))}".rstrip())
        if word and reading.ok:
            click.echo(printable(reading.text.rstrip("\n"), keep_newlines=True))
    for name, value in sorted(snapshot.props.items()):
        if word and word in name:
            click.echo(f"property  {printable(name)}  {printable(value)}")


def _beside(reading: Reading) -> str:
    """What stands beside a source: the device's words for a failure, or the size of the text."""
    if not reading.ok:
        return reading.detail.split("\n", 1)[0][:100]
    return f"{len(reading.text)} characters"
