"""Server-sent events from bytes: complete events out, with the offset from which a cut stream can be read again."""

from __future__ import annotations

import json
from typing import Any

MAX_EVENT_BYTES = 8 << 20
"""An event larger than this is not one of llama-server's: the stream is broken."""


class StreamBroken(ValueError):
    """The bytes are not an event stream."""


class EventReader:
    """Feed it bytes as they come; it gives back the JSON objects of complete events.

    `offset` counts the bytes of complete events, so that a lost connection resumes with nothing lost or twice.
    """

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self.done = False
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The events completed by `data`. Comments (pings) are passed over; `[DONE]` sets `done`."""
        self._rest += data
        events: list[dict[str, Any]] = []
        while True:
            end = self._rest.find(b"\n\n")
            if end < 0:
                break
            block, self._rest = self._rest[:end], self._rest[end + 2 :]
            self.offset += end + 2
            event = self._event(block)
            if event is not None:
                events.append(event)
        if len(self._rest) > MAX_EVENT_BYTES:
            raise StreamBroken(f"an event of more than {MAX_EVENT_BYTES} bytes")
        return events

    def _event(self, block: bytes) -> dict[str, Any] | None:
        lines = [line[5:].lstrip() for line in block.replace(b"\r", b"").split(b"\n") if line.startswith(b"data:")]
        if not lines:
            return None
        payload = b"\n".join(lines)
        if payload == b"[DONE]":
            self.done = True
            return None
        try:
            value = json.loads(payload)
        except ValueError as error:
            raise StreamBroken("an event that is not JSON") from error
        return value if isinstance(value, dict) else None
