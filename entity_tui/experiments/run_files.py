"""Brings the files of one finished cell to this computer, and keeps them in the run's folder."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Sequence

from entity_tui.experiments.server_bench import ANSWER
from entity_tui.records.journal_events import CellEvent
from entity_tui.records.run_directory import RunDirectory
from entity_tui.transport.base import RemoteFileError, Transport

LARGEST_BYTES = 8_000_000
"""More than any engine prints in a cell; a runaway output is cut here and so becomes `output_truncated`."""
AROUND = ("before.txt", "after.txt")


ENDINGS = ("out", "err", "samples")


def file_names(event: CellEvent, more: Sequence[str] = ()) -> tuple[str, ...]:
    """Every file the runner leaves for a cell: output, error and samples of each launch (and those ending in one of
    `more`), and the looks around it."""
    names = [f"{launch.phase}.{ending}" for launch in event.launches for ending in (*ENDINGS, *more)]
    return (*names, *AROUND) if event.launches else ()


async def fetch_cell(
    transport: Transport, run_folder: str, event: CellEvent, more: Sequence[str] = ()
) -> dict[str, bytes]:
    """The cell's files by name; one that the runner did not write is left out. Raises the transport's errors."""
    folder = f"{run_folder.rstrip('/')}/{event.directory}"

    async def one(name: str) -> tuple[str, bytes | None]:
        try:
            return name, await transport.read(f"{folder}/{name}", limit=LARGEST_BYTES)
        except RemoteFileError:
            return name, None

    found = await asyncio.gather(*(one(name) for name in file_names(event, more)))
    return {name: data for name, data in found if data is not None}


def keep_cell(run: RunDirectory, event: CellEvent, files: dict[str, bytes]) -> None:
    """Store the files under `cells/` of the run, all of them or none. Raises RecordError when the disk refuses."""
    part = f"{event.directory}.{secrets.token_hex(4)}.part"
    try:
        for name, data in files.items():
            run.write_file(f"{part}/{name}", data)
        if files:
            os.rename(run.path / part, run.path / event.directory)
    except OSError:  # another copy of this program was first, with the same bytes
        for name, data in files.items():
            run.write_file(f"{event.directory}/{name}", data)
    finally:
        shutil.rmtree(run.path / part, ignore_errors=True)


def kept_cell(run: RunDirectory, event: CellEvent) -> dict[str, bytes] | None:
    """The files of a cell that were fetched before; None when none of them is here."""
    folder = run.path / event.directory
    names = file_names(event, (ANSWER,))
    if not event.directory or not folder.resolve().is_relative_to(run.path.resolve()):
        return None
    found = {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
    return found if found or not names else None


def samples_csv(cells: Sequence[tuple[CellEvent, dict[str, bytes]]]) -> str:
    """Every recorder line of the run as one CSV: cell, attempt, phase, device clock, then the nodes' raw text."""
    from entity_tui.experiments.cell_power import parse_samples
    from entity_tui.records.export import write_csv

    lines: list[list[str]] = []
    names: list[str] = []
    parsed = []
    for event, files in cells:
        for launch in event.launches:
            found = parse_samples(files.get(f"{launch.phase}.samples", b""))
            parsed.append((event, launch.phase, found))
            names += [name for name in found.values if name not in names]
    for event, phase, found in parsed:
        for index, at in enumerate(found.t_s):
            row = [str(event.cell or ""), str(event.attempt or ""), phase, f"{at:.2f}"]
            lines.append([*row, *(found.values[name][index] if name in found.values else "" for name in names)])
    return write_csv(["cell", "attempt", "phase", "t_boot_s", *names], lines)
