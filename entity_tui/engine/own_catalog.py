"""The catalog a user sees: the shipped entries and those of catalog.yaml in the settings folder."""

from __future__ import annotations

from pathlib import Path

from entity_tui.errors import UsageError
from entity_tui.models.catalog import CatalogEntry, parse_catalog, shipped_catalog, with_own

FILE_NAME = "catalog.yaml"


def load_catalog(config_folder: Path) -> tuple[CatalogEntry, ...]:
    """Shipped and own entries. Raises UsageError naming file and line when the user's file is malformed."""
    path = config_folder / FILE_NAME
    if not path.is_file():
        return shipped_catalog()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}", detail=str(error)) from error
    return with_own(shipped_catalog(), parse_catalog(text, str(path), own=True))
