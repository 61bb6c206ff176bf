"""What happens when keys are pressed: connecting, running, stopping, copying, exporting, quitting."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from entity_tui import config
from entity_tui.applied import applied_placement
from entity_tui.config import data_folder
from entity_tui.errors import DeviceUnreachable
from entity_tui.logbook import Level
from entity_tui.screens.dialogs import ConfirmScreen
from entity_tui.screens.history import HistoryScreen
from entity_tui.screens.log import LogScreen
from entity_tui.widgets.mask_editor import MaskEditor
from entity_tui.widgets.message_box import MessageBox
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import StagedSession, a_placement, a_run, grow, live_phone, picker_rows
from tests.screens.stage_models import store_two_runs


def asked_for(session: StagedSession, words: str) -> bool:
    """True when the session was asked to do that."""
    return any(each.startswith(words) for each in session.asked)


async def test_enter_connects_to_the_row_under_the_cursor(stage: Stage) -> None:
    """The picker chooses, the dashboard shows."""
    session = StagedSession()
    session.devices = picker_rows()
    async with stage(session, "picker") as (app, pilot):
        await pilot.press("G", "enter")
        await pilot.pause()
        assert session.asked == ["connect demo:cmf-phone-1"]
        assert app.current_mode == "dashboard"


async def test_enter_on_a_phone_that_needs_something_says_so(stage: Stage) -> None:
    """Nothing is tried that cannot work."""
    session = StagedSession()
    session.devices = picker_rows()
    async with stage(session, "picker") as (app, pilot):
        await pilot.press("j", "j")
        await pilot.pause()
        assert "Tick «always allow from this computer»" in page(app)
        await pilot.press("enter")
        assert session.asked == []
        assert app.current_mode == "picker"


async def test_an_ssh_phone_is_added_remembered_and_forgotten(stage: Stage) -> None:
    """a asks for the address; x forgets it after a question that names it."""
    session = StagedSession()
    session.devices = picker_rows()
    async with stage(session, "picker") as (app, pilot):
        await pilot.press("a", *"u0_a214@192.0.2.20:8022", "enter")
        await pilot.pause()
        await pilot.pause()
        assert session.asked == ["connect ssh:u0_a214@192.0.2.20:8022"]
        assert [device.name for device in config.known_devices()] == ["192.0.2.20"]
        await pilot.press("j", "j", "j", "x")
        await pilot.pause()
        assert "192.0.2.20: ssh:u0_a214@192.0.2.20:8022" in page(app)
        await pilot.press("enter")
        await pilot.pause()
        assert config.known_devices() == ()


async def test_b_runs_the_default_plan_and_shows_bench(stage: Stage) -> None:
    """One key from anywhere."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        assert app.current_mode == "bench"
        assert session.asked == ["start ablation False"]


async def test_a_long_plan_is_asked_once_with_its_cost(stage: Stage) -> None:
    """The question holds the time and the battery; only a yes starts it."""
    session = live_phone()
    session.answer = "full ablation: 41 cells, 42 min\nabout 12 % of the battery"
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, ConfirmScreen)
        assert "about 12 % of the battery" in page(app)
        await pilot.press("enter")
        await pilot.pause()
        assert session.asked == ["start ablation False", "start ablation True"]


async def test_b_during_a_run_goes_there_and_starts_nothing(stage: Stage) -> None:
    """It never starts a second one."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        assert app.current_mode == "bench"
        assert session.asked == []


async def test_s_stops_after_the_cell_and_twice_stops_now(stage: Stage) -> None:
    """The first press loses nothing."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "bench") as (_, pilot):
        await pilot.press("s")
        await pilot.pause()
        await pilot.press("s")
        await pilot.pause()
        assert session.asked == ["stop now=False", "stop now=True"]


async def test_ctrl_c_stops_the_run_on_its_screen_only_and_never_quits_at_once(stage: Stage) -> None:
    """On another screen it says where the run is."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running
        assert session.asked == []
        await pilot.press("3", "ctrl+c")
        await pilot.pause()
        assert session.asked == ["stop now=False"]
        assert app.is_running


async def test_ctrl_c_quits_when_nothing_runs(stage: Stage) -> None:
    """There is nothing to lose."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app._exit


async def test_q_asks_only_while_a_run_is_in_flight(stage: Stage) -> None:
    """Quitting costs nothing, and the question says so."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmScreen)
        assert "Nothing is lost." in page(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not app._exit
        session.run = None
        await pilot.press("q")
        assert app._exit


async def test_an_error_stays_until_esc_and_is_in_the_log(stage: Stage) -> None:
    """Errors are not missed."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        app.complain(DeviceUnreachable("the phone is gone", fix="plug it in"))
        await pilot.pause()
        assert "the phone is gone plug it in" in " ".join(page(app).replace("┃", " ").replace("│", " ").split())
        assert session.log.count(Level.ERROR) == 1
        await pilot.press("escape")
        await pilot.pause()
        assert not app._notifications


async def test_a_mistake_in_drawing_is_written_down_once_and_the_screen_goes_on(stage: Stage) -> None:
    """A session with a run in it does not end because a value cannot be drawn."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        good = session.view.facts
        session.set(facts=object())
        app.paint()
        app.paint()
        assert len(app.drawing_errors) == 1
        assert session.log.tail(1)[0].level is Level.ERROR
        session.set(facts=good)
        app.paint()
        await pilot.pause()
        assert "Cortex-A78" in page(app)
        app.drawing_errors.clear()


async def test_at_most_three_messages_stand_at_once(stage: Stage) -> None:
    """More would cover what they are about."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        for number in range(7):
            app.say(f"message {number}")
            await pilot.pause()
            assert len(app._notifications) <= 3


@pytest.mark.parametrize("key", ["e", "E"])
async def test_a_table_exports_and_y_copies_the_path(stage: Stage, key: str) -> None:
    """What is on the screen is in the file."""
    async with stage(live_phone(), "dashboard") as (app, pilot):
        await pilot.press(key)
        await pilot.pause()
        path = Path(app._path)
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if key == "E" else list(csv.DictReader(text.splitlines()))
        assert [row["cpu"] for row in rows] == ["4", "5", "6", "7", "0", "1", "2", "3"]
        await pilot.press("y")
        assert app.clipboard == str(path)


async def test_y_copies_a_table_with_every_column(stage: Stage) -> None:
    """Copying takes no notice of what was dropped for the width."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "bench", (80, 24)) as (app, pilot):
        await pilot.press("y")
        first, second = app.clipboard.split("\n")[:2]
        assert "ttft ms" in first
        assert second.split("\t")[0] == "naive"
        assert "1 856" in second


async def test_resizing_while_data_streams_keeps_the_cursor(stage: Stage) -> None:
    """From full to one line and back, samples arriving all the while."""
    session = live_phone()
    session.run = a_run()
    async with stage(session, "bench") as (app, pilot):
        await pilot.press("j", "j")
        at = 60.0
        for size in ((80, 24), (40, 10), (20, 3), (100, 30), (200, 60), (120, 40)):
            grow(session, at, at + 2)
            at += 2
            await pilot.resize_terminal(*size)
            app.paint()
            await pilot.pause()
            assert len(page(app).split("\n")) == size[1]
        assert "▸ optimized" in page(app)


async def test_the_log_filters_and_follows(stage: Stage) -> None:
    """Words must all stand in a line; alt and a digit shows one source."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, LogScreen)
        await pilot.press("slash")
        await pilot.press(*"gauge", "enter")
        await pilot.pause()
        shown = page(app)
        assert "fuel gauge updates" in shown
        assert "612 ms" not in shown


async def test_pausing_stops_storing_and_says_so(stage: Stage) -> None:
    """The sampler goes on; the screen does not move."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        await pilot.press("space")
        await pilot.pause()
        assert session.paused
        assert "▲ paused" in page(app)


async def test_an_own_placement_is_edited_and_its_mask_and_command_are_logged(stage: Stage) -> None:
    """n, then cores; a shipped placement stays as it is."""
    session = live_phone()
    async with stage(session, "placement") as (app, pilot):
        await pilot.press("space", "n", "space")
        await pilot.pause()
        row = app.screen.query_one("#masks", MaskEditor).chosen
        assert row is not None
        assert row.own
        assert row.cpus == frozenset({5, 6, 7})
        last = session.log.tail(1)[0].text
        assert "mask e0, CPUs 5-7" in last
        assert "entity-tui bench --arms" in last


async def test_deleting_a_run_names_it_first(stage: Stage) -> None:
    """Only a yes deletes, and only that run."""
    store_two_runs(data_folder())
    async with stage(live_phone(), "history") as (app, pilot):
        screen = app.screen
        assert isinstance(screen, HistoryScreen)
        await pilot.press("x")
        await pilot.pause()
        assert "20260822-101302-aaaa" in page(app)
        await pilot.press("escape")
        await pilot.pause()
        assert screen.total == 2
        await pilot.press("x", "enter")
        await pilot.pause()
        assert [row.entry.session_id for row in screen.rows][:1] == ["20260821-194000-bbbb"]


async def test_a_half_typed_filter_keeps_the_screen_and_says_what_is_wrong(stage: Stage) -> None:
    """A wrong field is a sentence, not a crash."""
    store_two_runs(data_folder())
    async with stage(live_phone(), "history") as (app, pilot):
        await pilot.press("slash", *"nosuch=1", "enter")
        await pilot.pause()
        assert "there is no field nosuch" in page(app)


async def test_cells_of_a_stored_run_are_listed_with_their_order(stage: Stage) -> None:
    """enter on a row shows where its median comes from."""
    store_two_runs(data_folder())
    async with stage(live_phone(), "history") as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        app.paint()
        await pilot.pause()
        shown = page(app)
        assert "decode tok/s" in shown
        assert shown.count("● ok") == 7


async def test_enter_applies_the_placement_under_the_cursor(stage: Stage) -> None:
    """The row of the results becomes this device's placement, and the settings say so."""
    session = live_phone()
    session.run = a_placement()
    async with stage(session, "placement") as (app, pilot):
        app.screen.set_focus(app.screen.query_one("#pairs"))
        await pilot.press("enter")
        await pilot.pause()
    assert applied_placement(session.view.spec) == "scheduler"


async def test_a_message_that_could_not_be_said_is_back_in_the_field(stage: Stage) -> None:
    """No server, no reply: what was written is not lost."""
    async with stage(live_phone(), "chat") as (app, pilot):
        box = app.screen.query_one("#message", MessageBox)
        box.focus()
        await pilot.press(*"hello", "enter")
        for _ in range(20):
            await pilot.pause(0.05)
            if box.text:
                break
        assert box.text == "hello"
        assert "✖" in page(app)
