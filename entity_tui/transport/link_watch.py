"""The state of a link over time: what is listed, whether it answers, and how it is brought back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from entity_tui.transport.base import DeviceState, LinkLost, NotReady, TransportError
from entity_tui.transport.channel import Channel, PieceKind

if TYPE_CHECKING:
    from entity_tui.transport.shell import ShellTransport

POLL_INTERVAL_S = 1.0
STALE_GRACE_S = 10.0
"""How long a silent device keeps its link before a new one is tried."""
FIRST_BACKOFF_S = 0.3
LAST_BACKOFF_S = 10.0

_ECHO = 'while read -r word; do echo "$word"; done'


class Heartbeat:
    """One long-lived shell on the device that echoes words: a round trip without a fork."""

    def __init__(self, link: ShellTransport, deadline_s: float | None = None) -> None:
        self._link = link
        self._deadline_s = deadline_s or link.beat_deadline_s
        self._channel: Channel | None = None
        self._count = 0

    async def beat(self) -> float:
        """The round trip in ms. Raises LinkLost, NotReady, or TimeoutError past the deadline; then it starts afresh."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline_s):
                if self._channel is None:
                    self._channel = await self._link.open_channel(_ECHO)
                    await self._echo(self._channel)
                    began = time.monotonic()
                await self._echo(self._channel)
        except BaseException:
            await self.stop()
            raise
        return (time.monotonic() - began) * 1000.0

    async def _echo(self, channel: Channel) -> None:
        self._count += 1
        word = f"beat{self._count}\n".encode()
        await channel.send(word)
        heard = b""
        while not heard.endswith(word):
            piece = await channel.receive()
            if piece.kind is PieceKind.EXIT:
                raise LinkLost("The heartbeat's shell ended", detail=f"exit {piece.code}")
            if piece.kind is PieceKind.STDOUT:
                heard = (heard + piece.data)[-256:]

    async def stop(self) -> None:
        """Let go of the shell: it ends by the end of its input, or with the link."""
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(TransportError, OSError):
                await self._link.abandon(channel)


class LinkWatch:
    """Follows one link. `wake` is set by whoever hears of a change before the next poll does."""

    def __init__(self, link: ShellTransport, *, interval_s: float = POLL_INTERVAL_S) -> None:
        self.wake = asyncio.Event()
        self._link = link
        self._interval_s = interval_s
        self._heart = Heartbeat(link)
        self._ever_ready = False
        self._ready = False
        self._silent_since_s: float | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._backoff_s = FIRST_BACKOFF_S
        self._try_after_s = 0.0

    async def states(self) -> AsyncGenerator[DeviceState, None]:
        """The state now and every change; `rebooted` comes once, right before the `ready` of another boot id."""
        last: DeviceState | None = None
        try:
            while True:
                for state in await self._look():
                    if state is not last:
                        last = state
                        yield state
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), self._interval_s)
                self.wake.clear()
        finally:
            await self._heart.stop()
            if self._recovery is not None:
                self._recovery.cancel()
                await asyncio.gather(self._recovery, return_exceptions=True)

    async def _look(self) -> list[DeviceState]:
        state = await self._listed()
        if state is DeviceState.READY:
            state = await self._beat()
        if state is DeviceState.READY:
            return await self._returned()
        if state is DeviceState.ABSENT and self._ever_ready:
            state = DeviceState.LOST
        self._ready = False
        self._link.link_ms = None
        self._recover_if_due(state)
        return [state]

    async def _listed(self) -> DeviceState:
        try:
            return await self._link.listed_state()
        except TransportError:
            return DeviceState.ABSENT

    async def _beat(self) -> DeviceState:
        """Whether a device that is listed as ready answers."""
        try:
            self._link.link_ms = await self._heart.beat()
        except NotReady as error:
            return error.state
        except LinkLost:
            # The list may lag behind the loss by a moment: ask it again before we contradict it.
            state = await self._listed()
            if self._ready:
                self.wake.set()
            return DeviceState.STALE if state is DeviceState.READY else state
        except (TimeoutError, TransportError):
            return DeviceState.STALE
        self._silent_since_s = None
        return DeviceState.READY

    async def _returned(self) -> list[DeviceState]:
        """Ready; after an outage the boot id tells a reboot from a lost link."""
        if self._ready:
            return [DeviceState.READY]
        before = self._link.boot_id
        try:
            await self._link.greet()
        except TransportError:
            return [DeviceState.STALE]
        self._ready = self._ever_ready = True
        self._backoff_s = FIRST_BACKOFF_S
        self._try_after_s = 0.0
        rebooted = bool(before) and self._link.boot_id != before
        return [DeviceState.REBOOTED, DeviceState.READY] if rebooted else [DeviceState.READY]

    def _recover_if_due(self, state: DeviceState) -> None:
        """Start one attempt to bring the link back, with growing pauses between attempts.

        A device that is merely silent gets some grace: a new link would end everything that runs through the old one.
        """
        now = time.monotonic()
        if state is DeviceState.STALE:
            self._silent_since_s = self._silent_since_s or now
            if now - self._silent_since_s < STALE_GRACE_S:
                return
        elif state not in (DeviceState.ABSENT, DeviceState.LOST, DeviceState.OFFLINE):
            return
        if now < self._try_after_s or (self._recovery is not None and not self._recovery.done()):
            return
        self._recovery = asyncio.ensure_future(self._recover())

    async def _recover(self) -> None:
        with contextlib.suppress(TransportError, OSError, TimeoutError):
            await self._link.recover()
            self._silent_since_s = None
            self.wake.set()
        self._try_after_s = time.monotonic() + self._backoff_s
        self._backoff_s = min(self._backoff_s * 2, LAST_BACKOFF_S)
