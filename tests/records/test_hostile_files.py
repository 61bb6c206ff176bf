"""Whatever a file holds, reading it ends in rows or in a sentence, never in a traceback."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.errors import EntityError
from entity_tui.records.entity_bench import read_entity_bench
from entity_tui.records.export import parse_tidy_csv, read_csv
from entity_tui.records.littletai_arm import ArmFiles, RunFacts, read_arm
from entity_tui.records.llama_bench import read_llama_bench
from entity_tui.records.plan_file import declared
from entity_tui.records.query import condition

words = st.text(max_size=300)
tables = st.lists(st.lists(st.text(max_size=12), max_size=7).map(",".join), max_size=8).map("\n".join)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(words | tables)
def test_a_csv_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(EntityError):
        read_csv(text)
    with contextlib.suppress(EntityError):
        parse_tidy_csv("schema_version,session_id,metric,value,block\n" + text)


@given(words | tables)
def test_an_export_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(EntityError):
        read_entity_bench("config,run_index,metric,value,unit\n" + text)


@given(words)
def test_an_engines_output_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(EntityError):
        read_llama_bench(text)


@given(json_like)
def test_a_plan_is_read_or_refused(value: object) -> None:
    import json

    for text in (json.dumps(value), json.dumps({"comparisons": value, "rules": value, "exclude": value})):
        with contextlib.suppress(EntityError):
            declared(text)


@given(words)
def test_a_filter_line_selects_or_is_refused(line: str) -> None:
    with contextlib.suppress(EntityError):
        found = condition(line, datetime(2026, 8, 22, tzinfo=UTC))
        assert found.where.count("?") == len(found.parameters)


@given(words, words | tables, words | tables, words)
def test_an_arm_always_ends_in_a_state(meta: str, bench: str, telemetry: str, perf: str) -> None:
    files = ArmFiles("x", f"arm_id=a\nrc=0\nevents=cpu-cycles:u\n{meta}", bench, f"boottime_s,a\n{telemetry}", perf)
    assert read_arm(files, RunFacts({})).state
