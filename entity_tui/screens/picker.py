"""Device picker: which phone? Opens when none is remembered, and any time with d."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Region
from textual.widget import Widget

from entity_tui import config
from entity_tui.connect import parse_spec
from entity_tui.pairing import pair_phone
from entity_tui.screens.device_values import STATE_MARKS, state_words
from entity_tui.screens.dialogs import ConfirmScreen, PromptScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import bindings
from entity_tui.screens.layout import SizeClass, split_columns, split_rows
from entity_tui.screens.pairing_screen import PairingScreen
from entity_tui.screens.picker_values import (
    COLUMNS,
    advice_rows,
    device_row,
    preview_rows,
)
from entity_tui.transport.base import DeviceState
from entity_tui.transport.discover import DeviceRow
from entity_tui.widgets.ink import Ink, Line, line, muted
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.table import Table, TableValue
from entity_tui.widgets.text import plain
from entity_tui.widgets.text_panel import TextPanel


class PickerScreen(FrameScreen):
    """All devices that can be chosen, what each needs, and what is known of the chosen one."""

    title_words = "Choose a phone"
    question = "Which phone?"
    keys = ("picker.connect", "picker.retry", "picker.add", "picker.pair", "picker.forget")
    footer = ("picker.connect", "picker.add", "picker.pair", "picker.retry", "picker.forget", "log", "help", "quit")
    footer_compact = ("picker.connect", "picker.add", "picker.pair", "picker.retry", "help", "quit")
    reading = (
        "●  ready",
        "◐  connecting",
        "▲  something to do on the phone or on this computer; the panel below says what",
        "○  not there now; it appears here by itself",
        "✖  a key or a link is wrong",
    )
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(keys))

    def make_panels(self) -> Iterable[Widget]:
        """The list, what to do, what could be added, and the preview."""
        return (
            Table("Phones", id="phones", cursor=True),
            TextPanel("What to do", id="advice"),
            TextPanel("Add", id="add"),
            TextPanel("Preview", id="preview"),
        )

    def place(self, size: SizeClass, body: Region) -> Mapping[str, Region]:
        """The list over advice over preview."""
        if size is SizeClass.COMPACT:
            phones, advice, preview = split_rows(body, 0, 7, 5)
            return {"phones": phones, "advice": advice, "preview": preview}
        phones, middle, preview = split_rows(body, 0, 10, min(11, max(6, body.height // 4)))
        advice, add = split_columns(middle, body.width * 64 // 120, 0)
        return {"phones": phones, "advice": advice, "add": add, "preview": preview}

    def heading(self) -> str:
        """Words in place of the tabs."""
        return "Choose a phone"

    # -- values ----------------------------------------------------------------------------------------------------

    def chosen(self) -> DeviceRow | None:
        """The row under the cursor."""
        key = self.query_one("#phones", Table).cursor_key
        return next((row for row in self.session.devices if row.spec == key), None)

    def fill(self) -> None:
        """List, advice, preview."""
        self._fill_list()
        chosen = self.chosen()
        advice = self.query_one("#advice", TextPanel)
        if chosen is None:
            advice.show((), Condition.empty("No device is under the cursor."))
        else:
            advice.show(advice_rows(chosen, advice.size.width - 4), foot=self._adb_words(advice.size.height))
        if self.in_view("add"):
            self.query_one("#add", TextPanel).show(self._add_rows())
        self._fill_preview(chosen)

    def _fill_list(self) -> None:
        rows = tuple(device_row(row) for row in self.session.devices)
        condition: Condition = (
            LIVE if rows else Condition.waiting("looking for devices on USB, Wi-Fi and this computer")
        )
        self.query_one("#phones", Table).show(TableValue(COLUMNS, rows), condition, hint="d anytime  auto-refresh")

    def _adb_words(self, height: int) -> tuple[Line, ...]:
        if height < 9:
            return ()
        settings = self.session.settings
        return (muted(f"adb server on tcp:{int(settings['adb_port'])}   watching for changes"),)

    def _add_rows(self) -> tuple[Line, ...]:
        return (
            line(("a", Ink.STRONG), "  add a phone over SSH (Termux, sshd)"),
            line(("P", Ink.STRONG), "  pair over Wi-Fi, by code or QR code"),
            line(("x", Ink.STRONG), "  forget the remembered device under the cursor"),
            line(),
            muted("a phone on a cable appears here by itself"),
            muted("settings are YAML: entity-tui config path"),
            muted("secrets stay in your ssh agent, never in a file of ours"),
        )

    def _fill_preview(self, chosen: DeviceRow | None) -> None:
        panel = self.query_one("#preview", TextPanel)
        view = self.session.view
        if chosen is None:
            panel.show((), Condition.empty("Move the cursor to a device."))
            return
        name = plain(chosen.name)
        if view.spec != chosen.spec:
            words = "enter connects: one read-only look, nothing is changed on the device."
            panel.show((), Condition.empty(f"Not connected to {name}.", words), subtitle=name)
            return
        if view.facts is None:
            if view.state is DeviceState.CONNECTING:
                panel.show((), Condition.waiting(f"reading {name}"), subtitle=name)
            else:
                words = plain(view.words or state_words(view.state))
                panel.show((), Condition.broken(words, plain(view.fix)), subtitle=name)
            return
        panel.show(preview_rows(self.session, panel.size.width - 4), subtitle=name)

    def tiny_lines(self, width: int) -> tuple[Line, ...]:
        """The devices with their state."""
        self._fill_list()
        chosen = self.chosen()
        rows: list[Line] = []
        for row in self.session.devices:
            mark = "▸ " if row is chosen else "  "
            rows.append(
                line(mark, plain(row.name)[:18].ljust(19), STATE_MARKS[row.state], f" {state_words(row.state)}")
            )
        return tuple(rows) or (muted(" looking for devices"),)

    # -- actions ---------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move through the list even where it is not drawn."""
        table = self.query_one("#phones", Table)
        if self.size_class.panels and self.focused_panel is not table:
            super().action_move(by)
            return
        table.move_cursor(by)
        self.tick()

    def action_open(self) -> None:
        """Connect to the row under the cursor, unless it needs something first."""
        chosen = self.chosen()
        if chosen is None:
            return
        view = self.session.view
        if chosen.state not in (DeviceState.READY, DeviceState.CONNECTING, DeviceState.STALE):
            self.entity.say(f"{plain(chosen.name)} is {state_words(chosen.state)}: What to do says how to help")
            return
        if view.spec != chosen.spec or view.facts is None:
            self.entity.connect_to(chosen.spec)
        self.entity.action_goto("dashboard")

    def action_retry(self) -> None:
        """Try the row under the cursor again, whatever state it is said to be in."""
        chosen = self.chosen()
        if chosen is not None:
            self.entity.connect_to(chosen.spec)
            self.entity.say(f"trying {plain(chosen.name)} again")

    def action_add(self) -> None:
        """Ask for an address, remember it under its host's name, and connect."""

        def typed(words: str | None) -> None:
            address = (words or "").strip().removeprefix("ssh:")
            if address:
                self.entity.attempt(self._add(address), "add")

        self.app.push_screen(PromptScreen("phone over SSH: [user@]host[:port]", "", "u0_a214@192.0.2.20:8022"), typed)

    async def _add(self, address: str) -> str:
        spec = f"ssh:{address}"
        parse_spec(spec)
        name = address.rpartition("@")[2].partition(":")[0]
        config.remember(config.KnownDevice(name, spec))
        await self.session.connect(spec)
        return f"{name} is remembered; entity-tui --device {name} reaches it"

    def action_pair(self) -> None:
        """Ask for the address and the code that the phone shows, or show a QR code for it to scan."""

        def typed(words: str | None) -> None:
            parts = (words or "").split()
            if len(parts) == 2:
                self.entity.attempt(pair_phone(*parts), "pair")
            elif parts:
                self.entity.say("two words: the address with its port, then the six digits")
            elif words is not None:
                self.app.push_screen(PairingScreen())

        words = "pair over Wi-Fi: address:port and code as the phone shows them; enter alone shows a QR code"
        self.app.push_screen(PromptScreen(words, "", "192.0.2.14:37105 123456"), typed)

    def action_delete(self) -> None:
        """Forget a remembered device after a question that names it."""
        chosen = self.chosen()
        known = [each for each in config.known_devices() if chosen is not None and each.spec == chosen.spec]
        if not known:
            self.entity.say("only remembered devices can be forgotten")
            return
        name = known[0].name

        def answered(yes: bool | None) -> None:
            if yes and config.forget(name):
                self.entity.say(f"forgot {plain(name)}", log=True)

        rows = (f"{plain(name)}: {plain(known[0].spec)}", "What was measured with it stays.")
        self.app.push_screen(ConfirmScreen("Forget this device?", rows, "forget"), answered)

    def action_back(self) -> None:
        """Back to where the picker was opened from."""
        if self.zoomed:
            super().action_back()
        elif not self.entity.dismiss_errors() and self.session.view.spec:
            self.entity.leave_picker()
