"""The store: folders are the record, the index is a cache that can be lost, damaged or behind."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.errors import UsageError
from entity_tui.records.files import RecordError
from entity_tui.records.run_directory import RUN_FILE, RunDirectory
from entity_tui.records.schema import Metric, Usability
from entity_tui.records.store import RunStore
from tests.records.sample_runs import NOW, info, rows


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def test_a_saved_run_is_listed_with_its_headline_arm(store: RunStore) -> None:
    store.save(info("a"), rows("a"))
    (entry,) = store.select(now=NOW)
    assert (entry.arm, entry.decode_tok_s) == ("optimized", pytest.approx(17.2))
    assert [line.arm for line in entry.arms] == ["naive", "optimized"]
    assert entry.arms[0].cells == 3
    store.close()


def test_the_index_can_be_deleted(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store.tag("a", ["nightly"])
    store.close()
    for path in tmp_path.glob("index.sqlite*"):
        path.unlink()
    with RunStore(tmp_path) as again:
        (entry,) = again.select(now=NOW)
        assert entry.tags == ("nightly",)


def test_a_damaged_index_is_replaced(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store.close()
    (tmp_path / "index.sqlite").write_bytes(b"this is not a database, and long enough to be read as one" * 20)
    with RunStore(tmp_path) as again:
        assert [entry.session_id for entry in again.select(now=NOW)] == ["a"]


def test_an_index_of_another_version_is_rebuilt(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store._index.remember("version", "0")
    store.close()
    with RunStore(tmp_path) as again:
        assert again.count(now=NOW) == 1


def test_an_older_index_with_other_columns_is_rebuilt(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store.close()
    path = tmp_path / "index.sqlite"
    for old in tmp_path.glob("index.sqlite*"):
        old.unlink()
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE runs (session_id TEXT); CREATE TABLE about (key TEXT, value TEXT);")
    connection.execute("INSERT INTO about VALUES ('version', '1')")
    connection.commit()
    connection.close()
    with RunStore(tmp_path) as again:
        assert again.count(now=NOW) == 1


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file stands where the folder should be")
    with pytest.raises(RecordError):
        RunStore(tmp_path / "data")


def test_a_run_is_saved_while_somebody_else_holds_the_index(store: RunStore, tmp_path: Path) -> None:
    store._index._connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.save(info("a"), rows("a"))
    other.execute("ROLLBACK")
    other.close()
    assert len(store.find("a").rows()) == 6
    store.close()
    with RunStore(tmp_path) as again:
        assert [entry.session_id for entry in again.select(now=NOW)] == ["a"]


def test_a_folder_that_appeared_is_found_and_one_that_vanished_forgotten(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store.close()
    run = RunDirectory(tmp_path / "runs" / "b")
    run.write_rows(rows("b"))
    run.write_info(info("b"))
    (tmp_path / "runs" / "a" / RUN_FILE).unlink()
    with RunStore(tmp_path) as again:
        assert {entry.session_id for entry in again.select(now=NOW)} >= {"b"}
    for path in sorted((tmp_path / "runs" / "b").iterdir()):
        path.unlink()
    (tmp_path / "runs" / "b").rmdir()
    with RunStore(tmp_path) as again:
        assert "b" not in {entry.session_id for entry in again.select(now=NOW)}


def test_a_run_that_was_in_flight_when_we_crashed_is_read_again(store: RunStore, tmp_path: Path) -> None:
    run = store.create(info("a", state="running"))
    run.write_rows(rows("a"))
    run.write_info(info("a", state="done"))
    store.close()
    with RunStore(tmp_path) as again:
        (entry,) = again.select(now=NOW)
        assert (entry.state, entry.arm) == ("done", "optimized")


def test_a_half_made_folder_is_left_alone_and_named(store: RunStore, tmp_path: Path) -> None:
    store.close()
    (tmp_path / "runs" / "half").mkdir()
    (tmp_path / "runs" / "half" / "rows.csv").write_text("schema_version,session_id,metric\n1,half,decode_tok_s\n")
    with RunStore(tmp_path) as again:
        assert again.unreadable == ("half",)
        assert again.count(now=NOW) == 0
    assert (tmp_path / "runs" / "half" / "rows.csv").exists()


def test_a_session_is_created_once(store: RunStore) -> None:
    store.create(info("a"), plan='{"blocks": 8}')
    with pytest.raises(UsageError, match="exists already"):
        store.create(info("a"))
    assert store.find("a").plan_text() == '{"blocks": 8}'
    store.close()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 200, "a b"])
def test_a_name_that_cannot_be_a_folder_is_refused(store: RunStore, name: str) -> None:
    with pytest.raises(UsageError):
        store.run(name)
    store.close()


def test_a_run_is_found_by_the_beginning_of_its_id(store: RunStore) -> None:
    store.save(info("20260822-aa"), rows("20260822-aa"))
    store.save(info("20260823-bb"), rows("20260823-bb"))
    assert store.find("20260822").session_id == "20260822-aa"
    with pytest.raises(UsageError, match="more than one"):
        store.find("2026")
    with pytest.raises(UsageError, match="no run"):
        store.find("zzz")
    store.close()


def test_deleting_removes_the_folder_and_the_line(store: RunStore, tmp_path: Path) -> None:
    store.save(info("a"), rows("a"))
    store.delete("a")
    assert not (tmp_path / "runs" / "a").exists()
    assert store.count(now=NOW) == 0
    store.close()


def test_a_run_file_stays_inside_its_folder(store: RunStore) -> None:
    run = store.save(info("a"), rows("a"))
    with pytest.raises(UsageError, match="inside its folder"):
        run.write_file("../escaped", "x")
    store.close()


def test_saving_again_replaces_the_line(store: RunStore) -> None:
    store.save(info("a", started_utc="2026-08-22T10:00:00+00:00"), rows("a"))
    store.save(info("a", started_utc="2026-08-22T11:00:00+00:00"), rows("a"))
    (entry,) = store.select(now=NOW)
    assert entry.started_utc.startswith("2026-08-22T11")
    store.close()


def test_charging_hides_watts_and_says_so(store: RunStore) -> None:
    powered = [replace(row, metric=Metric.DECODE_POWER_W, value=3.0) for row in rows("a")]
    store.save(info("a"), [replace(row, charging_state="charging") for row in (*rows("a"), *powered)])
    (entry,) = store.select(now=NOW)
    assert entry.power_w is None
    assert "chg" in entry.flags
    store.close()


def test_failed_cells_are_counted_apart(store: RunStore) -> None:
    found = rows("a")
    failed = replace(found[0], metric=Metric.OUTCOME, value=None, block=4, state="killed_oom", usability=Usability.VOID)
    store.save(info("a"), [*found, failed])
    (entry,) = store.select(now=NOW)
    line = entry.arms[0]
    assert (line.cells, line.failed) == (3, 1)
    assert "fail" in line.flags
    store.close()
