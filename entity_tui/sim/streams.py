"""One adb stream: a local service on the phone, joined to a stream of the host with one packet in flight each way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from entity_tui.sim.packets import CLSE, OKAY, WRTE, Packet

SendPacket = Callable[[Packet], Awaitable[None]]


class StreamClosed(Exception):
    """The host closed the stream, or the link went."""


class Stream:
    """The phone's end of a stream. `send` waits until the host took the packet before; `receive` acknowledges."""

    def __init__(self, local: int, remote: int, transmit: SendPacket, max_payload: int) -> None:
        self.local = local
        self.remote = remote
        self.max_payload = max_payload
        self._transmit = transmit
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.closed = asyncio.Event()

    async def accept(self) -> None:
        """Tell the host that the service is there."""
        await self._transmit(Packet(OKAY, self.local, self.remote))

    async def send(self, data: bytes) -> None:
        """Send data, split to the size the host takes. Raises StreamClosed."""
        for start in range(0, len(data), self.max_payload):
            while not self._may_write.is_set():  # stdout and stderr may both wait: only one of them goes on
                await self._may_write.wait()
            if self.closed.is_set():
                raise StreamClosed
            self._may_write.clear()
            await self._transmit(Packet(WRTE, self.local, self.remote, data[start : start + self.max_payload]))

    async def receive(self) -> bytes:
        """The next data of the host, acknowledged. Raises StreamClosed at the end."""
        data = await self._inbox.get()
        if data is None:
            self._inbox.put_nowait(None)
            raise StreamClosed
        if not self.closed.is_set():
            with contextlib.suppress(ConnectionError):
                await self._transmit(Packet(OKAY, self.local, self.remote))
        return data

    async def close(self) -> None:
        """End the stream from our side; does nothing when it has ended."""
        if not self.closed.is_set():
            self.ended()
            with contextlib.suppress(ConnectionError):
                await self._transmit(Packet(CLSE, self.local, self.remote))

    def delivered(self) -> None:
        """The host acknowledged our last packet."""
        self._may_write.set()

    def arrived(self, data: bytes) -> None:
        """The host sent data."""
        self._inbox.put_nowait(data)

    def ended(self) -> None:
        """The stream is over: every waiting send and receive ends."""
        self.closed.set()
        self._may_write.set()
        self._inbox.put_nowait(None)
