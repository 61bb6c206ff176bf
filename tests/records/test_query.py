"""The filter line, the orders and the tags of History."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.errors import UsageError
from entity_tui.records.query import condition
from entity_tui.records.schema import Metric
from entity_tui.records.store import RunStore
from tests.records.sample_runs import NOW, info, rows


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def filled(store: RunStore) -> RunStore:
    store.save(info("a"), rows("a"))
    store.save(info("b", device_name="Pixel 8", kind="placement", started_utc="2026-06-01T10:00:00+00:00"), rows("b"))
    store.save(info("c", device_name="100% pixel_x", simulated=True, model_quant="Q8_0"), rows("c"))
    store.tag("a", ["nightly", "cool"])
    return store


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", {"a", "b", "c"}),
        ("device~cmf", {"a"}),
        ("device~pixel", {"b", "c"}),
        ("device~pixel_", {"c"}),
        ("device~100%", {"c"}),
        ("device~%", {"c"}),
        ("kind=placement", {"b"}),
        ("kind=PLACEMENT", {"b"}),
        ("since=30d", {"a", "c"}),
        ("since=2026-08-01", {"a", "c"}),
        ("since=12w", {"a", "b", "c"}),
        ("tag=cool", {"a"}),
        ("tag=coo", set()),
        ("tag~coo", {"a"}),
        ("quant=Q8_0 simulated=1", {"c"}),
        ("simulated=no", {"a", "b"}),
        ("tok/s>17.1", {"a", "b", "c"}),
        ("tok/s<5", set()),
        ("model~", {"a", "b", "c"}),
        ("kind= device~CMF", {"a"}),
        ("pixel", {"b", "c"}),
        ("NIGHTLY", {"a"}),
        ("nightly placement", set()),
    ],
)
def test_a_filter_line_selects(store: RunStore, line: str, found: set[str]) -> None:
    with filled(store):
        page = store.page(line, now=NOW)
        assert {entry.session_id for entry in page.entries} == found
        assert page.matching == len(found) == store.count(line, now=NOW)


@pytest.mark.parametrize("line", ["bogus~x", "since=often", "since~3d", "cells=many"])
def test_a_term_that_cannot_be_meant_is_refused(store: RunStore, line: str) -> None:
    with store, pytest.raises(UsageError):
        store.count(line, now=NOW)


@pytest.mark.parametrize("line", ["device~x'; DROP TABLE runs;--", 'model="a" OR 1=1', "') OR ('1'='1"])
def test_a_filter_is_never_pasted_into_sql(store: RunStore, line: str) -> None:
    with filled(store):
        assert store.count(line, now=NOW) == 0
        assert store.count(now=NOW) == 3
    assert "DROP" not in condition(line, NOW).where


def test_orders_are_known_by_name(store: RunStore) -> None:
    with filled(store):
        assert [entry.session_id for entry in store.select(now=NOW, order="when")][-1] == "b"
        assert store.select(now=NOW, order="device")[0].session_id == "c"
        with pytest.raises(UsageError, match="ordered"):
            store.select(now=NOW, order="colour")


def test_rates_are_ordered_within_a_kind_and_apart_from_simulated_ones(store: RunStore) -> None:
    with filled(store):
        slow = [replace(row, value=1.0) for row in rows("d")]
        store.save(info("d", kind="chat"), [replace(row, metric=Metric.CHAT_TOK_S) for row in slow])
        order = [(entry.kind, entry.simulated) for entry in store.select(now=NOW, order="tok/s")]
        assert order == [("bench", False), ("bench", True), ("chat", False), ("placement", False)]


def test_tags_are_one_a_line_in_a_file_beside_the_run(store: RunStore, tmp_path: Path) -> None:
    with filled(store):
        assert (tmp_path / "runs" / "a" / "tags").read_text() == "cool\nnightly\n"
        with pytest.raises(UsageError, match="tag"):
            store.tag("a", ["one,two"])
