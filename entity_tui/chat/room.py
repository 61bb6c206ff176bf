"""The chat of a session: the server on the device, the conversation on disk, and one immutable view for a screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

from entity_tui.chat.conversation import Conversation, Role
from entity_tui.chat.events import Piece, PromptProgress
from entity_tui.chat.export import to_json, to_markdown
from entity_tui.chat.generate import Sampling
from entity_tui.chat.guard import GuardSettings
from entity_tui.chat.prepare import ChatSettings, prepare
from entity_tui.chat.segments import Segments
from entity_tui.chat.slots import Slots
from entity_tui.chat.store import ConversationStore
from entity_tui.chat.talk import PowerNow, Said, Talk
from entity_tui.chat.view import ChatView, turn_of
from entity_tui.device.facts import Facts
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.errors import EntityError, UsageError
from entity_tui.transport.base import Transport, TransportError

RATE_WINDOW_S = 2.0
"""tok/s "now" is over the pieces of this long."""


class ChatRoom:
    """One conversation at a time, with the server that answers it. Failures end up in `view`, never in the caller."""

    def __init__(
        self,
        store: ConversationStore,
        device: Callable[[], tuple[Transport, Facts]],
        *,
        thermal_status: Callable[[], int | None] = lambda: None,
        power: PowerNow = lambda: (None, "no power reading"),
        on_variant: Callable[[str, bool | None], None] = lambda *_: None,
    ) -> None:
        self.store = store
        self.view = ChatView()
        self.conversation = Conversation()
        self._device = device
        self._status = thermal_status
        self._power = power
        self._on_variant = on_variant
        self._server: LlamaServer | None = None
        self._talk: Talk | None = None
        self._settings = ChatSettings()
        self._sampling = Sampling()
        self._lock = asyncio.Lock()
        self._arrivals: list[float] = []
        self._stopping = False

    @property
    def kv_mib(self) -> float | None:
        """MiB the server allocated for its KV cache, by its own log; None before it said so."""
        status = self._server.status if self._server is not None else None
        return status.log.kv_mib if status is not None else None

    def _change(self, **changes: object) -> None:
        self.view = replace(self.view, sequence=self.view.sequence + 1, **changes)  # type: ignore[arg-type]

    async def start(self) -> bool:
        """Bring the server up for the settings in force; false when it failed, with the reason in the view."""
        try:
            transport, facts = self._device()
            self._change(state="starting", words="looking for an engine and a model", fix="")
            prepared = await prepare(transport, facts, self._settings)
            server = self._server
            if server is None or server.transport is not transport:
                server = self._server = LlamaServer(transport)
            status = await server.start(
                prepared.plan, on_step=lambda words, seconds: self._change(words=f"{words}, {seconds:.1f} s")
            )
        except EntityError as error:
            words = f"{error.title} {error.detail}".strip()
            self._change(state="failed", words=words, fix=error.fix)
            return False
        if status.log.variant:
            self._on_variant(status.log.variant, status.log.kleidiai)
        self._change(
            state="ready",
            words="the server answers" if not status.reused else "the running server is used again",
            model=prepared.model.name,
            variant=status.log.variant or "",
            kleidiai=status.log.kleidiai,
            placement=prepared.placement,
            context_tokens=status.context_tokens,
            weights_bytes=prepared.model.size_bytes,
            masks=tuple(sorted(set(status.thread_masks))),
            memory_bytes=await server.memory(),
            prepared=prepared,
            settings=self._settings,
            sampling=self._sampling,
        )
        return True

    async def send(self, text: str) -> bool:
        """A user's turn and the answer to it; False when no server would start, and nothing was said."""
        return await self._speak(text)

    async def again(self) -> None:
        """Another answer to the last turn."""
        if self.conversation.messages:
            await self._speak(None)

    async def _speak(self, text: str | None) -> bool:
        if self._lock.locked():
            return False
        async with self._lock:
            if (self._server is None or self._server.status is None) and not await self.start():
                return False
            assert self._server is not None
            if not self.conversation.number:
                self.conversation = self.store.create(model_name=self.view.model, system=self.view.system)
            self._talk = talk = Talk(
                self._server,
                self.store,
                self.conversation,
                sampling=self._sampling,
                guard=GuardSettings(efficiency=self._settings.efficiency),
                thermal_status=self._status,
                power=self._power,
                placement=self.view.placement,
            )
            self._stopping = False
            source = talk.again() if text is None else talk.ask(text)
            try:
                await self._follow(talk, source)
            except (EntityError, TransportError) as error:
                self._change(state="failed", words=f"{error.title} {error.detail}".strip(), fix=error.fix)
            finally:
                self.conversation = talk.conversation
                self._talk = None
                self._show(self.conversation)
            if self.view.state != "failed":
                await self._settle()
        return True

    async def _follow(self, talk: Talk, source: AsyncGenerator[Said, None]) -> None:
        """Fold what is said into the view, piece by piece."""
        segments = Segments()
        self._arrivals.clear()
        self._change(
            state="reading", words="reading the prompt", rates=(), rate_now=None, tokens=0, first_token_ms=None
        )
        shown, asked = 0, False
        async for said in source:
            if self._stopping:
                self._stopping = False
                await talk.stop()
            if isinstance(said.event, PromptProgress):
                progress = said.event
                if not asked:
                    asked = True
                    self._show(talk.conversation)
                self._change(prompt_done=progress.processed, prompt_total=progress.total)
                continue
            if isinstance(said.event, Piece):
                asked = True
                segments.feed(said.message.text[shown:])
                shown = len(said.message.text)
                self._count(len(said.event.tokens))
                self._growing(talk.conversation, said, segments)

    def _count(self, tokens: int) -> None:
        now = time.monotonic()
        self._arrivals.extend([now] * tokens)
        recent = [at for at in self._arrivals if now - at <= RATE_WINDOW_S]
        span = now - recent[0] if len(recent) > 1 else 0.0
        rate = (len(recent) - 1) / span if span > 0 else None
        whole = now - self._arrivals[0] if len(self._arrivals) > 1 else 0.0
        mean = (len(self._arrivals) - 1) / whole if whole > 0 else None
        rates = self.view.rates if rate is None else (*self.view.rates, rate)[-400:]
        self._change(rate_now=rate, rate_mean=mean, rates=rates, tokens=len(self._arrivals))

    def _growing(self, conversation: Conversation, said: Said, segments: Segments) -> None:
        turns = self.view.turns
        if not turns or not turns[-1].streaming:
            self._show(conversation)
            turns = self.view.turns
        last = replace(
            turns[-1],
            sealed=tuple(segments.sealed),
            tail=segments.tail,
            reasoning=said.message.reasoning,
            thinking=bool(said.message.reasoning) and not said.message.text,
            streaming=True,
        )
        self._change(
            state="streaming",
            words="",
            turns=(*turns[:-1], last),
            first_token_ms=said.first_token_ms,
            dropped_tokens=said.fitted.dropped_tokens,
        )

    def _show(self, conversation: Conversation) -> None:
        """Draw the whole conversation from what is on disk."""
        turns = []
        for message in conversation.messages:
            place = (1, 1)
            if message.role is Role.ASSISTANT:
                others = [m.number for m in self.store.alternatives(conversation, message)]
                if message.number in others:
                    place = (others.index(message.number) + 1, len(others))
            turns.append(turn_of(message, place))
        self._change(title=conversation.title, turns=tuple(turns), system=conversation.system)

    async def _settle(self) -> None:
        """After a reply: ready, or the reason why the server is gone."""
        why = None
        try:
            if self._server is not None:
                why = await self._server.why_ended()
        except TransportError:
            why = None
        if isinstance(why, ServerFailed):
            self._server = None
            self._change(state="failed", words=f"{why.title} {why.detail}".strip(), fix=why.fix)
        else:
            self._change(state="ready", words="")

    async def stop(self) -> None:
        """Stop the reply; what was shown is kept."""
        self._stopping = True
        if self._talk is not None:
            await self._talk.stop()

    def new(self) -> None:
        """Start an empty conversation; it is kept with its first turn."""
        self.conversation = Conversation()
        self._change(title="", turns=(), dropped_tokens=0, tokens=0, rates=(), rate_now=None, first_token_ms=None)

    async def open(self, number: int) -> str:
        """Continue a kept conversation, with its saved KV state when that is sound; returns what happened, in words."""
        self.conversation = self.store.load(number)
        self._show(self.conversation)
        if self._server is None or self._server.status is None:
            return "opened; the device reads it again with the next message"
        outcome = await Slots(self._server).restore(number, self.conversation.system)
        if outcome.done:
            again = _read_again(self.conversation, outcome.tokens)
            return f"state restored, {outcome.tokens} tokens in {outcome.wall_ms / 1000:.1f} s{again}"
        if outcome.restart_needed:
            await self._server.stop()
            await self.start()
        return f"opened; read again with the next message: {outcome.reason}"

    async def keep_state(self) -> str:
        """Save the KV state of this conversation on the device; returns what happened, in words."""
        if self._server is None or not self.conversation.number:
            return "there is nothing to keep yet"
        outcome = await Slots(self._server).save(self.conversation.number, self.conversation.system)
        return f"kept, {outcome.size_bytes / 1e6:.1f} MB" if outcome.done else f"not kept: {outcome.reason}"

    def rename(self, title: str) -> None:
        """Give the conversation another title."""
        if self.conversation.number and title.strip():
            self.conversation = self.store.rename(self.conversation, title.strip())
            self._change(title=self.conversation.title)

    def turn_alternative(self, message_number: int, step: int) -> None:
        """Show another answer to the same turn."""
        message = next((m for m in self.conversation.messages if m.number == message_number), None)
        if message is None:
            return
        others = self.store.alternatives(self.conversation, message)
        at = [other.number for other in others].index(message.number) + step
        if 0 <= at < len(others):
            self.conversation = self.store.choose(self.conversation, others[at])
            self._show(self.conversation)

    def export(self, folder: Path, format_name: str) -> Path:
        """Write the conversation as Markdown (`csv` key) or JSON and return the path."""
        if not self.conversation.number:
            raise UsageError("there is no conversation to export yet", fix="write something first")
        folder.mkdir(parents=True, exist_ok=True)
        suffix, text = ("json", to_json) if format_name == "json" else ("md", to_markdown)
        path = folder / f"conversation-{self.conversation.number}.{suffix}"
        path.write_text(text(self.conversation), encoding="utf-8")
        return path

    async def tune(self, settings: ChatSettings, sampling: Sampling, system: str) -> None:
        """Take over settings; the server is started anew only when it must be."""
        restart = settings != self._settings
        self._settings, self._sampling = settings, sampling
        if system != self.view.system:
            if self.conversation.number:
                self.conversation = self.store.set_system(self.conversation, system)
            self._change(system=system)
        self._change(settings=settings, sampling=sampling)
        if restart and self._server is not None and self._server.status is not None:
            await self._restart()

    async def _restart(self) -> None:
        """Start the server anew for other settings and bring this conversation's state back, where it still fits."""
        assert self._server is not None
        number, system = self.conversation.number, self.conversation.system
        kept = bool(number) and (await Slots(self._server).save(number, system)).done
        if await self.start() and kept:
            outcome = await Slots(self._server).restore(number, system)
            words = "the state was kept" if outcome.done else f"read again with the next message: {outcome.reason}"
            self._change(words=words)

    async def close(self, *, keep_server: bool = False) -> None:
        """End the server on the device, or leave it for the next start."""
        server, self._server = self._server, None
        self._change(state="closed", words="")
        if server is not None:
            try:
                if keep_server:
                    await server.detach()
                else:
                    await server.stop()
            except TransportError:
                return


def _read_again(conversation: Conversation, tokens: int) -> str:
    """What reading the history again would have cost, predicted from the last prompt speed measured in it."""
    rates = [m.cost.prompt_tok_s for m in reversed(conversation.messages) if m.cost and m.cost.prompt_tok_s]
    return f"; reading them again ~{tokens / rates[0]:.1f} s" if rates else ""
