"""The LITTLETai companion data, its goldens and its runs, read once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.tools import need_shared
from tests.records.littletai_data import RUNS, Run, load_run


@pytest.fixture(scope="session")
def littletai_folder() -> Path:
    return need_shared("seed_data", "littletai")


@pytest.fixture(scope="session")
def golden(littletai_folder: Path) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in json.loads((littletai_folder / "golden.json").read_text())["entries"]}


@pytest.fixture(scope="session")
def runs(littletai_folder: Path) -> dict[str, Run]:
    return {name: load_run(littletai_folder / "runs" / name) for name in RUNS}
