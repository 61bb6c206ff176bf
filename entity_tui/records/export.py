"""The tidy CSV, written so that no spreadsheet executes a cell and every value reads back unchanged."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from entity_tui.errors import UsageError
from entity_tui.records.files import read_text, write_whole
from entity_tui.records.schema import COLUMNS, Row, row_of

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters with which a spreadsheet starts a formula or a command; some programs fold the wide forms."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")


def safe_cell(text: str) -> str:
    """The text with an apostrophe before it when a spreadsheet would execute it; numbers pass untouched.

    An apostrophe that was already there is doubled under the same condition, so `plain_cell` gives back every text.
    """
    bare = text.lstrip("'")
    if bare.startswith(DANGEROUS) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def plain_cell(text: str) -> str:
    """The inverse of `safe_cell`."""
    if text.startswith("'") and text.lstrip("'").startswith(DANGEROUS):
        return text[1:]
    return text


def write_csv(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """CSV text (RFC 4180 quoting, `\\n` line ends) with every cell made safe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([safe_cell(cell) for cell in line] for line in lines)
    return stream.getvalue()


def read_csv(text: str) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Header and lines of a CSV text; a byte order mark is dropped, a short last line reads as missing cells."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        header = tuple(next(reader, []))
        lines = [{name: plain_cell(cell) for name, cell in zip(header, line, strict=False)} for line in reader if line]
    except csv.Error as error:
        raise UsageError("the file is not a CSV", detail=str(error), fix="export it again") from error
    return header, lines


def tidy_csv(rows: Iterable[Row]) -> str:
    """The tidy CSV of the rows, in the order given."""
    return write_csv(COLUMNS, ([cells[name] for name in COLUMNS] for cells in (row.cells() for row in rows)))


def write_tidy_csv(rows: Iterable[Row], path: Path) -> Path:
    """Write the tidy CSV whole (temporary name, then rename) and return its path. RecordError when it cannot."""
    write_whole(path, tidy_csv(rows))
    return path


def parse_tidy_csv(text: str) -> tuple[Row, ...]:
    """The rows of a tidy CSV. Raises UsageError for a file that is not one or a cell that cannot be read."""
    header, lines = read_csv(text)
    if "metric" not in header or "session_id" not in header:
        raise UsageError("this is not a tidy CSV", detail=", ".join(header[:6]), fix="import it with its own format")
    return tuple(row_of(line) for line in lines)


def read_tidy_csv(path: Path) -> tuple[Row, ...]:
    """The rows of a tidy CSV file. RecordError when it cannot be opened, UsageError when it is something else."""
    return parse_tidy_csv(read_text(path))


def table_csv(lines: Sequence[Mapping[str, str]]) -> str:
    """CSV text of lines that share their keys; empty text for no lines."""
    if not lines:
        return ""
    header = tuple(lines[0])
    return write_csv(header, ([line.get(name, "") for name in header] for line in lines))
