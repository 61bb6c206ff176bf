"""`entity-tui doctor`: what is in the way of a measurement, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict

import click

from entity_tui.commands.options import ask_trust, json_option, print_json, run_async
from entity_tui.diagnosis import Check, Grade
from entity_tui.errors import EntityError
from entity_tui.printable import printable

SIGNS = {Grade.GOOD: "●", Grade.NOTE: "▲", Grade.BAD: "✖"}


@click.command()
@click.option("--device", metavar="NAME", help="Also look at this device.")
@click.option("--speed", type=float, default=None, hidden=True)
@json_option
@click.pass_context
def command(ctx: click.Context, device: str | None, speed: float | None, as_json: bool) -> None:
    """Check this computer and, with --device, a device; exit 1 when something is broken."""
    checks = run_async(_all(device, speed, quiet=as_json))
    if as_json:
        print_json([{**asdict(check), "grade": check.grade.value} for check in checks])
    ctx.exit(1 if any(check.grade is Grade.BAD for check in checks) else 0)


async def _all(device: str | None, speed: float | None, *, quiet: bool) -> list[Check]:
    from entity_tui.connect import connect_device
    from entity_tui.diagnosis import check_device, check_host

    checks: list[Check] = []

    def say(check: Check) -> None:
        checks.append(check)
        if not quiet:
            click.echo(f"{SIGNS[check.grade]} {printable(check.name):16} {printable(check.found)}")
            if check.fix:
                click.echo(f"  → {check.fix}")

    async for check in check_host():
        say(check)
    if device is not None:
        try:
            async with connect_device(device, speed=speed, trust=ask_trust) as transport:
                async for check in check_device(transport):
                    say(check)
        except EntityError as error:
            say(Check(f"device {device}", Grade.BAD, f"{error.title} {error.detail}".strip(), error.fix))
    return checks
