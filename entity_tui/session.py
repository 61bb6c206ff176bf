"""The one connected device and what is live on it: what screens read and commands steer.

Everything a screen shows is an immutable value in `view`, a ring buffer in `telemetry`, a line in `log`, or the
`RunView` of the run in flight. Screens poll; nothing here knows a screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entity_tui import config
from entity_tui.connect import Trust, connect_device, parse_spec
from entity_tui.device_view import DeviceView, clock_factor_of, fresh_fields
from entity_tui.errors import EntityError, UsageError
from entity_tui.logbook import LogBook
from entity_tui.running import Runs, export
from entity_tui.telemetry import Telemetry
from entity_tui.transport.base import DeviceState, NotReady, Transport, TransportError

if TYPE_CHECKING:
    from entity_tui.chat.room import ChatRoom
    from entity_tui.device.facts import Facts
    from entity_tui.device.snapshot import Snapshot
    from entity_tui.experiments.live import RunView
    from entity_tui.records.store import RunStore
    from entity_tui.transport.discover import DeviceRow

RETRY_S = 1.0
"""Between the end of one sampler and the start of the next."""

_GONE = frozenset((DeviceState.ABSENT, DeviceState.LOST, DeviceState.OFFLINE, DeviceState.STALE))
_FIX = {
    DeviceState.UNAUTHORIZED: "Unlock the phone and tap Allow; it comes back by itself.",
    DeviceState.AUTHORIZING: "Unlock the phone and tap Allow; it comes back by itself.",
    DeviceState.WRONG_KEY: "The host key changed; compare it before you trust it again.",
    DeviceState.RECOVERY: "Reboot the phone into Android.",
    DeviceState.SIDELOAD: "Reboot the phone into Android.",
    DeviceState.NO_PERMISSION: "Install the udev rules for Android devices, log in again, then adb kill-server.",
    DeviceState.STALE: "The phone is listed but does not answer: unlock it, or plug it in again.",
}


class Session:
    """Holds at most one device. All methods belong to one event loop."""

    def __init__(self, settings: config.Config | None = None) -> None:
        self.settings = settings or config.load()
        self.view = DeviceView()
        self.telemetry = Telemetry()
        self.log = LogBook()
        self.devices: tuple[DeviceRow, ...] = ()
        """The picker's rows, kept fresh while `watch_devices` runs."""
        self.runs = Runs(self.log, self.settings, self.loaded)
        self.transport: Transport | None = None
        self.paused = False
        """True stops storing new ticks (the sampler goes on)."""
        self.read_only = False
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        self._relearn = False
        self._chat: ChatRoom | None = None
        self.trust: Trust | None = None
        """Asked about an SSH host key nobody confirmed yet; None refuses it."""
        self.speed: float | None = None
        """Clock factor for a demo phone, None for its default."""

    def _update(self, **changes: Any) -> None:
        self.view = replace(self.view, sequence=self.view.sequence + 1, **changes)

    @property
    def sample_age_s(self) -> float | None:
        """Seconds since the newest sample arrived, None before the first."""
        return None if self.view.sample is None else time.monotonic() - self.view.sample_at

    def background(self, work: Coroutine[Any, Any, None], *, source: str) -> asyncio.Task[None]:
        """Run something beside the interface; its failure becomes a line in the log, never a crash."""

        async def guarded() -> None:
            try:
                await work
            except EntityError as error:
                self.log.error(source, str(error))

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def connect(self, spec: str) -> None:
        """Choose a device: probe it, read its facts, start sampling. Raises EntityError; the view says why."""
        await self.close()
        name = parse_spec(spec).text
        self.telemetry.clear()
        self.run = None
        self._update(**fresh_fields(name), state=DeviceState.CONNECTING, words=f"connecting to {name}")
        self.log.add("device", f"connecting to {name}")
        speed = self.speed if name.startswith("demo") else None
        try:
            self.transport = await self._stack.enter_async_context(connect_device(spec, speed=speed, trust=self.trust))
            await self._learn()
        except EntityError as error:
            state = error.state if isinstance(error, NotReady) else DeviceState.ABSENT
            self._update(state=state, words=error.title, fix=error.fix)
            self.log.error("device", str(error))
            await self._stack.aclose()
            self._stack = AsyncExitStack()
            self.transport = None
            raise
        self._ready = asyncio.Event()
        self._relearn = False
        self.background(self._watch_link(), source="link")
        self.background(self._stay(), source="sampler")
        self.background(self.search(), source="device")
        self.background(self._pick_up(), source="bench")

    def show_snapshot(self, snapshot: Snapshot, name: str) -> None:
        """Show a saved snapshot in place of a device: facts without anything live."""
        from entity_tui.device.facts import read_facts

        facts = read_facts(snapshot)
        self._update(
            **fresh_fields(name),
            state=DeviceState.READY,
            words="a saved snapshot, nothing is live",
            kind="file",
            snapshot=snapshot,
            facts=facts,
            name=facts.identity.name or name,
            simulated=snapshot.simulated,
            searched=True,
        )

    async def _learn(self) -> None:
        """Probe the device and read its facts."""
        from entity_tui.device.facts import read_facts
        from entity_tui.experiments.probe import probe

        assert self.transport is not None
        began = time.monotonic()
        snapshot = await probe(self.transport)
        facts = read_facts(snapshot)
        self._update(
            state=DeviceState.READY,
            words="ready",
            fix="",
            kind=self.transport.kind,
            simulated=self.transport.simulated,
            clock_factor=clock_factor_of(snapshot),
            snapshot=snapshot,
            facts=facts,
            name=facts.identity.name or self.view.spec,
        )
        self.log.add("device", f"{self.view.name}: read in {time.monotonic() - began:.1f} s")

    async def search(self) -> None:
        """Look for engines and models on the device."""
        from entity_tui.engine.find import find_engines
        from entity_tui.models.on_device import find_models

        if self.transport is None:
            return
        engines = await find_engines(self.transport)
        models = await find_models(self.transport)
        self._update(engines=engines, models=models, searched=True)
        self.log.add("device", f"{len(engines)} engines and {len(models)} models found")

    async def _watch_link(self) -> None:
        """Follow the state of the link; the transport itself brings a lost one back."""
        assert self.transport is not None
        lost_at, tries = "", 0
        async for state in self.transport.states():
            link_ms = getattr(self.transport, "link_ms", None)
            if state is DeviceState.READY:
                if lost_at:
                    self.log.add("link", f"back, lost since {lost_at}")
                lost_at, tries = "", 0
                self._update(state=state, words="ready", fix="", link_ms=link_ms)
                self._ready.set()
                continue
            if state is DeviceState.REBOOTED:
                self.log.warning("device", "the phone was restarted; a run in flight is marked and can be collected")
                self._relearn = True
                continue
            tries += 1
            lost_at = lost_at or datetime.now().astimezone().strftime("%H:%M:%S")
            self._ready.clear()
            words = f"lost {lost_at}, retrying" if state in _GONE else state.value
            self.log.warning("link", f"{state.value} since {lost_at}")
            self._update(state=state, words=words, fix=_FIX.get(state, ""), link_ms=None)

    async def _stay(self) -> None:
        """Sample while the link is up; when it is back after a loss, go on without a key press."""
        while True:
            await self._ready.wait()
            try:
                if self._relearn:
                    await self._learn()
                    self._relearn = False
                await self._sample()
                self.log.warning("sampler", "the sampler ended; starting it again")
            except TransportError as error:
                self.log.warning("sampler", str(error))
            self.telemetry.gap(self.view.sample.t_boot_s if self.view.sample else 0.0)
            await asyncio.sleep(RETRY_S)

    async def _sample(self) -> None:
        """Store what the sampler says until it ends."""
        from entity_tui.experiments.probe import live_stream

        assert self.transport is not None
        assert self.view.facts is not None
        hz = float(self.settings["hz"])
        self._update(hz=hz)
        async for sample, live in live_stream(self.transport, self.view.facts, hz):
            if not self.paused:
                self.telemetry.store(sample.t_boot_s, live.values, missed=sample.missed)
            link_ms = getattr(self.transport, "link_ms", None)
            self._update(sample=sample, live=live, sample_at=time.monotonic(), link_ms=link_ms)

    async def close(self) -> None:
        """Let go of the device; detached runs on it live on, the chat's server is ended."""
        if self._chat is not None and self.transport is not None:
            await self._chat.close()
        tasks, self._tasks = tuple(self._tasks), set()
        for task in tasks:
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.gather(*(t for t in tasks if t is not asyncio.current_task()), return_exceptions=True)
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self.transport = None

    async def watch_devices(self, on_change: Callable[[], None] | None = None) -> None:
        """Keep `devices` fresh until cancelled."""
        from entity_tui.discovery import watch

        async for rows in watch():
            self.devices = rows
            if on_change is not None:
                on_change()

    def loaded(self, variant: str, kleidiai: bool | None = None) -> None:
        """Note the CPU backend variant a loader's own line named, and whether its log said KleidiAI ran."""
        if kleidiai is not None and kleidiai != self.view.kleidiai_ran:
            self._update(kleidiai_ran=kleidiai)
        if variant != self.view.loaded_variant:
            at = datetime.now().astimezone().strftime("%H:%M:%S")
            self._update(loaded_variant=variant, loaded_at=at)
            self.log.add("device", f"loader: CPU variant {variant}")

    @property
    def chat(self) -> ChatRoom:
        """The conversation with the model on the device; made when it is first asked for."""
        if self._chat is None:
            from entity_tui.chat.room import ChatRoom
            from entity_tui.chat.store import ConversationStore

            self._chat = ChatRoom(
                ConversationStore(config.data_folder() / "conversations.db"),
                self._chat_device,
                thermal_status=lambda: self.view.live.thermal_status if self.view.live else None,
                power=self._power_now,
                on_variant=self.loaded,
            )
        return self._chat

    def _chat_device(self) -> tuple[Transport, Facts]:
        if self.busy:
            raise UsageError("a run is in flight; chat waits until it is done", fix="3 shows it, s stops it")
        transport = self._needs_device()
        assert self.view.facts is not None
        return transport, self.view.facts

    def _power_now(self) -> tuple[float | None, str]:
        """Watts of the newest sample, or why there are none."""
        live = self.view.live
        if live is None:
            return None, "no sample yet"
        return live.values.get("power_w"), live.power_note

    def _needs_device(self) -> Transport:
        if self.transport is None or self.view.facts is None:
            raise UsageError("no phone is selected", fix="d opens the list of devices; demo needs no phone")
        return self.transport

    # -- the run -----------------------------------------------------------------------------------------------------

    @property
    def run(self) -> RunView | None:
        """The run in flight or the last one; None before the first."""
        return self.runs.view

    @run.setter
    def run(self, view: RunView | None) -> None:
        self.runs.view = view

    @property
    def busy(self) -> bool:
        """True while a run is in flight."""
        return self.runs.busy

    @property
    def store(self) -> RunStore:
        """Everything measured on this computer."""
        return self.runs.store

    async def start_bench(self, *, experiment: str = "ablation", confirmed: bool = False, model: str = "") -> str:
        """Start the default plan; returns what the user should be told, or asked when nothing was started.

        Never starts a second run. A plan that may take over ten minutes is started only when `confirmed`.
        """
        if self.busy:
            return "a run is in flight; s stops it"
        if self.read_only:
            raise UsageError("this session is read-only", fix="start entity-tui without --read-only")
        transport = self._needs_device()
        what = await self.runs.consider(transport, experiment, confirmed=confirmed, model=model)
        if what.ask and not confirmed:
            return "\n".join(what.rows)
        if self._chat is not None:
            await self._chat.close()
        self.runs.begin(what)
        self.background(self.runs.follow(transport, what), source="bench")
        return what.rows[0]

    async def _pick_up(self) -> None:
        if self.transport is not None:
            await self.runs.pick_up(self.transport)

    async def stop_run(self, *, now: bool = False) -> None:
        """Stop after the current cell, or now; what is finished is kept."""
        await self.runs.stop(self._needs_device(), now=now)

    def export_run(self, format_name: str = "csv") -> Path:
        """Write the run's rows and return the path. Raises UsageError when there is no run."""
        return export(self.run, format_name)


__all__ = ["DeviceView", "Session"]
