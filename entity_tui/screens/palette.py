"""What the command palette offers: every action of the screen in view, every device, the themes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.screen import Screen

from entity_tui.screens.device_values import state_words
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.keys import EVERYWHERE, KEYS, shown_key
from entity_tui.widgets.text import plain

if TYPE_CHECKING:
    from entity_tui.app import EntityApp

UNLISTED = frozenset({"list.down", "list.up", "list.page_down", "list.page_up", "list.top", "list.end", "back"})


def commands(app: EntityApp, screen: Screen[Any]) -> Iterable[SystemCommand]:
    """Actions with their key, then devices, then themes."""
    own = screen.keys if isinstance(screen, FrameScreen) else ()
    for id in (*own, *EVERYWHERE):
        if id in UNLISTED:
            continue
        key = KEYS[id]
        title = key.help[0].upper() + key.help[1:]
        yield SystemCommand(title, f"key {shown_key(id, app.own_keys)}", _runner(app, screen, key.action))
    yield from _devices(app)
    yield SystemCommand("Theme", "choose another theme", app.action_change_theme)
    for name in ("entity-dark", "entity-light", "ansi-dark"):
        yield SystemCommand(f"Theme {name}", "use this theme", _themer(app, name))


def _runner(app: EntityApp, screen: Screen[Any], action: str) -> Callable[[], None]:
    def run() -> None:
        app.call_later(screen.run_action, action)

    return run


def _themer(app: EntityApp, name: str) -> Callable[[], None]:
    def use() -> None:
        app.theme = name

    return use


def _devices(app: EntityApp) -> Iterator[SystemCommand]:
    for row in app.session.devices:
        yield SystemCommand(
            f"Connect {plain(row.name).replace('[', '(')}",
            f"{plain(row.via)}, {state_words(row.state)}",
            _connector(app, row.spec),
        )


def _connector(app: EntityApp, spec: str) -> Callable[[], None]:
    def connect() -> None:
        app.connect_to(spec)
        app.action_goto("dashboard")

    return connect
