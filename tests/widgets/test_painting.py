"""A tick paints what changed and nothing else."""

from __future__ import annotations

from dataclasses import replace

from textual.geometry import Region

from entity_tui.widgets.panel import Panel
from entity_tui.widgets.topology_map import TopologyMap
from tests.screens.conftest import Stage, stage
from tests.screens.stage import live_phone

__all__ = ["stage"]


async def test_a_tick_without_news_paints_nothing(stage: Stage) -> None:
    """Widgets compare before they draw."""
    painted: list[tuple[str, tuple[Region, ...]]] = []
    async with stage(live_phone(), "dashboard") as (app, pilot):
        app.paint()
        await pilot.pause()
        for panel in app.screen.query(Panel):
            plain_refresh = panel.refresh

            def counted(
                *regions: Region, _panel: Panel = panel, _call: object = plain_refresh, **more: object
            ) -> object:
                painted.append((str(_panel.id), regions))
                return _call(*regions, **more)  # type: ignore[operator]

            panel.refresh = counted  # type: ignore[method-assign,assignment]
        app.paint()
        assert painted == []


async def test_one_changed_core_paints_its_own_row(stage: Stage) -> None:
    """Two digits changed: the row of the core, not the panel."""
    session = live_phone()
    async with stage(session, "dashboard") as (app, pilot):
        app.paint()
        await pilot.pause()
        panel = app.screen.query_one("#topology", TopologyMap)
        before = list(panel._drawn.strips)
        cluster = panel.value.clusters[1]
        cores = (*cluster.cores[:2], replace(cluster.cores[2], busy_pct=55.0), *cluster.cores[3:])
        panel.show(
            replace(panel.value, clusters=(panel.value.clusters[0], replace(cluster, cores=cores))), hint="z zoom"
        )
        different = [y for y, strip in enumerate(panel._drawn.strips) if strip is not before[y]]
        assert len(different) == 1


async def test_a_screen_has_fewer_widgets_than_the_budget(stage: Stage) -> None:
    """150 a screen; ours have about ten."""
    async with stage(live_phone(), "dashboard") as (app, _):
        for mode in ("dashboard", "bench", "placement", "models", "history"):
            app.action_goto(mode)
            assert len(list(app.screen.walk_children())) < 40
