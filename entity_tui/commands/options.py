"""Options that commands share, and the one way a command gets its device or snapshot."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.device.snapshot import Snapshot
    from entity_tui.transport.base import HostKeyUnknown, Transport

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def device_options(function: F) -> F:
    """Adds `--device NAME` and `--speed N` (parameters `device: str | None`, `speed: float | None`)."""
    for option in reversed(
        (
            click.option(
                "--device",
                metavar="NAME",
                help="adb:SERIAL, ssh:[user@]host[:port], local, demo[:profile], or a remembered name.",
            ),
            click.option(
                "--speed",
                type=click.FloatRange(1.0, 1000.0),
                default=None,
                help="Clock factor of a demo phone; every row then carries it.",
            ),
        )
    ):
        function = option(function)
    return function


def snapshot_option(function: F) -> F:
    """Adds `--snapshot FILE` (parameter `snapshot: Path | None`)."""
    return click.option(
        "--snapshot",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Read a saved snapshot instead of a device.",
    )(function)


def json_option(function: F) -> F:
    """Adds `--json` (parameter `as_json: bool`)."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(function)


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False, sort_keys=False))


def run_async(work: Awaitable[T]) -> T:
    """Run a coroutine to its end from a click command."""

    async def whole() -> T:
        return await work

    return asyncio.run(whole())


def with_device(device: str | None, use: Callable[[Transport], Awaitable[T]], *, speed: float | None = None) -> T:
    """Connect to the named device (or the only one there is), call `use(transport)`, and let go of it."""

    async def whole() -> T:
        from entity_tui.connect import connect_device

        async with connect_device(device, speed=speed, trust=ask_trust) as transport:
            return await use(transport)

    return asyncio.run(whole())


async def ask_trust(question: HostKeyUnknown) -> bool:
    """Show a host key's fingerprint and ask; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    click.echo(f"{question.title}\n  {question.fingerprint}", err=True)
    return click.confirm("  Is this the key the device shows? Trust it from now on?", err=True)


def read_snapshot_file(path: Path) -> Snapshot:
    """A snapshot from a file, in our form or the files/props form. UsageError when it is neither."""
    from entity_tui.device.snapshot_json import loads

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the snapshot {path}", detail=str(error)) from error
    return loads(text)


def take_snapshot(device: str | None, snapshot: Path | None, *, speed: float | None = None) -> Snapshot:
    """The snapshot of a file if one is named, else of the device, probed now."""
    if snapshot is not None:
        if device is not None:
            raise UsageError("--device and --snapshot exclude each other", fix="name one of them")
        return read_snapshot_file(snapshot)

    from entity_tui.experiments.probe import probe

    return with_device(device, probe, speed=speed)
