"""`entity-tui sim`: a simulated phone in the foreground, and `sim ctl` to pull its cable while it runs."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.errors import DeviceUnreachable, UsageError

if TYPE_CHECKING:
    from entity_tui.sim.keep import KeptPhone
    from entity_tui.sim.launch import DemoPhone


@click.group(invoke_without_command=True)
@click.option("--profile", default="cmf-phone-1", metavar="NAME|FILE", help="A demo profile or a saved snapshot.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Loopback port of its adb; 0 takes a free one.")
@click.option("--speed", type=click.IntRange(1, 1000), default=1, help="How much faster than real time its clock runs.")
@click.option("--engine", type=click.Path(exists=True, path_type=Path), help="A real llama.cpp folder or archive.")
@click.option("--qemu-cpu", metavar="CPU", help="For an aarch64 engine: the -cpu of qemu, such as cortex-a76 or max.")
@click.option("--shell", type=click.Choice(["mksh", "dash", "ash"]), help="What runs its commands.")
@click.option("--tools", type=click.Choice(["toybox", "busybox", "coreutils"]), help="What is in its /system/bin.")
@click.option("--must-authorize", is_flag=True, help="Ask on the phone's screen before a computer is let in.")
@click.option(
    "--enclosure", type=click.Choice(["root", "user", "prefix"]), help="How it is shut off; default the best."
)
@click.pass_context
def command(
    ctx: click.Context,
    profile: str,
    port: int,
    speed: int,
    engine: Path | None,
    qemu_cpu: str | None,
    shell: str | None,
    tools: str | None,
    must_authorize: bool,
    enclosure: str | None,
) -> None:
    """Run a simulated phone until ctrl+c; any adb connects to it. Everything it measures says so."""
    if ctx.invoked_subcommand is not None:
        return
    options: list[str] = ["--must-authorize"] if must_authorize else []
    for name, value in (("qemu-cpu", qemu_cpu), ("shell", shell), ("tools", tools), ("enclosure", enclosure)):
        if value:
            options += [f"--{name}", value]
    asyncio.run(_foreground(profile, port, speed, engine, tuple(options)))


async def _foreground(profile: str, port: int, speed: int, engine: Path | None, options: tuple[str, ...]) -> None:
    from entity_tui.sim.keep import noted
    from entity_tui.sim.launch import demo_phone

    async with demo_phone(profile, float(speed), engine, port, options=options) as phone:
        row: dict[str, object] = {
            "address": phone.address,
            "pid": phone.pid,
            "profile": phone.profile,
            "speed": phone.speed,
            "ctl": str(phone.ctl.path),
        }
        with noted(row):
            _introduce(phone, await phone.ctl("status"))
            while True:
                try:
                    await phone.ctl("status")
                except DeviceUnreachable:
                    return
                await asyncio.sleep(1.0)


def _introduce(phone: DemoPhone, status: str) -> None:
    """What the user can type next."""
    state = json.loads(status)
    click.echo(f"simulated phone {phone.profile} at {phone.address}", err=True)
    if phone.speed != 1:
        click.echo(f"its clock runs {phone.speed:g} times as fast as yours", err=True)
    if state["enclosure"] == "prefix":
        click.echo("no namespaces on this computer: absolute paths outside the phone are refused", err=True)
        for reason in state["refused_enclosures"]:
            click.echo(f"  {reason}", err=True)
    click.echo("", err=True)
    for line in (
        f"adb connect {phone.address}",
        f"adb -s {phone.address} shell getprop ro.product.model",
        f"entity-tui --device adb:{phone.address}",
        "entity-tui sim ctl status        (sim ctl --help lists what can happen to it)",
    ):
        click.echo(f"  {line}", err=True)
    click.echo("\nctrl+c ends it", err=True)
    sys.stderr.flush()


@command.command("ctl", context_settings={"ignore_unknown_options": True})
@click.option("--at", metavar="ADDRESS|PROFILE", help="Which phone, when several run.")
@click.option("--profile", metavar="NAME", help="The same, by its profile.")
@click.argument("words", nargs=-1, required=True)
def ctl(at: str | None, profile: str | None, words: tuple[str, ...]) -> None:
    """Make something happen to a running phone.

    \b
    status                   what it is and does, as JSON
    drop [S]                 cut the connection; refuse new ones for S seconds
    freeze / thaw            stop answering, the connection stays up
    slow MS                  answer MS milliseconds later
    reboot [S]               be off for S seconds, come back with another boot id
    offline-core N / online-core N
    fill-disk / free-disk
    charge on|off
    thermal-status N|auto
    heat C                   set the body's temperature
    load SHARE [CPUS]        other work on some cores
    unauthorize / authorize
    off                      end it
    """
    asyncio.run(_steer(at or profile, words))


async def _steer(which: str | None, words: tuple[str, ...]) -> None:
    phone = _choose(await _running(), which)
    click.echo(await phone.ctl(*words))


async def _running() -> tuple[KeptPhone, ...]:
    from entity_tui.sim.keep import running_phones

    return await running_phones()


def _choose(phones: tuple[KeptPhone, ...], which: str | None) -> KeptPhone:
    """The phone that is meant. Raises DeviceUnreachable for none, UsageError when several fit."""
    fitting = [phone for phone in phones if which in (None, phone.address, phone.profile)]
    if not fitting:
        raise DeviceUnreachable(
            "no simulated phone runs" + (f" as {which}" if which else ""), fix="start one with `entity-tui sim`"
        )
    if len(fitting) > 1:
        names = ", ".join(f"{phone.address} ({phone.profile})" for phone in fitting)
        raise UsageError("several simulated phones run", detail=names, fix="name one with --at ADDRESS")
    return fitting[0]


@command.command("list")
@json_option
def list_phones(as_json: bool) -> None:
    """The simulated phones that run, and the demo profiles there are."""
    from entity_tui.sim.profile import demo_profile_names

    phones = asyncio.run(_running())
    rows = [
        {"address": phone.address, "profile": phone.profile, "speed": phone.speed, "pid": phone.pid} for phone in phones
    ]
    if as_json:
        print_json({"running": rows, "profiles": list(demo_profile_names()), "simulated": True})
        return
    for phone in phones:
        click.echo(f"{phone.address}  {phone.profile}  clock x{phone.speed:g}")
    click.echo(f"profiles: {', '.join(demo_profile_names())}", err=True)
