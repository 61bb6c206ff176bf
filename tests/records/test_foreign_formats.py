"""ENTITY Bench exports and llama-bench output: read into our rows, and written back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.analysis.summary import median, population_sd
from entity_tui.errors import UsageError
from entity_tui.records.entity_bench import quant_of, read_entity_bench
from entity_tui.records.entity_export import entity_bench_of
from entity_tui.records.export import read_csv, tidy_csv
from entity_tui.records.imported import store_imported
from entity_tui.records.importing import read_foreign
from entity_tui.records.llama_bench import FIELDS_FILE, read_llama_bench, write_llama_bench
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row
from entity_tui.records.store import RunStore
from tests.analysis.rows import session
from tests.fixtures.tools import SHARED, need_shared
from tests.records.littletai_data import RUNS, translate

EXPORTS = sorted((SHARED / "seed_data" / "entity" / "bench_exports").glob("*extract.csv"))
BENCHES = ("jsonl_p64_n16.stdout", "json_p64_n16.stdout", "csv_p64_n16.stdout", "jsonl_repack0_q4_0.stdout")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "data")


def test_all_six_exports_are_there() -> None:
    need_shared("seed_data", "entity", "bench_exports")
    assert len(EXPORTS) == 6


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.stem[:40])
def test_an_export_comes_back_row_for_row(store: RunStore, path: Path) -> None:
    with store:
        run = store_imported(store, read_entity_bench(path.read_text(), path.name))
        assert entity_bench_of(run) == path.read_text()


def test_telemetry_samples_come_back(store: RunStore) -> None:
    text = need_shared("seed_data", "entity", "bench_exports", "telemetry_format_head.csv").read_text()
    with store:
        run = store_imported(store, read_entity_bench(text))
        assert entity_bench_of(run) == text


def test_aggregates_are_carried_and_marked_and_never_counted() -> None:
    found = read_entity_bench(EXPORTS[-1].read_text()) if EXPORTS else pytest.skip("companion data is absent")
    carried = [row for row in found.rows if row.role == Role.AGGREGATE]
    assert carried
    assert not any(row.countable for row in carried)
    assert {row.state_detail for row in carried} == {"median", "stddev"}
    assert any("aggregates are carried" in note for note in found.notes)


def test_a_charging_exports_power_never_counts(store: RunStore) -> None:
    path = next(path for path in EXPORTS if "charging" in path.name)
    with store:
        found = read_entity_bench(path.read_text())
        store_imported(store, found)
        from datetime import UTC, datetime

        (entry,) = store.select(now=datetime.now(UTC))
    assert entry.power_w is None
    assert entry.tok_per_w is None
    assert "chg" in entry.flags


def test_affinity_labels_become_masks_of_the_listed_cores() -> None:
    path = next(path for path in EXPORTS if "cmf" in path.name)
    masks = {row.arm: row.mask_requested for row in read_entity_bench(path.read_text()).rows}
    assert masks == {"naive": "ff", "threads_only": None, "optimized": "f0", "efficiency": "f"}


def test_an_older_export_without_meta_rows_is_read() -> None:
    found = read_entity_bench("config,run_index,metric,value,unit\nnaive,1,tg,8.66,tok/s\n")
    assert [(row.arm, row.metric, row.value) for row in found.rows] == [("naive", Metric.DECODE_TOK_S, 8.66)]


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n", "config,run_index,metric,value,unit\nnaive,1,tg,fast,tok/s\n"])
def test_a_file_that_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_entity_bench(text)


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Llama-3.2-1B-Instruct-Q4_0", "Q4_0"),
        ("qwen2.5-0.5b-instruct-q8_0.gguf", "Q8_0"),
        ("model.Q4_K_M.gguf", "Q4_K_M"),
        ("x-F16", "F16"),
        ("nothing here", ""),
    ],
)
def test_the_quantisation_is_read_from_the_file_name(name: str, quant: str) -> None:
    assert quant_of(name) == quant


def test_a_run_of_ours_exports_with_aggregates_by_the_seeds_rule(store: RunStore) -> None:
    decode = {"naive": [8.0, 9.0, 10.0], "optimized": [16.0, 18.0, 17.0]}
    rows = session(decode, n_prompt=512, n_gen=128, online_mask="ff", temp_start_c=33.0, session_id="own")
    prompts = session({"naive": [90.0, 95.0, 100.0]}, metric=Metric.PROMPT_TOK_S, phase="prefill", session_id="own")
    with store:
        info = RunInfo("own", "2026-08-22T10:00:00+00:00", experiment="ablation", model_name="M-Q4_0")
        run = store.save(info, [*rows, *prompts])
        _, lines = read_csv(entity_bench_of(run))
    found = {(line["config"], line["run_index"], line["metric"]): line["value"] for line in lines}
    assert found[("meta", "", "affinity_naive")] == "mask_all_cores_effectively_unpinned"
    assert found[("meta", "", "affinity_optimized")] == "pinned_fast_cores"
    assert found[("optimized", "median", "tg")] == f"{median(decode['optimized']):.3f}"
    assert found[("optimized", "stddev", "tg")] == f"{population_sd(decode['optimized']):.3f}"
    assert found[("naive", "2", "pp")] == "95.000"
    assert found[("naive", "1", "start_temp")] == "33.000"
    assert not any(line["metric"] == "power" for line in lines)
    again = read_entity_bench(entity_bench_of(run))
    assert [row.value for row in again.rows if row.arm == "naive" and row.metric == Metric.DECODE_TOK_S][:3] == [
        8,
        9,
        10,
    ]


@pytest.mark.parametrize("name", BENCHES)
def test_llama_bench_output_is_read_and_written_back(name: str) -> None:
    text = need_shared("recordings", "llama_cpp", "bench", name).read_text()
    found = read_llama_bench(text)
    written = write_llama_bench(found.rows, json.loads(found.files[FIELDS_FILE]))
    again = read_llama_bench(written)
    assert [row.value for row in again.rows] == [row.value for row in found.rows]
    assert [row.arm for row in again.rows] == [row.arm for row in found.rows]
    assert found.rows[0].usability == "tainted"
    assert all(row.block is None for row in found.rows)


def test_arms_of_one_output_are_told_apart_by_what_differs() -> None:
    text = need_shared("recordings", "llama_cpp", "bench", "jsonl_repack0_q4_0.stdout").read_text()
    assert len({row.arm for row in read_llama_bench(text).rows}) >= 2


@pytest.mark.parametrize("name", ["sigkill_midrun_json.stdout", "err_missing_model_json.stdout", "md_p64_n16.stdout"])
def test_a_cut_or_foreign_output_gives_no_number(name: str) -> None:
    with pytest.raises(UsageError):
        read_llama_bench(need_shared("recordings", "llama_cpp", "bench", name).read_text())


def test_a_run_of_ours_as_llama_bench_reads_back() -> None:
    rows = [
        replace(row, n_tokens=128, duration_s=128 / (row.value or 1), n_gen=128, n_prompt=512, model_name="M-Q4_0")
        for row in session({"naive": [8.0, 9.0]})
    ]
    written = write_llama_bench(rows)
    (line,) = [json.loads(text) for text in written.splitlines()]
    assert (line["n_threads"], line["cpu_mask"], line["n_prompt"], line["n_gen"]) == (8, "0xff", 0, 128)
    assert line["avg_ts"] == pytest.approx(8.5)
    assert [row.value for row in read_llama_bench(written).rows] == pytest.approx([8.0, 9.0])


def test_whose_file_it_is_shows_in_its_content(tmp_path: Path) -> None:
    entity = EXPORTS[0].read_text() if EXPORTS else pytest.skip("companion data is absent")
    own = tidy_csv([Row(session_id="s1", metric="m", value=1.0), Row(session_id="s2", metric="m", value=2.0)])
    bench = need_shared("recordings", "llama_cpp", "bench", "json_p64_n16.stdout").read_text()
    for name, text, runs in (("a", entity, 1), ("b", own, 2), ("c", bench, 1)):
        (tmp_path / name).write_text(text)
        assert len(list(read_foreign(tmp_path / name, translate))) == runs
    (tmp_path / "d").write_text("hello\n")
    with pytest.raises(UsageError, match="no format"):
        read_foreign(tmp_path / "d", translate)
    with pytest.raises(UsageError, match="not a run folder"):
        read_foreign(tmp_path, translate)


def test_a_folder_of_run_folders_is_read_run_by_run(littletai_folder: Path) -> None:
    found = list(read_foreign(littletai_folder / "runs", translate))
    assert [item.info.source for item in found] == [f"littletai {name}" for name in RUNS]
    assert len({item.info.session_id for item in found}) == len(RUNS)


def test_importing_twice_finds_the_run_it_made(store: RunStore) -> None:
    text = "config,run_index,metric,value,unit\nnaive,1,tg,8.66,tok/s\n"
    with store:
        first = store_imported(store, read_entity_bench(text))
        second = store_imported(store, read_entity_bench(text))
        assert first.path == second.path
        assert len(list(store.runs_directory.iterdir())) == 1


def test_a_session_id_in_a_csv_never_becomes_a_path(tmp_path: Path) -> None:
    path = tmp_path / "evil.csv"
    path.write_text(tidy_csv([Row(session_id="../../evil", metric="m", value=1.0)]))
    with pytest.raises(UsageError, match="session id"):
        read_foreign(path, translate)
