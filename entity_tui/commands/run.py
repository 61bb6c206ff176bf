"""`entity-tui run`: runs that are on a device, whoever started them: list, attach, stop, collect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from entity_tui import config
from entity_tui.commands.options import device_options, json_option, print_json, with_device
from entity_tui.errors import UsageError
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.experiments.follow import RunOnDevice
    from entity_tui.transport.base import Transport


@dataclass(frozen=True, slots=True)
class _Known:
    run: RunOnDevice
    here: bool
    """True when this computer has a folder of the run."""


async def _all(transport: Transport) -> list[_Known]:
    from entity_tui.experiments.follow import runs_on
    from entity_tui.records.store import RunStore

    with RunStore(config.data_folder()) as store:
        return [_Known(run, store.run(run.session_id).path.exists()) for run in await runs_on(transport)]


async def _chosen(transport: Transport, session: str | None) -> _Known:
    """The named run, else the one in flight, else the newest. UsageError when there is none."""
    runs = await _all(transport)
    if session is not None:
        named = [item for item in runs if item.run.session_id == session]
        if not named:
            raise UsageError(f"there is no run {session} on this device", fix="entity-tui run list shows what is there")
        return named[0]
    flying = [item for item in runs if item.run.state.value == "running"]
    if flying or runs:
        return (flying or sorted(runs, key=lambda item: item.run.session_id))[-1]
    raise UsageError("there is no run on this device", fix="entity-tui bench starts one")


@click.group()
def command() -> None:
    """Attach to, stop or collect a run that is on the device."""


@command.command("list")
@device_options
@json_option
def list_runs(device: str | None, speed: float | None, as_json: bool) -> None:
    """Every run folder on the device and what it is up to."""
    runs = with_device(device, _all, speed=speed)
    if as_json:
        rows = [
            {"session_id": item.run.session_id, "state": item.run.state.value, "known_here": item.here} for item in runs
        ]
        print_json(rows)
        return
    if not runs:
        click.echo("no runs on this device", err=True)
    for item in runs:
        origin = "" if item.here else "  started by another computer"
        click.echo(f"{printable(item.run.session_id)}  {item.run.state.value:8}{origin}")


@command.command()
@click.argument("session", required=False)
@device_options
@json_option
def attach(session: str | None, device: str | None, speed: float | None, as_json: bool) -> None:
    """Follow a run to its end and keep its rows here, also one that another computer started."""
    _take(session, device, speed, as_json)


@command.command()
@click.argument("session", required=False)
@device_options
@json_option
def collect(session: str | None, device: str | None, speed: float | None, as_json: bool) -> None:
    """Fetch what a run has finished; one in flight is followed to its end."""
    _take(session, device, speed, as_json)


def _take(session: str | None, device: str | None, speed: float | None, as_json: bool) -> None:
    from entity_tui.commands.plan_output import Teller, print_result, result_json

    async def work(transport: Transport) -> None:
        from entity_tui.experiments import run as runs
        from entity_tui.experiments.adopt import adopt
        from entity_tui.records.store import RunStore

        chosen = await _chosen(transport, session)
        with RunStore(config.data_folder()) as store:
            await adopt(transport, store, chosen.run.session_id)
            take = runs.resume if chosen.run.state.value == "broken" else runs.collect
            result = await take(transport, store, chosen.run.session_id, Teller(as_jsonl=False))
            if as_json:
                print_json(result_json(result))
            else:
                print_result(result)

    with_device(device, work, speed=speed)


@command.command()
@click.argument("session", required=False)
@device_options
@click.option("--now", is_flag=True, help="Do not wait for the end of the cell; it ends as cancelled.")
def stop(session: str | None, device: str | None, speed: float | None, now: bool) -> None:
    """Stop a run after its cell; what is finished is kept."""

    async def work(transport: Transport) -> None:
        from entity_tui.experiments.follow import stop as stop_run

        chosen = await _chosen(transport, session)
        if chosen.run.state.value != "running":
            raise UsageError(
                f"the run {chosen.run.session_id} is not in flight", fix="entity-tui run collect fetches it"
            )
        await stop_run(transport, chosen.run.session_id, now=now)
        when = "now" if now else "after this cell"
        click.echo(f"{chosen.run.session_id} stops {when}", err=True)

    with_device(device, work, speed=speed)
