"""Every panel shows its five states, each different, none of them moving anything."""

from __future__ import annotations

import pytest

from entity_tui.screens.bench import BenchScreen
from entity_tui.screens.dashboard import DashboardScreen
from entity_tui.screens.frame_screen import FrameScreen
from entity_tui.screens.history import HistoryScreen
from entity_tui.screens.models import ModelsScreen
from entity_tui.screens.picker import PickerScreen
from entity_tui.screens.placement import PlacementScreen
from entity_tui.transport.base import DeviceState
from entity_tui.widgets.panel import LIVE, Condition, Panel
from entity_tui.widgets.status_bars import DeviceStrip, KeyLine, TabLine
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import StagedSession, a_placement, a_run, grow, live_phone

SCREENS: tuple[type[FrameScreen], ...] = (
    PickerScreen,
    DashboardScreen,
    BenchScreen,
    PlacementScreen,
    ModelsScreen,
    HistoryScreen,
)
CONDITIONS = {
    "waiting": Condition.waiting("reading 31 thermal zones, 0.4 s"),
    "empty": Condition.empty("No runs yet.", "b runs the default plan."),
    "stale": Condition.stale(4.0),
    "broken": Condition.broken("The kernel denies it.", "doctor says why"),
}


def rows(panel: Panel) -> list[str]:
    """What a panel shows."""
    return ["".join(text for text, _ in row) for row in panel._drawn.rows]


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.__name__)
async def test_each_panel_has_five_states_of_one_size(stage: Stage, screen: type[FrameScreen]) -> None:
    """Title and border stay, the inside says which state it is; stale keeps its values and says its age."""
    session = live_phone()
    session.run = a_placement() if screen is PlacementScreen else a_run()
    async with stage(session, screen.tab or "picker") as (app, _):
        panels = [
            p for p in app.screen.query(Panel) if p.display and not isinstance(p, (DeviceStrip, TabLine, KeyLine))
        ]
        assert panels
        for panel in panels:
            seen = {"live": rows(panel)} if panel.condition is LIVE else {}
            for name, condition in CONDITIONS.items():
                if name == "stale" and "live" not in seen:
                    continue
                panel.set_condition(condition)
                seen[name] = rows(panel)
            assert len({len(each) for each in seen.values()}) == 1
            assert len({tuple(each) for each in seen.values()}) == len(seen), panel
            assert "reading 31 thermal zones, 0.4 s" in " ".join(" ".join(seen["waiting"]).replace("│", " ").split())
            if not panel.bare:
                assert all(panel.title[:12] in each[0] for each in seen.values())
                if "stale" in seen:
                    assert "stale 4 s" in seen["stale"][0]


async def test_before_a_device_is_chosen_every_panel_says_what_to_press(stage: Stage) -> None:
    """An empty panel has one line why and one line what fills it."""
    async with stage(StagedSession(), "dashboard") as (app, _):
        shown = page(app)
        assert shown.count("No phone selected.") == 4
        assert shown.count("d chooses one; demo needs nothing.") == 4


async def test_a_lost_phone_dims_its_panels_and_the_strip_says_since_when(stage: Stage) -> None:
    """Values stay readable with their age; what a CPU can run does not age; nothing is pressed to come back."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        session.set(state=DeviceState.LOST, words="lost 12:14:03, retrying 3")
        session.age_s = 7.0
        app.paint()
        await pilot.pause()
        lost = page(app)
        assert "✖ CMF Phone 1   lost 12:14:03, retrying 3" in lost
        assert lost.count("stale 7 s") == 3
        assert "2 500" in lost
        session.set(state=DeviceState.READY, words="ready")
        grow(session, 60.0, 62.0)
        app.paint()
        await pilot.pause()
        assert "stale" not in page(app)


async def test_an_old_sample_is_stale_even_when_the_link_says_ready(stage: Stage) -> None:
    """A silent sampler is not a live one."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        session.age_s = 4.0
        app.paint()
        await pilot.pause()
        assert page(app).count("stale 4 s") == 3


async def test_connecting_says_what_is_being_read(stage: Stage) -> None:
    """Waiting is a sentence, not a spinner."""
    session = StagedSession()
    session.set(spec="adb:1", name="adb:1", state=DeviceState.CONNECTING, words="connecting to adb:1")
    async with stage(session, "dashboard") as (app, _):
        shown = page(app)
        assert "reading cores, clocks and features" in shown
        assert "◐ adb:1   connecting to adb:1" in shown


async def test_a_refused_phone_says_what_to_do(stage: Stage) -> None:
    """Broken: the reason in plain words, then the fix."""
    session = StagedSession()
    session.set(
        spec="adb:1",
        name="A015",
        state=DeviceState.UNAUTHORIZED,
        words="the phone is asking for permission",
        fix="unlock it and tap Allow",
    )
    async with stage(session, "dashboard") as (app, _):
        shown = page(app)
        assert "✖ the phone is asking for permission" in shown
        assert "unlock it and tap Allow" in shown
