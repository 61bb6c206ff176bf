"""`history`, `import`, `reanalyse` and `report` from the command line, over a store of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from entity_tui.cli import cli, main
from entity_tui.records.places import open_store
from entity_tui.records.run_directory import RunInfo
from tests.analysis.rows import session
from tests.fixtures.tools import need_shared

DECODE = {"naive": [8.0, 9.0, 8.5], "optimized": [16.0, 18.0, 17.0]}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTITY_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ENTITY_TUI_CONFIG", str(tmp_path / "config"))
    with open_store() as store:
        for number, device in enumerate(("CMF Phone 1", "Pixel 8"), start=1):
            name = f"run{number}"
            info = RunInfo(name, f"2026-08-2{number}T10:00:00+00:00", state="done", device_name=device, model_name="M")
            store.save(info, session(DECODE, session_id=name))
    return tmp_path / "data"


def run(*arguments: str) -> Result:
    found = CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)
    assert found.exit_code == 0, found.output
    return found


def as_json(*arguments: str) -> Any:
    return json.loads(run(*arguments).stdout)


def test_list_is_newest_first_and_filters() -> None:
    found = as_json("history", "list", "--json")
    assert [entry["session_id"] for entry in found["runs"]] == ["run2", "run1"]
    assert (found["matching"], found["total"]) == (2, 2)
    assert as_json("history", "list", "device~cmf", "--json")["matching"] == 1
    assert "optimized" in run("history", "list").stdout


def test_an_unknown_field_is_a_usage_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["entity-tui", "history", "list", "bogus~x"])
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    assert ended.value.code == 2
    assert "no field bogus" in capsys.readouterr().err


def test_show_prints_arms_and_sentences() -> None:
    found = as_json("history", "show", "run1", "--json")
    assert [arm["arm"] for arm in found["arms"]] == ["naive", "optimized"]
    assert "±" in run("history", "show", "run1").stdout


def test_compare_within_and_across_sessions() -> None:
    same = as_json("history", "compare", "run1:optimized", "run1:naive", "--json")
    assert same["lines"][0]["ratio"] == pytest.approx(2.0)
    across = run("history", "compare", "run1:optimized", "run2:optimized").stdout
    assert "values only, no interval" in across


def test_export_of_one_run_and_of_a_filter(tmp_path: Path) -> None:
    one = run("history", "export", "run1").stdout
    assert one.count("\n") == 7
    path = tmp_path / "both.csv"
    run("history", "export", "device~p", "--output", str(path))
    assert path.read_text().count("\n") == 13
    assert run("history", "export", "run1", "--format", "entity-bench").stdout.startswith("config,run_index")
    json.loads(run("history", "export", "run1", "--format", "llama-bench").stdout or "{}")


def test_table_lays_runs_beside_each_other_without_pooling() -> None:
    lines = run("history", "table", "--csv").stdout.splitlines()
    assert lines == ["session_id,naive,optimized", "run2,8.5,17", "run1,8.5,17"]
    assert run("history", "table", "device~cmf").stdout.count("run") == 1
    assert run("history", "table", "--metric", "nothing").stdout.strip() == ""


def test_tags_are_added_and_removed(data: Path) -> None:
    run("history", "tag", "run1", "nightly", "cool")
    assert as_json("history", "list", "tag=cool", "--json")["matching"] == 1
    assert run("history", "tag", "run1", "cool", "--remove").stdout.split() == ["nightly"]
    assert (data / "runs" / "run1" / "tags").read_text() == "nightly\n"


def test_delete_asks_and_then_removes(data: Path) -> None:
    refused = CliRunner().invoke(cli, ["history", "delete", "run1"], input="n\n")
    assert refused.exit_code != 0
    assert (data / "runs" / "run1").exists()
    run("history", "delete", "run1", "--yes")
    assert not (data / "runs" / "run1").exists()


def test_a_result_typed_by_hand_is_shown_with_its_source() -> None:
    run("history", "note", "run1", "PocketPal decode", "13.9", "tok/s", "--source", "its own screen")
    assert "its own screen" in run("history", "show", "run1").stdout


def test_import_takes_in_every_known_format_and_reanalyse_agrees() -> None:
    export = need_shared("seed_data", "entity", "bench_exports", "entity_1b-q4_0_unplugged_3run_20260715b.extract.csv")
    arms = need_shared("seed_data", "littletai", "runs", "presets_kai")
    bench = need_shared("recordings", "llama_cpp", "bench", "jsonl_p64_n16.stdout")
    found = as_json("import", str(export), str(arms), str(bench), "--json")
    assert [item["source"].split()[0] for item in found] == ["entity-bench", "littletai", "llama-bench"]
    for item in found:
        assert as_json("reanalyse", item["run"], "--check", "--json")["changed"] == []
    assert run("history", "export", found[0]["run"], "--format", "entity-bench").stdout == export.read_text()


def test_reanalyse_takes_a_folder_and_writes_what_is_missing(data: Path) -> None:
    found = as_json("reanalyse", str(data / "runs" / "run1"), "--json")
    assert "tables.csv" in found["changed"]
    assert as_json("reanalyse", "run1", "--json")["changed"] == []


def test_reanalyse_takes_the_rows_as_stored_where_the_plan_is_of_another_version(data: Path) -> None:
    folder = data / "runs" / "run1"
    (folder / "plan.json").write_text('{"comparisons": [], "blocks": 3, "schema": 99}')
    (folder / "device.json").write_text("{}")
    (folder / "journal").write_text("entity-journal 1\n")
    done = CliRunner().invoke(cli, ["reanalyse", "run1"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "the rows are taken as stored" in done.stderr
    assert (folder / "tables.csv").exists()


def test_report_writes_one_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("report", "run1", "--output", str(page), "--no-pictures")
    assert page.read_text().startswith("<!doctype html>")


def test_report_writes_pictures_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    run("report", "run1", "--output", str(tmp_path / "page.html"), "--pictures", str(tmp_path / "pictures"))
    assert {path.suffix for path in (tmp_path / "pictures").iterdir()} == {".svg", ".png"}
