"""`entity-tui pair`: make a phone trust this computer over Wi-Fi, by its code or by a QR shown here."""

from __future__ import annotations

import click

from entity_tui.commands.options import run_async
from entity_tui.errors import UsageError


@click.command()
@click.argument("address", required=False, metavar="[HOST:PORT]")
@click.argument("code", required=False)
@click.option("--qr", is_flag=True, help="Show a QR code; scan it under `Pair device with QR code` on the phone.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw the QR code without block characters.")
def command(address: str | None, code: str | None, qr: bool, ascii_only: bool) -> None:
    """Pair a phone over Wi-Fi.

    On the phone: Developer options, Wireless debugging, `Pair device with pairing code` shows HOST:PORT and CODE.
    """
    if qr == bool(address) or (address and not code):
        raise UsageError("pair needs HOST:PORT and CODE as the phone shows them, or --qr")
    words = run_async(_by_qr(ascii_only) if qr else _by_code(str(address), str(code)))
    click.echo(words)
    click.echo(
        "Now connect: `entity-tui --device adb:HOST:PORT`, the port is on the Wireless debugging page.", err=True
    )


async def _by_code(address: str, code: str) -> str:
    from entity_tui.pairing import pair_phone
    from entity_tui.printable import printable

    return printable(await pair_phone(address, code))


async def _by_qr(ascii_only: bool) -> str:
    from entity_tui.pairing import pair_by_qr
    from entity_tui.printable import printable
    from entity_tui.transport.qr import qr_lines

    def show(payload: str) -> None:
        for line in qr_lines(payload, ascii_only=ascii_only):
            click.echo(line, err=True)
        click.echo("Scan it on the phone: Developer options, Wireless debugging, Pair device with QR code.", err=True)

    return printable(await pair_by_qr(show))
