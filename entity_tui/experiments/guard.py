"""Guard: does backing off pay? One long generation with the thermal guard off and one with it on, window by window."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from entity_tui.chat.events import Ended, Piece
from entity_tui.chat.generate import Reply, Sampling
from entity_tui.chat.guard import GuardSettings
from entity_tui.device.facts import Facts
from entity_tui.device.live import Live
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.experiments.build import Setting
from entity_tui.experiments.kv_restore import server_plan
from entity_tui.experiments.probe import live_stream
from entity_tui.transport.base import Transport

EXPERIMENT = "guard"
WINDOW_S = 30.0
COOLDOWN_S = 90.0
CONTEXT_TOKENS = 1024
REPLY_TOKENS = 512
PROMPT = "Write down everything you know about heat."


@dataclass(frozen=True, slots=True)
class Window:
    """One window of one arm: tokens and seconds of this computer's clock, the phone's status at its end, the waits."""

    arm: str
    number: int
    tokens: int
    seconds: float
    status: int | None
    clock: str
    """The worst cluster's clock, such as `PERF 36 %`, when it is held down; empty otherwise."""
    delay_ms: int

    @property
    def tok_s(self) -> float:
        """Tokens over the seconds of the window, waits included."""
        return self.tokens / self.seconds


@dataclass(slots=True)
class _Watch:
    """The newest interpreted sample of the device."""

    live: Live | None = None

    def status(self) -> int | None:
        return self.live.thermal_status if self.live is not None else None

    def clock(self) -> str:
        throttle = self.live.throttle if self.live is not None else None
        return throttle.short if throttle is not None else ""


@dataclass(slots=True)
class _Tally:
    arm: str
    began: float
    window_s: float
    tell: Callable[[Window], None]
    watch: _Watch
    tokens: int = 0
    delayed: int = 0
    windows: list[Window] = field(default_factory=list)

    def add(self, tokens: int, delayed_ms: int) -> None:
        """Count tokens, and close the window when its time is up."""
        self.tokens += tokens
        seconds = time.monotonic() - self.began
        if seconds < self.window_s:
            return
        delay = delayed_ms - self.delayed
        number = len(self.windows) + 1
        window = Window(self.arm, number, self.tokens, seconds, self.watch.status(), self.watch.clock(), delay)
        self.windows.append(window)
        self.tell(window)
        self.tokens, self.delayed, self.began = 0, delayed_ms, time.monotonic()


async def measure_guard(
    transport: Transport,
    setting: Setting,
    *,
    minutes: float = 10.0,
    window_s: float = WINDOW_S,
    cooldown_s: float = COOLDOWN_S,
    seed: int = 0,
    on_window: Callable[[Window], None] = lambda window: None,
) -> tuple[Window, ...]:
    """Both arms in an order drawn from `seed`, `cooldown_s` apart. Raises what starting a server can raise."""
    arms = ["guard off", "guard on"]
    random.Random(seed).shuffle(arms)
    watch = _Watch()
    server = LlamaServer(transport)
    await server.start(server_plan(setting, (CONTEXT_TOKENS,)))
    watching = asyncio.create_task(_follow(transport, setting.facts, watch))
    windows: list[Window] = []
    try:
        ids = (await server.client.post("/tokenize", json={"content": PROMPT})).json()["tokens"]
        for number, arm in enumerate(arms):
            if number:
                await asyncio.sleep(cooldown_s)
            windows += await _arm(server, ids, arm, minutes * 60, window_s, watch, on_window)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await server.stop()
    return tuple(windows)


async def _follow(transport: Transport, facts: Facts, watch: _Watch) -> None:
    async for _, live in live_stream(transport, facts, 1.0):
        watch.live = live


async def _arm(
    server: LlamaServer,
    ids: list[int],
    arm: str,
    seconds: float,
    window_s: float,
    watch: _Watch,
    tell: Callable[[Window], None],
) -> list[Window]:
    """Generate without a pause, reply after reply, driven as a chat drives it."""
    guard = GuardSettings(automatic=arm == "guard on")
    began = time.monotonic()
    tally = _Tally(arm, began, window_s, tell, watch)
    before = 0
    while time.monotonic() - began < seconds:
        reply = Reply(server, ids, Sampling(temperature=1.0, max_tokens=REPLY_TOKENS), guard, watch.status)
        async for event in reply.events():
            if isinstance(event, Piece):
                tally.add(len(event.tokens), before + reply.delayed_ms)
            if isinstance(event, Ended) and event.finish == "lost":
                raise ServerFailed("The server was lost in the middle of the measurement.", state="link_lost")
            if time.monotonic() - began >= seconds:
                await reply.stop()
        before += reply.delayed_ms
    return tally.windows


def crossover_s(windows: Sequence[Window]) -> float | None:
    """Seconds after which the guarded arm had made more tokens than the other one for good; None when it never did."""
    rows = {arm: [w for w in windows if w.arm == arm] for arm in ("guard off", "guard on")}
    made = {"guard off": 0, "guard on": 0}
    found: float | None = None
    elapsed = 0.0
    for off, on in zip(rows["guard off"], rows["guard on"], strict=False):
        made["guard off"] += off.tokens
        made["guard on"] += on.tokens
        ahead = made["guard on"] > made["guard off"]
        found = (elapsed if found is None else found) if ahead else None
        elapsed += on.seconds
    return found


def sentence(windows: Sequence[Window], minutes: float) -> str:
    """The finding in one sentence: where backing off began to pay, or that it did not."""
    if not any(window.delay_ms for window in windows):
        return "The guard never waited: the thermal status stayed below moderate, or could not be read."
    at = crossover_s(windows)
    if at is None:
        return f"None in {minutes:g} minutes: the guarded arm never made more tokens than the other one."
    return f"From {at:.0f} s on the guarded arm had made more tokens."
