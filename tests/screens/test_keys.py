"""Every key on the screen works, and is in Help; no letter means two things; users can change them."""

from __future__ import annotations

import pytest

from entity_tui.screens.chat import ChatScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.help import HelpScreen
from entity_tui.screens.keys import EVERYWHERE, KEYS
from entity_tui.screens.log import LogScreen
from entity_tui.widgets.status_bars import KeyLine
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import a_run, live_phone
from tests.screens.test_states import SCREENS

ALL = (*SCREENS, LogScreen)


@pytest.mark.parametrize("screen", ALL, ids=lambda screen: screen.__name__)
def test_each_footer_key_is_bound_on_its_screen(screen: type[FrameScreen]) -> None:
    """A key on the screen is a promise."""
    bound = set(screen.keys) | set(EVERYWHERE) | {"palette", "interrupt"}
    assert set(screen.footer) <= bound
    assert set(screen.footer_compact) <= bound


@pytest.mark.parametrize("screen", [*ALL, ChatScreen], ids=lambda screen: screen.__name__)
def test_a_key_means_one_thing_on_a_screen(screen: type[FrameScreen]) -> None:
    """Two bindings of one screen never share a key, apart from those a screen takes over from the common ones."""
    taken: dict[str, str] = {}
    for id in screen.keys:
        for key in KEYS[id].keys.split(","):
            assert key not in taken, f"{key}: {taken.get(key)} and {id}"
            taken[key] = id


@pytest.mark.parametrize("screen", ALL, ids=lambda screen: screen.__name__)
def test_no_action_needs_a_key_that_terminals_want(screen: type[FrameScreen]) -> None:
    """ctrl+s, q, z, b, j belong to terminals and multiplexers."""
    for id in (*screen.keys, *EVERYWHERE):
        assert not set(KEYS[id].keys.split(",")) & {"ctrl+s", "ctrl+q", "ctrl+z", "ctrl+b", "ctrl+j"}


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.__name__)
async def test_each_footer_key_runs_an_action_and_stands_in_help(stage: Stage, screen: type[FrameScreen]) -> None:
    """Pressing it finds an action; Help explains it in words."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, screen.tab or "picker") as (app, pilot):
        line = app.screen.query_one("#keys", KeyLine)
        hints = (*line.shown(120), *((line.last,) if line.last else ()))
        assert len(line.shown(120)) == len(line.value)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        words = "\n".join("".join(text for text, _ in row) for row in app.screen.help_rows(116))
        await pilot.press("escape")
        ids = {KEYS[id].action: KEYS[id] for id in (*screen.keys, *EVERYWHERE, "palette")}
        for hint in hints:
            key = ids[hint.action]
            assert key.shown == hint.key
            assert key.help in words
            target, _, name = key.action.partition("(")[0].partition(".")
            owner = app if target == "app" else app.screen
            assert hasattr(owner, f"action_{name}"), key.action


async def test_digits_and_function_keys_go_to_the_six_screens(stage: Stage) -> None:
    """Where function keys do not arrive, digits do, and the other way round."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        for key, mode in (("3", "bench"), ("f5", "placement"), ("5", "models"), ("f7", "history"), ("1", "dashboard")):
            await pilot.press(key)
            assert app.current_mode == mode


async def test_a_key_of_the_users_own_replaces_ours_in_footer_and_action(stage: Stage) -> None:
    """Every binding has an id that the settings can name."""
    session = live_phone()
    async with stage(session, "dashboard", keys={"graph.pause": "ctrl+y"}) as (app, pilot):
        assert "^y pause" in page(app)
        await pilot.press("space")
        assert not session.paused
        await pilot.press("ctrl+y")
        assert session.paused


async def test_jump_puts_letters_on_panels_and_focuses_one(stage: Stage) -> None:
    """ctrl+o, then a letter."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "[a] Topology" in page(app)
        await pilot.press("d")
        await pilot.pause()
        assert "[a]" not in page(app)
        assert app.screen.focused is not None
        assert app.screen.focused.id == "thermal"


async def test_zoom_gives_a_panel_the_body_and_back(stage: Stage) -> None:
    """z, then z or esc; the focus stays."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        await pilot.press("tab", "tab", "z")
        await pilot.pause()
        zoomed = page(app)
        assert "Dashboard  ›  Thermal °C" in zoomed
        assert "Topology" not in zoomed
        await pilot.press("left")
        await pilot.pause()
        assert "cursor" in page(app)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "Topology" in page(app)
        assert app.screen.focused is not None
        assert app.screen.focused.id == "thermal"


async def test_the_palette_offers_actions_devices_and_themes(stage: Stage) -> None:
    """Everything by name."""
    from entity_tui.screens.palette import commands

    async with stage(live_phone(), "dashboard") as (app, pilot):
        titles = [command.title for command in commands(app, app.screen)]
        assert "Run the default bench plan now" in titles
        assert "Connect CMF Phone 1" in titles
        assert "Theme entity-light" in titles
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert type(app.screen).__name__ == "CommandPalette"


async def test_a_click_on_a_tab_or_a_footer_entry_does_what_its_key_does(stage: Stage) -> None:
    """The mouse is a courtesy: whatever can be clicked has a key beside it."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        rows = page(app).split("\n")
        await pilot.click(offset=(rows[1].index("3 Bench") + 2, 1))
        await pilot.pause()
        assert app.current_mode == "bench"
        last = page(app).split("\n")[-1]
        await pilot.click(offset=(last.index("? help") + 1, 39))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.click(offset=(3, 0))
        await pilot.pause()
        assert app.current_mode == "picker"


async def test_a_click_on_a_row_moves_the_cursor_and_the_wheel_scrolls(stage: Stage) -> None:
    """Rows under the head, not the head itself."""
    session = live_phone()
    async with stage(session, "picker") as (app, pilot):
        row = next(y for y, text in enumerate(page(app).split("\n")) if "termux" in text)
        await pilot.click(offset=(10, row))
        await pilot.pause()
        assert "▸ termux" in page(app)
