"""`entity-tui devices`: the picker's list, and the names devices are remembered by."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from entity_tui import config
from entity_tui.commands.options import json_option, print_json, run_async
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.transport.discover import DeviceRow

SIGNS = {"ready": "●", "connecting": "◐", "authorizing": "◐"}


@click.group(invoke_without_command=True)
@json_option
@click.option("--watch", is_flag=True, help="Stay and print every change (with --json, one line each).")
@click.pass_context
def command(ctx: click.Context, as_json: bool, watch: bool) -> None:
    """List the phones that can be reached, their states, and what to do about each."""
    if ctx.invoked_subcommand is not None:
        return
    if watch:
        run_async(_watch(as_json))
        return
    from entity_tui.discovery import reachable

    rows = run_async(reachable())
    if as_json:
        print_json([_row(row) for row in rows])
    else:
        _print(rows)


async def _watch(as_json: bool) -> None:
    from entity_tui.discovery import watch

    async for rows in watch():
        if as_json:
            click.echo(json.dumps([_row(row) for row in rows], ensure_ascii=False))
        else:
            _print(rows)
            click.echo("")


def _row(row: DeviceRow) -> dict[str, Any]:
    return {**asdict(row), "state": row.state.value}


def _print(rows: tuple[DeviceRow, ...]) -> None:
    from entity_tui.printable import printable

    width = max((len(printable(row.name)) for row in rows), default=4)
    for row in rows:
        sign = SIGNS.get(row.state.value, "▲")
        simulated = "  simulated" if row.simulated else ""
        name, spec = printable(row.name), printable(row.spec)
        click.echo(f"{name:{width}}  {row.via:13}  {sign} {row.state.value:13}  --device {spec}{simulated}")
        if row.fix:
            click.echo(f"{'':{width}}  → {row.fix}", err=True)


@command.command()
@click.argument("name")
@click.argument("spec")
def remember(name: str, spec: str) -> None:
    """Give a device a name of your own: `devices remember termux ssh:u0_a214@192.0.2.20:8022`."""
    from entity_tui.connect import parse_spec

    if name in ("local", "demo") or ":" in name:
        raise UsageError(f"{name!r} is a way to reach a device, not a name for one", fix="choose another name")
    config.remember(config.KnownDevice(name, parse_spec(spec).text))
    click.echo(f"{name} is {spec}, kept in {config.config_folder() / 'devices.yaml'}", err=True)


@command.command()
@click.argument("name")
def forget(name: str) -> None:
    """Forget a name; the device itself is not touched."""
    if not config.forget(name):
        raise UsageError(f"no device is remembered as {name!r}", fix="entity-tui devices lists them")
