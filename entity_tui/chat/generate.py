"""One reply from a llama-server: streamed, continued over a lost link, slowed by the guard only while it is due."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from entity_tui.chat.events import Backoff, Ended, Event, Finish, Piece, PromptProgress, Timings
from entity_tui.chat.guard import STRIDE, GuardSettings, delay_ms, due
from entity_tui.chat.sse import EventReader, StreamBroken
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.transport.base import TransportError

if TYPE_CHECKING:
    import httpx

RECONNECTS = 20
RECONNECT_WAIT_S = 0.5

Status = Callable[[], int | None]
"""Reads the newest Android thermal status, None when it is unreadable; called once per eight tokens."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. Defaults and ranges are ENTITY's."""

    temperature: float = 0.30
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.1
    repeat_last_n: int = 64
    max_tokens: int = 1024
    seed: int = -1

    def request(self) -> dict[str, Any]:
        """The fields of a /completion request."""
        return {
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "repeat_penalty": self.repeat_penalty,
            "repeat_last_n": self.repeat_last_n,
            "seed": self.seed,
        }


class Refused(ServerFailed):
    """The server refused the request; its own words are in `detail`."""


@dataclass
class Reply:
    """A reply in the making: iterate `events()`, call `stop()` from anywhere."""

    server: LlamaServer
    prompt: Sequence[int]
    sampling: Sampling
    guard: GuardSettings = field(default_factory=GuardSettings)
    status: Status = lambda: None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    stream_id: str = field(default_factory=lambda: f"entity-{uuid.uuid4().hex}")
    generated: list[int] = field(default_factory=list)
    delayed_ms: int = 0
    """What the guard made this reply wait, in all."""
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _chunk: int = 0

    async def stop(self) -> None:
        """End the reply on the device: within one token while generating, at the next batch border in the prompt."""
        self._stopped.set()
        await self._cancel()

    async def _cancel(self) -> None:
        """Delete the stream on the server; a closed connection alone would leave it generating."""
        import httpx

        try:
            await self.server.client.delete("/v1/stream", params={"conv_id": self._name}, timeout=5.0)
        except (httpx.HTTPError, ServerFailed):
            return

    @property
    def _name(self) -> str:
        return f"{self.stream_id}-{self._chunk}"

    async def events(self) -> AsyncGenerator[Event, None]:
        """Progress, pieces, back-offs, and one Ended at the end. Raises Refused before anything was said."""
        remaining = self.sampling.max_tokens
        total: Timings | None = None
        while remaining > 0:
            pause = self._pause()
            if pause:
                self.delayed_ms += pause
                yield Backoff(pause, self.status() or 0)
                await self.sleep(pause / 1000)
            take = min(STRIDE, remaining) if pause else remaining
            before = len(self.generated)
            ended: Ended | None = None
            source = self._request(take)
            try:
                async for event in source:
                    if isinstance(event, Ended):
                        ended = event
                        break
                    if isinstance(event, Piece):
                        self.generated.extend(event.tokens)
                    yield event
                    if isinstance(event, Piece) and not pause and due(len(self.generated)) and self._pause():
                        await self._cancel()
                        break
            finally:
                await source.aclose()
            self._chunk += 1
            remaining -= max(len(self.generated) - before, 1 if ended is None else 0)
            total = _joined(total, ended.timings if ended else None)
            if ended is not None and not (ended.finish is Finish.LENGTH and remaining > 0):
                yield Ended(ended.finish, total, ended.detail)
                return
            if self._stopped.is_set():
                break
        yield Ended(Finish.STOPPED if self._stopped.is_set() else Finish.LENGTH, total)

    def _pause(self) -> int:
        """The guard's delay right now; 0 between its looks."""
        return delay_ms(self.status(), self.guard) if due(len(self.generated)) else 0

    async def _request(self, n_predict: int) -> AsyncGenerator[Event, None]:
        """One request and, if the link drops in it, its continuation."""
        import httpx

        reader = EventReader()
        body = {
            "prompt": [*self.prompt, *self.generated],
            "n_predict": n_predict,
            "stream": True,
            "cache_prompt": True,
            "id_slot": 0,
            "return_tokens": True,
            "return_progress": True,
            **self.sampling.request(),
        }
        tries = 0
        started = False
        while True:
            try:
                async for event in self._read(reader, body if not started else None):
                    started = True
                    yield event
                    if isinstance(event, Ended):
                        return
                if self._stopped.is_set():
                    yield Ended(Finish.STOPPED)
                    return
                reason = "the stream ended early"
            except (httpx.HTTPError, StreamBroken) as error:
                if self._stopped.is_set():
                    yield Ended(Finish.STOPPED)
                    return
                reason = str(error) or type(error).__name__
            tries += 1
            if (why := await self._gone()) is not None or tries > RECONNECTS:
                yield Ended(Finish.LOST, detail=why or reason)
                return
            started = True
            await self.sleep(RECONNECT_WAIT_S)

    async def _gone(self) -> str | None:
        """Why the server is gone, None when only the link was lost (and is back, or may come back)."""
        try:
            ended = await self.server.why_ended()
            if ended is not None:
                return f"{ended.title} {ended.detail}".strip()
            await self.server.reconnect()
        except TransportError:
            return None
        return None

    async def _read(self, reader: EventReader, body: dict[str, Any] | None) -> AsyncIterator[Event]:
        """Events of a fresh request (`body`), or of the same stream from where it was cut."""
        client = self.server.client
        if body is not None:
            call = client.stream("POST", "/completion", json=body, headers={"X-Conversation-Id": self._name})
        else:
            call = client.stream("GET", "/v1/stream", params={"conv_id": self._name, "from": str(reader.offset)})
        async with call as answer:
            if answer.status_code != 200:
                await self._refuse(answer)
            async for data in answer.aiter_raw():
                for row in reader.feed(data):
                    for event in _events(row):
                        yield event

    async def _refuse(self, answer: httpx.Response) -> None:
        """Turn an error answer into words."""
        raw = await answer.aread()
        try:
            import json

            error = json.loads(raw)["error"]
            message, kind = str(error["message"]), str(error["type"])
        except (ValueError, KeyError, TypeError):
            message, kind = raw.decode("utf-8", "replace")[:300], str(answer.status_code)
        fix = "Start a new conversation, or a larger context." if kind == "exceed_context_size_error" else ""
        raise Refused("The server refused the request.", state="workload_error", detail=message, fix=fix)


def _events(row: dict[str, Any]) -> list[Event]:
    """The events in one object of the /completion stream."""
    if isinstance(row.get("error"), dict):
        return [Ended(Finish.LOST, detail=str(row["error"].get("message", "error")))]
    progress = row.get("prompt_progress")
    if isinstance(progress, dict):
        return [
            PromptProgress(
                int(progress.get("processed", 0)),
                int(progress.get("cache", 0)),
                int(progress.get("total", 0)),
                float(progress.get("time_ms", 0.0)),
            )
        ]
    found: list[Event] = []
    text, tokens = str(row.get("content") or ""), row.get("tokens")
    ids = tuple(int(token) for token in tokens) if isinstance(tokens, list) and not row.get("stop") else ()
    if text or ids:
        found.append(Piece(text, ids))
    if row.get("stop"):
        found.append(Ended(_finish(row), _timings(row.get("timings"))))
    return found


def _finish(row: dict[str, Any]) -> Finish:
    if row.get("stop_type") == "limit":
        return Finish.CONTEXT if row.get("truncated") else Finish.LENGTH
    return Finish.STOP


def _timings(row: object) -> Timings | None:
    if not isinstance(row, dict):
        return None
    return Timings(
        int(row.get("cache_n", 0)),
        int(row.get("prompt_n", 0)),
        float(row.get("prompt_ms", 0.0)),
        int(row.get("predicted_n", 0)),
        float(row.get("predicted_ms", 0.0)),
    )


def _joined(total: Timings | None, more: Timings | None) -> Timings | None:
    """Counters of a reply made in several requests: the first one's prompt, everybody's tokens."""
    if total is None or more is None:
        return more if total is None else total
    return Timings(
        total.cached_tokens,
        total.prompt_tokens,
        total.prompt_ms,
        total.predicted_tokens + more.predicted_tokens,
        total.predicted_ms + more.predicted_ms,
    )
