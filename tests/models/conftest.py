"""What several tests of models share."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGUFReader


@pytest.fixture(scope="session")
def theirs(smollm2: Path) -> GGUFReader:
    """SmolLM2 as the gguf package's own reader sees it; it takes seconds, so once."""
    return GGUFReader(smollm2)
