"""The control socket of a simulated phone: pull its cable, heat it, fill its disk, while it runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from entity_tui.errors import DeviceUnreachable, UsageError

Handler = Callable[[list[str]], Awaitable[str]]
"""Takes the words of one request and returns what to say; raises UsageError for words it does not know."""


@dataclass(frozen=True, slots=True)
class Control:
    """A client of one phone's control socket. `await control("drop")` returns the phone's answer."""

    path: Path

    async def __call__(self, *words: str, timeout_s: float = 30.0) -> str:
        """Send one request. Raises DeviceUnreachable when no phone listens, UsageError when it does not understand."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(self.path))
        except OSError as error:
            raise DeviceUnreachable(
                "no demo phone listens on this control socket",
                detail=f"{self.path}: {error.strerror}",
                fix="start one with `entity-tui sim`",
            ) from error
        try:
            writer.write(json.dumps(list(words)).encode() + b"\n")
            await writer.drain()
            line = await asyncio.wait_for(reader.readline(), timeout_s)
        finally:
            writer.close()
        if not line:
            raise DeviceUnreachable("the demo phone ended before it answered")
        answer = json.loads(line)
        if "error" in answer:
            raise UsageError(str(answer["error"]))
        return str(answer["ok"])


async def serve_control(path: Path, handle: Handler) -> asyncio.Server:
    """Listen on a UNIX socket that only this user can reach; one JSON list of words a line, one JSON answer a line."""

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                try:
                    answer = {"ok": await handle([str(word) for word in json.loads(line)])}
                except UsageError as error:
                    answer = {"error": str(error)}
                except ValueError as error:
                    answer = {"error": f"not a request: {error}"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(session, path=str(path))
    path.chmod(0o600)
    return server
