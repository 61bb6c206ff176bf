"""A bench on this computer with the paper engine, for tests about what happens to cells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.experiments.live_bed import Bench, on_this_computer
from tests.experiments.paper_engine import make_engine, make_model
from tests.fixtures.tools import need_tool


@pytest_asyncio.fixture
async def paper(tmp_path: Path) -> AsyncIterator[Bench]:
    """This computer, the real runner, and an engine that ends as its arm's environment says."""
    need_tool("taskset")
    async with on_this_computer(make_engine(tmp_path / "engine"), make_model(tmp_path / "model"), tmp_path) as bench:
        yield bench
