"""`entity-tui serve`: keep the device's server up and give any OpenAI client on this computer an address for it."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import click

from entity_tui.commands.options import ask_trust, device_options, run_async
from entity_tui.errors import EntityError
from entity_tui.printable import printable
from entity_tui.transport.base import TransportError

CHECK_S = 2.0


@click.command()
@device_options
@click.option("--engine", default="", metavar="PATH", help="Engine folder, when the device has several.")
@click.option("--model", default="", metavar="NAME", help="Model file on the device.")
@click.option("--context", type=click.IntRange(256, 131072), default=None, help="Context window; automatic without.")
@click.option("--threads", type=click.IntRange(1, 64), default=None, help="Decode threads; automatic without.")
@click.option("--placement", type=click.Choice(["auto", "perf_cores", "scheduler", "little_only"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="Print the address and key as one JSON object.")
@click.option("--log", "show_log", is_flag=True, help="Print the log of the last server and leave.")
@click.option("--keep", is_flag=True, help="Leave the server running on the device at the end.")
def command(**options: Any) -> None:
    """Serve the device's model on a loopback port of this computer until ctrl+c."""
    run_async(_log(options) if options["show_log"] else _serve(options))


async def _log(options: dict[str, Any]) -> None:
    from entity_tui.connect import connect_device
    from entity_tui.engine.server import LlamaServer

    async with connect_device(options["device"], speed=options["speed"], trust=ask_trust) as transport:
        click.echo(printable(await LlamaServer(transport).log_text(), keep_newlines=True))


async def _serve(options: dict[str, Any]) -> None:
    from entity_tui.chat.prepare import ChatSettings, prepare
    from entity_tui.connect import connect_device
    from entity_tui.device.facts import read_facts
    from entity_tui.engine.server import LlamaServer
    from entity_tui.experiments.probe import probe

    settings = ChatSettings(
        engine=options["engine"],
        model=options["model"],
        context_tokens=options["context"] or 0,
        threads=options["threads"] or 0,
        placement=options["placement"],
    )
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with connect_device(options["device"], speed=options["speed"], trust=ask_trust) as transport:
        prepared = await prepare(transport, read_facts(await probe(transport)), settings)
        server = LlamaServer(transport)
        try:
            status = await server.start(prepared.plan)
            _announce(server.local_port, status.key, prepared.model.name, transport.simulated, options["as_json"])
            while not ended.is_set():
                await _pause(ended)
                await _keep_up(server, options["as_json"])
        finally:
            if options["keep"]:
                await server.detach()
            else:
                await server.stop()
    click.echo("ended", err=True)


async def _pause(ended: asyncio.Event) -> None:
    import contextlib

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), CHECK_S)


async def _keep_up(server: Any, as_json: bool) -> None:
    """See that the server lives; make the forward again when the link came back (its port may change)."""
    try:
        why = await server.why_ended()
    except TransportError as error:
        click.echo(f"▲ {error.title}; waiting for the device", err=True)
        try:
            await server.transport.connect()
            await server.reconnect()
            click.echo(f"● back on http://127.0.0.1:{server.local_port}/v1", err=True)
        except EntityError:
            return
        return
    if why is not None:
        raise why


def _announce(port: int, key: str, model: str, simulated: bool, as_json: bool) -> None:
    base = f"http://127.0.0.1:{port}/v1"
    if as_json:
        row = {"base_url": base, "api_key": key, "model": model, "simulated": simulated}
        click.echo(json.dumps(row))
        return
    click.echo(f"export OPENAI_BASE_URL={base}")
    click.echo(f"export OPENAI_API_KEY={key}")
    suffix = " (simulated device)" if simulated else ""
    click.echo(
        f"{printable(model)} answers until ctrl+c{suffix}; any OpenAI client of this computer may use it", err=True
    )
