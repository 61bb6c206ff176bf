"""The page about the record names every column and every file."""

from __future__ import annotations

import pytest

from entity_tui.records import run_directory
from entity_tui.records.schema import COLUMNS
from tests.fixtures.tools import REPOSITORY

PAGE = (REPOSITORY / "docs" / "record.md").read_text()
FILES = [value for name, value in vars(run_directory).items() if name.endswith("_FILE")]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_is_explained(column: str) -> None:
    assert f"`{column}`" in PAGE


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_a_run_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE
