"""Talking: a user's turn in, a reply streamed and kept as it grows, with what it cost."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Any

from entity_tui.chat.conversation import Conversation, Message, ReplyCost, Role, fold_reasoning
from entity_tui.chat.events import Ended, Event, Finish, Piece
from entity_tui.chat.generate import Refused, Reply, Sampling
from entity_tui.chat.guard import GuardSettings
from entity_tui.chat.memory import Fitted, fit_turns
from entity_tui.chat.store import ConversationStore
from entity_tui.engine.server import LlamaServer, ServerFailed

KEEP_EVERY_S = 0.5
"""A growing reply is written at least this often, so that a kill costs no more than half a second of text."""

PowerNow = Callable[[], tuple[float | None, str]]
"""Watts right now, or None with the reason; called between pieces."""


@dataclass(frozen=True, slots=True)
class Said:
    """The reply so far: what a screen shows. `fitted` says what of the history was left out."""

    message: Message
    event: Event
    fitted: Fitted
    first_token_ms: float | None
    elapsed_s: float


class Talk:
    """One conversation with one server. `conversation` is always what is on disk."""

    def __init__(
        self,
        server: LlamaServer,
        store: ConversationStore,
        conversation: Conversation,
        *,
        sampling: Sampling | None = None,
        guard: GuardSettings | None = None,
        thermal_status: Callable[[], int | None] = lambda: None,
        power: PowerNow = lambda: (None, "no power reading"),
        placement: str = "",
    ) -> None:
        self.server = server
        self.store = store
        self.conversation = conversation
        self.sampling = sampling or Sampling()
        self.guard = guard or GuardSettings()
        self.thermal_status = thermal_status
        self.power = power
        self.placement = placement
        self.reply: Reply | None = None
        self.last_detail = ""
        """Why the last reply ended, where that needs words: what was lost, and how."""

    async def ask(self, text: str) -> AsyncGenerator[Said, None]:
        """Send a user's turn and stream the answer to it."""
        self.conversation = self.store.add(self.conversation, Message(Role.USER, text))
        async for said in self._answer():
            yield said

    async def again(self) -> AsyncGenerator[Said, None]:
        """Another answer to the last user turn; the former one stays as an alternative."""
        self.conversation = self.conversation.without_last_reply()
        async for said in self._answer():
            yield said

    async def stop(self) -> None:
        """End the reply that is being made; what was shown is kept."""
        if self.reply is not None:
            await self.reply.stop()

    async def _answer(self) -> AsyncGenerator[Said, None]:
        tokens, fitted = await self._prompt()
        status = self.server.status
        self.reply = reply = Reply(self.server, tokens, self.sampling, guard=self.guard, status=self.thermal_status)
        self.conversation = self.store.add(self.conversation, Message(Role.ASSISTANT, ""))
        message = self.conversation.messages[-1]
        began = kept = time.monotonic()
        raw, first_ms = "", None
        meter = _Energy(self.power)
        ended: Ended | None = None
        try:
            async for event in reply.events():
                now = time.monotonic()
                if isinstance(event, Piece):
                    if first_ms is None and event.text:
                        first_ms = (now - began) * 1000
                        meter.start(now)
                    raw += event.text
                    meter.tick(now)
                    folded = fold_reasoning(raw)
                    message = replace(message, text=folded.text, reasoning=folded.reasoning)
                    if now - kept >= KEEP_EVERY_S:
                        self.store.update(self.conversation, message)
                        kept = now
                if isinstance(event, Ended):
                    ended = event
                    self.last_detail = event.detail
                    cost = self._cost(event, reply, len(tokens), first_ms, meter)
                    cut = event.finish not in (Finish.STOP,)
                    message = replace(message, truncated=cut, cost=cost)
                yield Said(message, event, fitted, first_ms, now - began)
        finally:
            if ended is None:
                # The reader left or the process is going down: keep what was shown, and say that it was cut.
                cost = ReplyCost(finish=Finish.LOST.value, context_size=status.context_tokens if status else None)
                message = replace(message, truncated=True, cost=cost)
            self.store.update(self.conversation, message)
            self.conversation = replace(self.conversation, messages=(*self.conversation.messages[:-1], message))
            self.reply = None

    def _cost(
        self, ended: Ended, reply: Reply, prompt_tokens: int, first_ms: float | None, meter: _Energy
    ) -> ReplyCost:
        timings, status = ended.timings, self.server.status
        watts, joules, note = meter.result()
        return ReplyCost(
            prompt_tokens=timings.prompt_tokens if timings else None,
            cached_tokens=timings.cached_tokens if timings else None,
            prompt_ms=timings.prompt_ms if timings else None,
            generated_tokens=len(reply.generated),
            decode_ms=timings.predicted_ms if timings else None,
            first_token_observed_ms=first_ms,
            context_used=prompt_tokens + len(reply.generated),
            context_size=status.context_tokens if status else None,
            guard_delay_ms=reply.delayed_ms,
            power_w=watts,
            energy_j=joules,
            power_note=note,
            variant=(status.log.variant or "") if status else "",
            kleidiai=status.log.kleidiai if status else None,
            placement=self.placement,
            thermal_status=self.thermal_status(),
            finish=ended.finish.value,
            simulated=self.server.transport.simulated,
        )

    async def _prompt(self) -> tuple[list[int], Fitted]:
        """The token ids to send, after dropping what no longer fits."""
        rows = self.conversation.rows()
        system = rows[:1] if rows and rows[0]["role"] == "system" else []
        turns = rows[len(system) :]
        whole = await self._tokens(rows)
        status = self.server.status
        context = status.context_tokens if status else 0
        reserve = min(self.sampling.max_tokens, max(1, context // 4))
        if not context or len(whole) + reserve + 4 <= context:
            return whole, Fitted()
        sizes = [len(await self._tokens([turn])) for turn in turns]
        system_size = len(await self._tokens(system)) if system else 0
        fitted = fit_turns(sizes, system_tokens=system_size, context_tokens=context, reserve_tokens=reserve)
        if not fitted.fits:
            fitted = fit_turns(sizes, system_tokens=system_size, context_tokens=context, reserve_tokens=1)
        if not fitted.fits:
            raise Refused(
                "The message is longer than the context window.",
                state="workload_error",
                detail=f"{sizes[-1]} tokens, the window holds {context}",
                fix="Shorten it, or start the server with a larger context.",
            )
        return await self._tokens([*system, *turns[fitted.dropped_turns :]]), fitted

    async def _tokens(self, rows: list[dict[str, str]]) -> list[int]:
        """The ids of rows through the model's own chat template."""
        prompt = await self._post("/apply-template", {"messages": rows})
        body = {"content": str(prompt.get("prompt", "")), "add_special": True, "parse_special": True}
        found = (await self._post("/tokenize", body)).get("tokens")
        return [int(token) for token in found] if isinstance(found, list) else []

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        import httpx

        try:
            answer = await self.server.client.post(path, json=body, timeout=30.0)
        except httpx.HTTPError as error:
            raise ServerFailed(
                "The server does not answer.", state="link_lost", detail=str(error), fix="Try again."
            ) from error
        if answer.status_code != 200:
            raise Refused("The server refused the text.", state="workload_error", detail=answer.text[:300])
        value = answer.json()
        return value if isinstance(value, dict) else {}


class _Energy:
    """Joules while a reply is generated: trapezoid over valid readings; none at all once one is missing."""

    def __init__(self, power: PowerNow) -> None:
        self._power = power
        self._at: float | None = None
        self._last: float | None = None
        self._began = 0.0
        self._joules = 0.0
        self._note = ""

    def start(self, now: float) -> None:
        self._at, self._began = now, now
        self._last, note = self._power()
        self._note = "" if self._last is not None else note

    def tick(self, now: float) -> None:
        if self._at is None or now <= self._at:
            return
        watts, note = self._power()
        if watts is None or self._last is None:
            self._note = self._note or note
        else:
            self._joules += (watts + self._last) / 2 * (now - self._at)
        self._at, self._last = now, watts

    def result(self) -> tuple[float | None, float | None, str]:
        """Mean watts, joules, and the reason when there are none."""
        if self._at is None or self._note:
            return None, None, self._note or "nothing was generated"
        span = self._at - self._began
        if span <= 0:
            return None, None, "too short to measure"
        return self._joules / span, self._joules, ""
