"""EntityApp: screens, keys and themes over one Session, which owns everything that outlives a screen."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from entity_tui import __version__
from entity_tui.errors import EntityError
from entity_tui.screens.device_values import newest, skin_reading
from entity_tui.screens.dialogs import ConfirmScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import KEYS
from entity_tui.screens.messages import MESSAGE_S, TalkingApp
from entity_tui.screens.picker import PickerScreen
from entity_tui.screens.themes import ENTITY_DARK, ENTITY_LIGHT, paper_for
from entity_tui.session import Session
from entity_tui.transport.base import HostKeyUnknown
from entity_tui.widgets.ink import DEFAULT_PAPER, Paper
from entity_tui.widgets.numbers import celsius, tok_s, watts
from entity_tui.widgets.panel import Panel
from entity_tui.widgets.text import plain

PAINT_S = 0.2
CALM_PAINT_S = 1.0
WARM_AFTER_S = 0.3
LEAVE_WITHIN_S = 20
"""After a signal; closing a link that does not answer takes a few seconds."""


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the interface starts. `spec` is a device to connect to; empty opens the picker."""

    spec: str = ""
    screen: str = "dashboard"
    theme: str = "entity-dark"
    ascii: bool = False
    colour: bool = True
    reduced_motion: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    """The user's own keys by binding id."""


def _later(module: str, name: str) -> Callable[[], Screen[Any]]:
    """A screen whose module is imported when it is first shown: the first paint needs the picker only."""

    def make() -> Screen[Any]:
        screen = getattr(importlib.import_module(f"entity_tui.screens.{module}"), name)()
        assert isinstance(screen, FrameScreen)
        return screen

    return make


@contextmanager
def _no_color_environment(wanted: bool) -> Iterator[None]:
    """Let Textual see NO_COLOR while it builds its filters, and nobody afterwards."""
    before = os.environ.get("NO_COLOR")
    if wanted:
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        if wanted and before is None:
            del os.environ["NO_COLOR"]


class EntityApp(TalkingApp):
    """The interface. It holds one Session and owns nothing else."""

    TITLE = "entity-tui"
    CSS = """
    ToastRack { dock: top; align: right top; margin: 2 0 0 0; }
    Toast { width: 60; max-width: 80%; background: $background; border: round $accent; padding: 0 1; }
    Toast.-warning { border: round $warning; }
    Toast.-error { border: heavy $error; }
    CommandPalette > Vertical { background: $background; }
    """
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", KEYS["interrupt"].help, show=False, priority=True, id="interrupt"),
    ]
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "picker": PickerScreen,
        "dashboard": _later("dashboard", "DashboardScreen"),
        "chat": _later("chat", "ChatScreen"),
        "bench": _later("bench", "BenchScreen"),
        "placement": _later("placement", "PlacementScreen"),
        "models": _later("models", "ModelsScreen"),
        "history": _later("history", "HistoryScreen"),
    }
    DEFAULT_MODE = "picker"

    def __init__(self, session: Session, options: AppOptions | None = None) -> None:
        self.options = options or AppOptions()
        self.colour = self.options.colour and not os.environ.get("NO_COLOR")
        with _no_color_environment(not self.colour):
            super().__init__(session)
        session.trust = self.ask_trust
        self.paper: Paper = DEFAULT_PAPER
        self.own_keys = dict(self.options.keys)
        self.version_words = f"entity-tui {__version__}"
        self._before_picker = "dashboard"
        self.starting = False
        """True between the key that starts a run and the run's first view."""
        self._interrupted_at = 0.0
        self.register_theme(ENTITY_DARK)
        self.register_theme(ENTITY_LIGHT)

    # -- life ------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Choose the theme, the keys and the first screen, and start the clock and the watch over devices."""
        wanted = {"ansi": "ansi-dark"}.get(self.options.theme, self.options.theme)
        if not self.colour:
            wanted = "ansi-dark"
        self.theme = wanted if wanted in self.available_themes else "entity-dark"
        self.theme_changed_signal.subscribe(self, lambda _: self._new_paper())
        self._new_paper()
        if self.own_keys:
            self.set_keymap(self.own_keys)
        self.set_interval(CALM_PAINT_S if self.options.reduced_motion else PAINT_S, self.paint)
        self.run_worker(self._watch(), name="devices", exit_on_error=False)
        self.set_timer(WARM_AFTER_S, self._warm)
        self._leave_on_signals()
        if self.options.spec:
            self.connect_to(self.options.spec)
            self.action_goto(self.options.screen)

    def _leave_on_signals(self) -> None:
        """SIGTERM and SIGHUP end the interface as `q` does: the terminal is given back, a run goes on on the phone."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()

        def leave(number: int, frame: object) -> None:
            # Not a handler of the loop: where the terminal is gone, the loop may wait for ever for its writer. The
            # kernel then ends the process; what runs on a phone does not need us.
            signal.alarm(LEAVE_WITHIN_S)
            loop.call_soon_threadsafe(self.exit)

        for number in (signal.SIGTERM, signal.SIGHUP):
            # Only the main thread can; elsewhere (an embedding) the default stays.
            with contextlib.suppress(ValueError):
                signal.signal(number, leave)

    async def _warm(self) -> None:
        """Import what the other screens need while the reader looks at the first one."""
        for module in ("dashboard", "bench"):
            await asyncio.to_thread(importlib.import_module, f"entity_tui.screens.{module}")

    async def _watch(self) -> None:
        try:
            await self.session.watch_devices()
        except EntityError as error:
            self.complain(error)

    async def on_unmount(self) -> None:
        """Let go of the device: its chat server is ended, a run on it lives on."""
        await self.session.close()

    def paint(self) -> None:
        """Let the screen in view draw what is new; screens under a dialog go on, hidden modes cost nothing."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, FrameScreen):
                screen.tick()
                return

    def _new_paper(self) -> None:
        self.paper = paper_for(self.current_theme, ascii=self.options.ascii, colour=self.colour)
        for stack in self._screen_stacks.values():
            for screen in stack:
                for panel in screen.query(Panel):
                    panel.repaint_all()

    # -- devices and runs --------------------------------------------------------------------------------------------

    async def ask_trust(self, question: HostKeyUnknown) -> bool:
        """Show an unknown host key's fingerprint and ask whether it is the right one."""
        rows = (plain(question.title), plain(question.fingerprint), "Compare it with what the device itself shows.")
        asked = ConfirmScreen("Trust this host key from now on?", rows, "trust")
        return await self.push_screen_wait(asked)

    def connect_to(self, spec: str) -> None:
        """Connect beside the interface; the strip shows how far it is."""

        async def connect() -> None:
            await self.session.connect(spec)

        self.attempt(connect(), "connect")

    def run_in_flight(self) -> bool:
        """True while a run goes on."""
        return self.session.run is not None and not self.session.run.finished

    def action_run_default(self, experiment: str, model: str = "") -> None:
        """Run the default plan of an experiment; while a run is in flight, go to it and say so."""
        run = self.session.run
        if run is not None and not run.finished:
            self.action_goto("placement" if run.experiment == "placement" else "bench")
            self.say("a run is in flight; s stops it")
            return
        if self.starting:
            return
        self.action_goto("placement" if experiment == "placement" else "bench")
        self.attempt(self._start(experiment, model), "start")

    async def _start(self, experiment: str, model: str) -> str | None:
        self.starting = True
        try:
            return await self._started(experiment, model)
        finally:
            self.starting = False

    async def _started(self, experiment: str, model: str) -> str | None:
        words = await self.session.start_bench(experiment=experiment, model=model)
        if not self.run_in_flight() and words:
            rows = tuple(plain(row) for row in words.splitlines())
            asked = ConfirmScreen("Start this plan?", rows, "start")
            if await self.push_screen_wait(asked):
                return await self.session.start_bench(experiment=experiment, confirmed=True, model=model)
            return "not started"
        return words

    # -- actions -----------------------------------------------------------------------------------------------------

    def action_goto(self, mode: str) -> None:
        """Show one of the screens; the picker remembers where it was opened from."""
        while len(self.screen_stack) > 1 and isinstance(self.screen, FrameScreen):
            self.pop_screen()
        if mode == "picker" and self.current_mode != "picker":
            self._before_picker = self.current_mode
        self.switch_mode(mode)

    def leave_picker(self) -> None:
        """Back to the screen the picker was opened from."""
        self.switch_mode(self._before_picker)

    def action_help(self) -> None:
        """Help of the screen in view."""
        from entity_tui.screens.help import HelpScreen

        if isinstance(self.screen, FrameScreen) and not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_log(self) -> None:
        """The whole log."""
        from entity_tui.screens.log import LogScreen

        if not isinstance(self.screen, LogScreen):
            self.push_screen(LogScreen())

    def action_ask_quit(self) -> None:
        """Quit; ask first when a run is in flight."""
        if not self.run_in_flight():
            self.exit()
            return
        rows = (
            "A run is in flight. It goes on, on the phone, without this computer;",
            "the next start of entity-tui collects it. Nothing is lost.",
        )

        def answered(yes: bool | None) -> None:
            if yes:
                self.exit()

        self.push_screen(ConfirmScreen("Quit while a run is in flight?", rows, "quit"), answered)

    def action_interrupt(self) -> None:
        """Stop what this screen runs; quit when nothing runs anywhere."""
        if isinstance(self.screen, FrameScreen) and self.screen.stop_reply():
            return
        if not self.run_in_flight():
            self.exit()
            return
        if self.current_mode not in ("bench", "placement"):
            self.say("a run is in flight on Bench; go there to stop it, q quits")
            return
        self.stop_run()

    def stop_run(self) -> None:
        """Stop after the current cell; asked twice within five seconds, now."""
        now = time.monotonic()
        at_once = now - self._interrupted_at < MESSAGE_S
        self._interrupted_at = 0.0 if at_once else now

        async def stop() -> str:
            await self.session.stop_run(now=at_once)
            return "stopping now" if at_once else "stopping after this cell; again within 5 s stops now"

        self.attempt(stop(), "stop")

    def one_line(self, width: int) -> str:
        """What a terminal of one line shows: rate, power, temperature, and whose rate it is where that fits."""
        parts = []
        from entity_tui.screens.dashboard_tiny import shown_rate

        rate, label = shown_rate(self.session.run)
        if rate is not None:
            parts.append(f"{tok_s(rate)} tok/s")
        power = newest(self.session.telemetry, "power_w")
        if power is not None:
            parts.append(f"{watts(power)} W")
        skin, _ = skin_reading(self.session.telemetry)
        if skin is not None:
            parts.append(f"{celsius(skin)} °C")
        if parts and label and len("  ".join((*parts, label))) <= width:
            parts.append(label)
        return "  ".join(parts) or plain(self.session.view.words) or "no phone selected"

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Everything by name: the keys of this screen, the devices, the themes."""
        from entity_tui.screens.palette import commands

        yield from commands(self, screen)
