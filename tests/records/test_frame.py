"""Rows as a table for many runs: missing stays missing, sessions stay apart."""

from __future__ import annotations

import subprocess
import sys

import pytest

from entity_tui.records.frame import medians_by_arm, rows_frame, table_lines
from entity_tui.records.schema import COLUMNS, Metric, Usability
from tests.analysis.rows import cell, session


def test_a_frame_has_the_columns_of_the_csv_and_keeps_missing_apart() -> None:
    frame = rows_frame([cell("naive", 1, 8.5), cell("naive", 2, None, usability=Usability.VOID)])
    assert list(frame.columns) == [*COLUMNS, "counts"]
    assert frame["value"].isna().tolist() == [False, True]
    assert frame["counts"].tolist() == [True, False]
    assert frame["migrations"].isna().all()
    assert frame["block"].tolist() == [1, 2]


def test_medians_stand_by_session_and_arm() -> None:
    rows = [
        *session({"naive": [8.0, 9.0, 100.0], "optimized": [16.0, 18.0, 17.0]}, session_id="a"),
        *session({"optimized": [30.0]}, session_id="b"),
    ]
    table = medians_by_arm(rows, Metric.DECODE_TOK_S)
    assert table.loc["a", "naive"] == pytest.approx(9.0)
    assert table.loc["b", "optimized"] == pytest.approx(30.0)
    assert table_lines(rows, Metric.DECODE_TOK_S)[1] == {"session_id": "b", "naive": "", "optimized": "30"}


def test_no_rows_make_an_empty_table() -> None:
    assert table_lines([], Metric.DECODE_TOK_S) == []


def test_pandas_is_loaded_only_when_a_table_is_made() -> None:
    code = "import sys, entity_tui.records.frame, entity_tui.records.store; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
