"""The tidy row: every value reads back, every cell is safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import os
import stat
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.errors import UsageError
from entity_tui.records.export import (
    DANGEROUS,
    parse_tidy_csv,
    plain_cell,
    read_csv,
    safe_cell,
    tidy_csv,
    write_csv,
    write_tidy_csv,
)
from entity_tui.records.files import RecordError, write_whole
from entity_tui.records.schema import COLUMNS, KINDS, Metric, Role, Row, Usability, metric_row, row_of

text = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20)
of_kind: dict[str, st.SearchStrategy[Any]] = {
    "str": text,
    "int": st.integers(-(2**60), 2**60),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
}
rows = st.fixed_dictionaries(
    {"session_id": text, "metric": text},
    optional={name: of_kind[kind] for name, kind in KINDS.items() if name not in ("session_id", "metric")},
).map(lambda values: Row(**values))


def row(**changes: Any) -> Row:
    return replace(Row(session_id="s", metric=Metric.DECODE_TOK_S, value=1.5, arm="naive", block=1), **changes)


@given(rows)
def test_every_row_reads_back_equal(found: Row) -> None:
    assert row_of(found.cells()) == found
    assert parse_tidy_csv(tidy_csv([found])) == (found,)


@given(st.text(max_size=30))
def test_a_safe_cell_never_starts_a_formula_and_reads_back(value: str) -> None:
    safe = safe_cell(value)
    assert plain_cell(safe) == value
    if safe.startswith(DANGEROUS):
        float(safe)


@pytest.mark.parametrize("value", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "'=x", "''@"])
def test_cells_that_a_spreadsheet_would_execute_are_neutralised(value: str) -> None:
    assert safe_cell(value).startswith("'")
    assert plain_cell(safe_cell(value)) == value


@pytest.mark.parametrize("value", ["-1.5", "+3", "1e-5", "-0.0", ".5", "plain", "a=b", ""])
def test_numbers_and_plain_text_are_untouched(value: str) -> None:
    assert safe_cell(value) == value


def test_a_model_name_that_is_a_formula_is_text_in_the_csv() -> None:
    written = tidy_csv([row(model_name='=HYPERLINK("http://x","y")', value=-2.5)])
    cells = next(csv.DictReader(io.StringIO(written)))
    assert cells["model_name"].startswith("'=")
    assert cells["value"] == "-2.5"


def test_missing_is_empty_and_never_zero() -> None:
    cells = row(value=None, power_coverage_pct=None).cells()
    assert cells["value"] == ""
    assert cells["power_coverage_pct"] == ""
    assert cells["mask_ok"] == ""


def test_the_columns_are_the_methods_in_their_order() -> None:
    assert COLUMNS[0] == "schema_version"
    assert COLUMNS[-5:] == ("state", "state_detail", "usability", "excluded_by", "raw_ref")
    assert tuple(item.name for item in fields(Row)) == COLUMNS
    assert len(set(COLUMNS)) == len(COLUMNS)


def test_unknown_columns_of_a_newer_file_are_ignored() -> None:
    assert row_of({**row().cells(), "invented_later": "7"}) == row()


def test_a_cell_that_is_no_number_names_its_column() -> None:
    with pytest.raises(UsageError, match="block"):
        row_of({**row().cells(), "block": "first"})


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_value_that_is_no_number_is_refused_and_never_counts(text: str) -> None:
    with pytest.raises(UsageError, match="value"):
        row_of({**row().cells(), "value": text})
    assert not row(value=float(text)).countable


def test_a_file_that_is_not_ours_is_refused() -> None:
    with pytest.raises(UsageError, match="not a tidy CSV"):
        parse_tidy_csv("a,b\n1,2\n")


def test_a_byte_order_mark_and_a_cut_last_line_are_tolerated() -> None:
    written = "\ufeff" + tidy_csv([row(), row(block=2)])
    header, lines = read_csv(written[:-30])
    assert header[0] == "schema_version"
    assert len(lines) == 2


def test_line_breaks_and_quotes_inside_a_cell_survive() -> None:
    value = 'a "quoted", broken\nline'
    _, lines = read_csv(write_csv(("x",), [[value]]))
    assert lines == [{"x": value}]


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"usability": Usability.TAINTED}, True),
        ({"usability": Usability.VOID}, False),
        ({"role": Role.WARMUP}, False),
        ({"excluded_by": "charging_changed"}, False),
        ({"value": None}, False),
    ],
)
def test_which_rows_count(changes: dict[str, Any], counts: bool) -> None:
    assert row(**changes).countable is counts


def test_a_known_metric_brings_its_unit_and_direction() -> None:
    found = metric_row(row(), Metric.TTFT_DERIVED_MS, 900.0)
    assert (found.unit, found.better) == ("ms", "lower")
    other = metric_row(row(), "bandwidth_gbs", 3.0, unit="GB/s", better="higher")
    assert (other.unit, other.better) == ("GB/s", "higher")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_tidy_csv([row()], tmp_path / "rows.csv")
    before = path.read_bytes()
    blocked = tmp_path / "rows.csv" / "below"
    with pytest.raises(RecordError):
        write_whole(blocked, "x")
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["rows.csv"]


def test_what_is_no_file_is_written_to_and_a_link_is_followed(tmp_path: Path) -> None:
    pipe, real, link = tmp_path / "pipe", tmp_path / "real.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    write_whole(pipe, "a,b\n" * 50_000)
    listener.join(10)
    assert heard == ["a,b\n" * 50_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
