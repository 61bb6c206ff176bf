"""The promised shells and tools, and a place to run runners under each of them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.runs import Bench
from tests.agent.toolsets import Toolset, make_toolset, tool_folder, toolset

__all__ = ["tool_folder", "toolset"]


@pytest.fixture
def bench(toolset: Toolset, tmp_path: Path) -> Bench:
    """A place for runners, under each promised pair of shell and tools."""
    return Bench(toolset, tmp_path / "entity")


@pytest.fixture
def phone_bench(tmp_path: Path, tool_folder: Path) -> Bench:
    """A place for runners under the pair a phone has, for what does not depend on the shell."""
    return Bench(make_toolset("mksh", "toybox", tool_folder / "toybox"), tmp_path / "entity")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder another user may enter; the ones of pytest are closed to everybody else."""
    with tempfile.TemporaryDirectory(prefix="entity-agent-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
