"""Text from a device is data: nothing in it acts on the terminal, is read as markup, or breaks a row."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest
from rich.cells import cell_len

from entity_tui.device.identity import Identity
from entity_tui.screens.device_values import strip_value
from entity_tui.transport.base import DeviceState
from entity_tui.transport.discover import DeviceRow
from tests.screens.conftest import Stage
from tests.screens.pages import page
from tests.screens.stage import a_facts, a_placement, a_run, live_phone

CORPUS = (
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07",
    "[bold red]markup[/] [link=https://example.org]x[/link]",
    "line\nbreak\rreturn\ttab\x0bvertical\x0cfeed",
    "\u202egnp.exe\u2066\u200b\u200d\ufeff",
    "한국어 手机 📱👨‍👩‍👧‍👦 é̂̂̂̂",
    "\x00\x01\x7f\x9b31m\u0085next\u2028line\u2029par",
    "\ud800lone surrogate",
    "=cmd|' /C calc'!A0",
    "x" * 5_000,
    "{curly} $dollar `tick` %s %(x)s \\x1b[31m",
)


def forbidden(text: str) -> list[str]:
    """Characters of a page that a terminal could act on."""
    return [
        c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066\u200b\u200d\ufeff")
    ]


@pytest.mark.parametrize("offset", range(3))
async def test_hostile_text_stays_inside_its_cell(stage: Stage, offset: int) -> None:
    """As a device's name, a log line, an arm, a state, a verdict, a variant, an address, a fix."""
    texts = cycle(CORPUS[offset * 4 :] + CORPUS[: offset * 4])
    session = live_phone()
    facts = a_facts()
    evil = Identity(*(next(texts) for _ in range(7)), 35, next(texts))
    clusters = tuple(replace(c, name=next(texts), label=next(texts)[:40]) for c in facts.topology.clusters)
    session.set(name=next(texts), words=next(texts), fix=next(texts), loaded_variant=next(texts))
    session.set(facts=replace(facts, identity=evil, topology=replace(facts.topology, clusters=clusters)))
    session.devices = tuple(
        DeviceRow(text, next(texts), next(texts), DeviceState.OFFLINE, f"adb:{text}", next(texts), next(texts))
        for text in CORPUS
    )
    for text in CORPUS:
        session.log.add(next(texts), text)
    run = a_run()
    arms = tuple(
        replace(arm, label=next(texts), word=next(texts), detail=next(texts), power_note=next(texts))
        for arm in run.arms
    )
    run = replace(run, title=next(texts), arms=arms, model_name=next(texts), engine_name=next(texts))
    session.run = replace(run, verdicts=(next(texts),), readback=next(texts))
    async with stage(session, "dashboard", (100, 30)) as (app, pilot):
        for mode in ("dashboard", "picker", "bench", "placement", "history"):
            if mode == "placement":
                session.run = replace(a_placement(), verdicts=(next(texts), next(texts)))
            app.action_goto(mode)
            app.say(next(texts))
            await pilot.pause()
            app.paint()
            await pilot.pause()
            shown = page(app)
            assert forbidden(shown) == []
            rows = shown.split("\n")
            assert len(rows) == 30
            assert max(cell_len(row) for row in rows) <= 100


def test_a_name_that_looks_like_markup_is_shown_as_written() -> None:
    """Brackets are brackets."""
    session = live_phone()
    session.set(name="[bold]x[/bold]")
    assert strip_value(session, "v").name == "[bold]x[/bold]"
