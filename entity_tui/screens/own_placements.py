"""Placements the reader made in the mask editor, written as an arms file that the command line runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entity_tui.config import config_folder
from entity_tui.device.cpu_lists import format_mask
from entity_tui.widgets.mask_editor import PlacementRow


def placements_path() -> Path:
    """Where the file is."""
    return config_folder() / "placements.yaml"


def write_placements(rows: Sequence[PlacementRow]) -> Path:
    """Write all own placements, each against the scheduler; returns the path."""
    path = placements_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Written by the mask editor of entity-tui.",
        "arms:",
        "  scheduler:",
        "    threads: auto",
        "    placement: all",
    ]
    for row in rows:
        mask = format_mask(row.cpus)
        lines += [f"  {row.key}:", f"    label: {row.name}", f"    threads: {len(row.cpus)}", f'    mask: "{mask}"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def command_for(path: Path, row: PlacementRow) -> str:
    """The command that measures a placement against the scheduler."""
    return f"entity-tui bench --arms {path} --runs 3  # {row.name}"
