"""From a name on the command line to a connected device: the one place that composes links and the demo phone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from entity_tui import config
from entity_tui.errors import DeviceUnreachable, UsageError
from entity_tui.transport.base import DeviceState, HostKeyUnknown, Transport

DEFAULT_DEMO = "cmf-phone-1"

SPELLINGS = "adb:SERIAL, ssh:[user@]host[:port], local, demo[:profile], or a remembered name"


Trust = Callable[[HostKeyUnknown], Awaitable[bool]]
"""Asked whether a host key is the right one; the fingerprint is in the question."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A device name taken apart. `kind` is adb, ssh, local or demo; `rest` what follows the colon."""

    kind: str
    rest: str
    name: str = ""
    """The remembered name it came from, empty otherwise."""

    @property
    def text(self) -> str:
        """The name in its full form."""
        return f"{self.kind}:{self.rest}" if self.rest else self.kind


def parse_spec(text: str) -> Spec:
    """Take a device name apart; remembered names are looked up. UsageError lists the spellings."""
    kind, colon, rest = text.partition(":")
    if kind == "local" and not colon:
        return Spec("local", "")
    if kind == "demo":
        return Spec("demo", rest or DEFAULT_DEMO)
    if kind in ("adb", "ssh") and rest:
        return Spec(kind, rest)
    for known in config.known_devices():
        if known.name == text:
            found = parse_spec(known.spec)
            return Spec(found.kind, found.rest, known.name)
    raise UsageError(f"no device is called {text!r}", fix=f"a device is named {SPELLINGS}")


async def only_device() -> Spec:
    """The device meant when none is named: the configured one, else the only phone adb lists as ready."""
    from entity_tui.transport.adb_host import list_devices
    from entity_tui.transport.adb_wire import ServerAddress
    from entity_tui.transport.base import TransportError

    configured = config.load()["device"]
    if configured:
        return parse_spec(configured)
    try:
        rows = await list_devices(ServerAddress.default())
    except TransportError:
        rows = ()
    ready = [row for row in rows if row.state is DeviceState.READY]
    if len(ready) == 1:
        return Spec("adb", ready[0].serial)
    if ready:
        names = ", ".join(f"adb:{row.serial}" for row in ready)
        raise UsageError("several phones are ready", detail=names, fix="name one with --device")
    waiting = [row for row in rows if row.state is not DeviceState.READY]
    if waiting:
        words = ", ".join(f"{row.serial} is {row.state.value}" for row in waiting)
        raise DeviceUnreachable("no phone is ready", detail=words, fix="entity-tui devices says what to do for each")
    raise DeviceUnreachable(
        "no phone is connected", fix="plug one in, or use --device local for this computer, --device demo for a demo"
    )


@asynccontextmanager
async def connect_device(
    text: str | None, *, speed: float | None = None, trust: Trust | None = None
) -> AsyncIterator[Transport]:
    """Connect to the named device (None: the only one) and let go of it at the end. Raises EntityError.

    `trust` is asked about an SSH host key nobody confirmed yet; without it, or on a no, HostKeyUnknown is raised.

    A demo phone is started when it does not run yet, behind a private adb server, and lives on for a while, so that a
    run on it can be collected by the next start, as on a real phone.
    """
    spec = parse_spec(text) if text else await only_device()
    async with AsyncExitStack() as stack:
        transport = await _open(spec, stack, speed)
        try:
            await stack.enter_async_context(transport)
        except HostKeyUnknown as question:
            if trust is None or question.changed or not question.fingerprint or not await trust(question):
                raise
            getattr(transport, "trust")(question)  # noqa: B009 - only the SSH transport raises this
            await stack.enter_async_context(transport)
        yield transport


async def _open(spec: Spec, stack: AsyncExitStack, speed: float | None) -> Transport:
    if speed is not None and spec.kind != "demo":
        raise UsageError("--speed is for a demo phone", fix="real time cannot be compressed")
    if spec.kind == "local":
        from entity_tui.transport.local import LocalTransport

        return LocalTransport()
    if spec.kind == "ssh":
        from entity_tui.transport.ssh import SshTransport

        return SshTransport(spec.rest)
    if spec.kind == "adb":
        from entity_tui.transport.adb import AdbTransport

        return AdbTransport(spec.rest)
    return await _demo(spec, stack, speed)


def _fetched_model() -> Path | None:
    """The smallest model that was fetched to this computer: what a demo phone can chat with."""
    files = sorted((config.data_folder() / "models").glob("*.gguf"), key=lambda file: file.stat().st_size)
    return files[0] if files else None


async def _demo(spec: Spec, stack: AsyncExitStack, speed: float | None) -> Transport:
    """The simulated phone, behind a real adb server of our own."""
    from entity_tui.sim.keep import kept_phone
    from entity_tui.transport.adb import AdbTransport
    from entity_tui.transport.adb_server import AdbServer

    server = AdbServer()
    phone, _ = await asyncio.gather(
        kept_phone(spec.rest, speed=speed, model=_fetched_model()), stack.enter_async_context(server)
    )
    transport = AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True, private=server)
    transport.spec = spec.text
    return transport
