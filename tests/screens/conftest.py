"""Screens under test: an application over a staged session, at a size, in one time zone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual.pilot import Pilot

from entity_tui.app import AppOptions, EntityApp
from tests.screens.stage import StagedSession, universal_time

Stage = Callable[..., AbstractAsyncContextManager[tuple[EntityApp, Pilot[None]]]]


@pytest.fixture(autouse=True)
def one_time_zone() -> Iterator[None]:
    """Local times on pages are the same everywhere."""
    with universal_time():
        yield


@pytest.fixture
def stage() -> Stage:
    """`async with stage(session, "bench", (120, 40)) as (app, pilot)`: the application on that screen."""

    @asynccontextmanager
    async def opened(
        session: StagedSession, screen: str = "dashboard", size: tuple[int, int] = (120, 40), **options: object
    ) -> AsyncIterator[tuple[EntityApp, Pilot[None]]]:
        app = EntityApp(session, AppOptions(**options))  # type: ignore[arg-type]
        async with app.run_test(size=size, notifications=True) as pilot:
            app.action_goto(screen)
            await pilot.pause()
            app.paint()
            await pilot.pause()
            yield app, pilot
            assert app.drawing_errors == []

    return opened
