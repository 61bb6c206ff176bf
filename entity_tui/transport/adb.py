"""A phone over adb: commands and streams through the adb server's socket, never through a terminal on the phone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from entity_tui.transport import adb_host
from entity_tui.transport.adb_server import AdbServer, ensure_server
from entity_tui.transport.adb_wire import FIXES, ServerAddress, ShellV2Channel, open_service
from entity_tui.transport.base import DeviceState, LinkLost, NotReady, TransportError, Unsupported
from entity_tui.transport.channel import Channel
from entity_tui.transport.link_watch import POLL_INTERVAL_S, LinkWatch
from entity_tui.transport.shell import OPEN_TIMEOUT_S, ShellTransport
from entity_tui.transport.tracking import Tracking

PHONE_ROOT = "/data/local/tmp/entity"
"""The only place on a phone that the shell user may write to and execute from."""

GREETING_LOOKS = 60
_ON_THE_WAY = frozenset({DeviceState.ABSENT, DeviceState.OFFLINE, DeviceState.CONNECTING})


class AdbTransport(ShellTransport):
    """One phone by its serial, through the adb server at `server_host:server_port` (default: the user's own)."""

    kind = "adb"
    command_limit_bytes = 65_000
    tracking = Tracking.MARKED

    def __init__(
        self,
        serial: str,
        server_host: str | None = None,
        server_port: int | None = None,
        simulated: bool = False,
        root: str = PHONE_ROOT,
        private: AdbServer | None = None,
    ) -> None:
        super().__init__()
        self._private = private
        default = ServerAddress.default()
        self.serial = serial
        self.server = ServerAddress(server_host or default.host, server_port or default.port)
        self.simulated = simulated
        self.spec = f"adb:{serial}"
        self.root = root

    async def connect(self) -> None:
        """Find the phone (an `ip:port` one is connected), check its state and shell protocol, and greet it."""
        await self._ensure_server()
        device = await self.look()
        if (device is None or device.state is DeviceState.OFFLINE) and adb_host.is_network_serial(self.serial):
            with contextlib.suppress(LinkLost):  # the state below says more than this loss
                await self._reconnect()
            device = await self.look()
        state = DeviceState.ABSENT if device is None else device.state
        if state is not DeviceState.READY:
            word = "not in the list of the adb server" if device is None else device.word
            raise NotReady(f"{self.serial} is {state.value}", state=state, detail=word, fix=FIXES[state])
        if "shell_v2" not in await adb_host.features(self.server, self.serial):
            raise Unsupported(
                f"{self.serial} has no shell protocol",
                detail="its adbd is older than Android 7 and hides exit codes and lost links",
                fix="Use a phone with Android 7 or newer.",
            )
        await self.greet()

    async def look(self) -> adb_host.AdbDevice | None:
        """This phone's row in the server's list; None when it is not there."""
        rows = await adb_host.list_devices(self.server)
        return next((row for row in rows if row.serial == self.serial), None)

    async def _close_link(self) -> None:
        return None

    async def _open(self, command: str, *, timeout_s: float) -> Channel:
        service = f"shell,v2,raw:{command}"
        return ShellV2Channel(await open_service(self.server, self.serial, service, timeout_s=timeout_s))

    async def _dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        stream = await open_service(self.server, self.serial, f"tcp:{port}", timeout_s=OPEN_TIMEOUT_S)
        return stream.reader, stream.writer

    async def listed_state(self) -> DeviceState:
        """The state in the server's list."""
        device = await self.look()
        return DeviceState.ABSENT if device is None else device.state

    async def recover(self) -> None:
        """Start the user's server again if it went; bring an `ip:port` phone back. USB phones return by themselves."""
        await self._ensure_server()
        if adb_host.is_network_serial(self.serial):
            await self._reconnect()

    async def _ensure_server(self) -> None:
        """The user's own server and a private one are ours to start; one that was named is somebody else's."""
        if self._private is not None:
            await self._private.ensure()
        elif self.server == ServerAddress.default():
            await ensure_server(self.server)

    async def _reconnect(self) -> None:
        """`connect` alone answers `already connected` for a phone that dropped; only a disconnect first helps.

        The server says `connected` before the phone has finished its greeting, so that is awaited for a moment.
        """
        await adb_host.disconnect(self.server, self.serial)
        await adb_host.connect(self.server, self.serial)
        for _ in range(GREETING_LOOKS):
            if await self.listed_state() not in _ON_THE_WAY:
                return
            await asyncio.sleep(0.05)
        raise LinkLost(
            f"{self.serial} did not come back", detail="connected, but it did not greet", fix=FIXES[DeviceState.LOST]
        )

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """The state now and every change: track-devices, polling of the list, and a heartbeat."""
        watch = LinkWatch(self)
        tracking = asyncio.ensure_future(self._track(watch.wake))
        try:
            async with contextlib.aclosing(watch.states()) as states:
                async for state in states:
                    yield state
        finally:
            tracking.cancel()
            await asyncio.gather(tracking, return_exceptions=True)

    async def _track(self, wake: asyncio.Event) -> None:
        """Wake the watch at every change the server reports; a server that ends is polled until it is back."""
        while True:
            with contextlib.suppress(TransportError, TimeoutError):
                async with contextlib.aclosing(adb_host.track_devices(self.server)) as lists:
                    async for _ in lists:
                        wake.set()
            wake.set()
            await asyncio.sleep(POLL_INTERVAL_S)
