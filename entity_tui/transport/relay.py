"""A loopback listener whose connections are carried to a device, each dialled anew."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from entity_tui.transport.base import TransportError

Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Opens one byte stream to the far end."""

_CHUNK_BYTES = 64 * 1024


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, EOFError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


async def _shut(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), 1.0)


async def _carry(near: tuple[asyncio.StreamReader, asyncio.StreamWriter], dial: Dial) -> None:
    """Copy both ways until either side ends: adb streams know no half-close, so neither do we."""
    try:
        far = await dial()
    except (OSError, TransportError, TimeoutError, asyncio.CancelledError) as error:
        near[1].transport.abort()
        if isinstance(error, asyncio.CancelledError):
            raise
        return
    ways = [asyncio.ensure_future(_copy(near[0], far[1])), asyncio.ensure_future(_copy(far[0], near[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        # Both are closed before the first wait: a cancellation here must not leave one open.
        far[1].close()
        near[1].close()
        await asyncio.gather(*ways, return_exceptions=True)
        await asyncio.gather(_shut(far[1]), _shut(near[1]), return_exceptions=True)


@contextlib.asynccontextmanager
async def listen(dial: Dial) -> AsyncIterator[int]:
    """Listen on 127.0.0.1 and give the port; leaving ends the listener and every connection through it."""
    tasks: set[asyncio.Task[None]] = set()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_carry((reader, writer), dial))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
