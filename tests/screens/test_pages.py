"""Every screen at every size looks as it did when somebody last looked at it.

ENTITY_UPDATE_PAGES=1 writes the pages anew; the diff is then what a reviewer reads.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from entity_tui.config import data_folder
from entity_tui.screens.models import ModelsScreen
from entity_tui.widgets.text import to_ascii
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import StagedSession, a_placement, a_run, live_phone
from tests.screens.stage_models import model_rows, store_two_runs

PAGES = Path(__file__).parent / "pages"
SIZES = ((120, 40), (100, 30), (80, 24), (40, 10), (30, 5))
SCREENS = ("picker", "dashboard", "bench", "placement", "models", "history")


def staged(screen: str) -> StagedSession:
    """A session with something to show on a screen."""
    session = live_phone()
    if screen == "bench":
        session.run = a_run()
    if screen == "placement":
        session.run = a_placement()
    if screen == "history":
        store_two_runs(data_folder())
    return session


def prepare(app: object, screen: str) -> None:
    """Give the models screen its rows without a device."""
    if screen == "models":
        shown = app.screen  # type: ignore[attr-defined]
        assert isinstance(shown, ModelsScreen)
        shown.room.rows = model_rows()
        shown.room._read_for = shown.room._key()
        shown.tick()


async def taken(stage: Stage, screen: str, size: tuple[int, int], **options: object) -> str:
    """The page of a staged screen."""
    async with stage(staged(screen), screen, size, **options) as (app, pilot):
        prepare(app, screen)
        await pilot.pause()
        if screen == "history":
            await pilot.press("space", "down", "space")
            await pilot.pause()
        return page(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
async def test_a_screen_looks_as_it_was_approved(stage: Stage, screen: str, size: tuple[int, int]) -> None:
    """Words, digits, columns and glyphs, cell by cell."""
    got = await taken(stage, screen, size)
    kept = PAGES / f"{screen}-{size[0]}x{size[1]}.txt"
    if os.environ.get("ENTITY_UPDATE_PAGES"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(got + "\n", encoding="utf-8")
    assert got + "\n" == kept.read_text(encoding="utf-8")


def test_no_row_is_wider_than_its_terminal() -> None:
    """A row that is too wide would wrap and push everything down."""
    for kept in PAGES.glob("*.txt"):
        width, height = map(int, kept.stem.rpartition("-")[2].split("x"))
        rows = kept.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        assert len(rows) == height, kept.name
        assert max(cell_len(row) for row in rows) <= width, kept.name


@pytest.mark.parametrize("screen", ["dashboard", "placement"])
async def test_ascii_mode_draws_ascii_only(stage: Stage, screen: str) -> None:
    """Terminals without our glyphs get every cell in ASCII, at the same place."""
    got = await taken(stage, screen, (120, 40), ascii=True)
    assert got.isascii()
    with_glyphs = (PAGES / f"{screen}-120x40.txt").read_text(encoding="utf-8").split("\n")
    rows = got.split("\n")
    assert len(rows) == 40
    assert rows[1].rstrip() == to_ascii(with_glyphs[1]).rstrip()


@pytest.mark.parametrize("screen", ["dashboard", "bench"])
async def test_without_colour_the_words_and_glyphs_are_the_same(stage: Stage, screen: str) -> None:
    """State is carried by glyph and word: taking the colour away takes no meaning away."""
    plain_page = await taken(stage, screen, (80, 24), colour=False)
    assert plain_page + "\n" == (PAGES / f"{screen}-80x24.txt").read_text(encoding="utf-8")


async def test_without_colour_no_cell_has_one(stage: Stage) -> None:
    """One colour: only bold, dim and reverse are left."""
    async with stage(staged("bench"), "bench", (80, 24), colour=False) as (app, _):
        strips = app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert styles
        assert not any(
            style.color or style.bgcolor for style in styles if not style.color or not style.color.is_default
        )


async def test_a_theme_never_changes_the_words_of_a_page(stage: Stage) -> None:
    """Also the terminal's own sixteen colours; a theme is a palette, never another page."""
    async with stage(staged("dashboard"), "dashboard", (80, 24)) as (app, pilot):
        wanted = page(app)
        for name in ("entity-light", "nord", "ansi-dark", "solarized-light"):
            app.theme = name
            await pilot.pause()
            assert page(app) == wanted, name


async def test_the_light_theme_paints_dark_text_on_a_light_ground(stage: Stage) -> None:
    """The other theme is a palette of its own, not an inversion."""
    async with stage(staged("dashboard"), "dashboard", (80, 24), theme="entity-light") as (app, _):
        assert app.theme == "entity-light"
        strips = app.screen._compositor.render_strips()
        grounds = {
            segment.style.bgcolor.name
            for strip in strips
            for segment in strip
            if segment.style and segment.style.bgcolor
        }
        assert "#fbfcfd" in grounds
