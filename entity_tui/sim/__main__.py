"""`python -m entity_tui.sim`: one simulated phone as a process; it prints one JSON line and lives while stdin does."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from entity_tui.errors import EntityError
from entity_tui.sim.ctl import serve_control
from entity_tui.sim.enclosure import EnclosureKind
from entity_tui.sim.packets import VERSION_CHECKSUM, VERSION_SKIP_CHECKSUM
from entity_tui.sim.phone import Phone
from entity_tui.sim.profile import load_image
from entity_tui.sim.words import Words


def parser() -> argparse.ArgumentParser:
    """The options of the process; `entity-tui sim` has the same for people."""
    options = argparse.ArgumentParser(prog="python -m entity_tui.sim", description="A simulated phone.")
    options.add_argument("--profile", default="cmf-phone-1")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--speed", type=float, default=1.0)
    options.add_argument("--engine", type=Path)
    options.add_argument("--qemu-cpu", default=None)
    options.add_argument("--shell", choices=("mksh", "dash", "ash"))
    options.add_argument("--tools", choices=("toybox", "busybox", "coreutils"))
    options.add_argument("--enclosure", choices=[kind.value for kind in EnclosureKind])
    options.add_argument("--must-authorize", action="store_true")
    options.add_argument("--old-checksums", action="store_true")
    options.add_argument("--stay", action="store_true", help="do not end when standard input does")
    options.add_argument("--lend-engine", action="store_true", help="a real llama-server of this computer inside")
    options.add_argument("--lend-model", type=Path, help="a model file to plant in the phone")
    options.add_argument("--linger", type=float, default=0.0, help="end after so many seconds without a connection")
    return options


async def live(options: argparse.Namespace) -> None:
    """Run the phone until its standard input ends, a signal comes or `off` is said."""
    image = load_image(options.profile)
    phone = Phone(
        image,
        speed=options.speed,
        shell=options.shell,
        tools=options.tools,
        enclosure=EnclosureKind(options.enclosure) if options.enclosure else None,
        must_authorize=options.must_authorize,
        engine=options.engine,
        qemu_cpu=options.qemu_cpu or "",
        version=VERSION_CHECKSUM if options.old_checksums else VERSION_SKIP_CHECKSUM,
        lend_engine=options.lend_engine,
        lend_model=options.lend_model,
    )
    words = Words(phone)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, words.ended.set)
    try:
        await phone.start(options.port)
        control = await serve_control(phone.folder / "ctl", words)
        ready = {
            "address": phone.adbd.address,
            "pid": os.getpid(),
            "profile": image.name,
            "title": image.title,
            "speed": options.speed,
            "ctl": str(phone.folder / "ctl"),
            "root": str(phone.folder / "root"),
            "enclosure": phone.enclosure.kind.value,
            "refusals": list(phone.enclosure.refusals),
        }
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        if not options.stay:
            loop.add_reader(sys.stdin.fileno(), _end_of_input, words.ended)
        endings = {
            asyncio.create_task(_until(phone.enclosure.ended)),
            asyncio.create_task(_until(words.ended)),
        }
        if options.linger:
            endings.add(asyncio.create_task(_deserted(phone, options.linger)))
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        for ending in endings:
            ending.cancel()
        control.close()
    finally:
        await phone.stop()


async def _deserted(phone: Phone, seconds: float) -> None:
    """Return once nobody has been connected for so long and nothing ran on the phone."""
    alone_since = time.monotonic()
    while time.monotonic() - alone_since < seconds:
        await asyncio.sleep(min(5.0, seconds / 4))
        if phone.adbd.links or phone.view.pids():
            alone_since = time.monotonic()


async def _until(event: asyncio.Event) -> None:
    await event.wait()


def _end_of_input(ended: asyncio.Event) -> None:
    try:
        data = os.read(sys.stdin.fileno(), 4096)
    except OSError:
        data = b""
    if not data:
        with contextlib.suppress(ValueError, OSError):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        ended.set()


def main() -> int:
    """Run the phone; an error of ours goes to stderr in words."""
    try:
        asyncio.run(live(parser().parse_args()))
    except EntityError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
