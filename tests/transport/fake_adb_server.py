"""An adb server that answers what a test wants: for pairing, lists and lies that no real server gives on request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from entity_tui.transport.adb_wire import ServerAddress


class FakeServer:
    """Answers each request of the adb protocol with bytes of a test's choice; b"" means silence."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[ServerAddress]:
        """Listen on a loopback port."""
        tasks: set[asyncio.Task[Any]] = set()

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(asyncio.ensure_future(serve(reader, writer)))

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while head := await reader.read(4):
                    request = (await reader.readexactly(int(head, 16))).decode()
                    self.asked.append(request)
                    known = [key for key in self.answers if request.startswith(key)]
                    writer.write(self.answers[max(known, key=len)] if known else b"FAIL0004nope")
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        try:
            yield ServerAddress("127.0.0.1", server.sockets[0].getsockname()[1])
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def okay(text: str) -> bytes:
    """The answer of a service that sends a text."""
    return b"OKAY" + b"%04x" % len(text.encode()) + text.encode()
