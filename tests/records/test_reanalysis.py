"""Every table and verdict again from the plain files, the report page, and two marked arms beside each other."""

from __future__ import annotations

import json
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.errors import UsageError
from entity_tui.records.export import read_csv
from entity_tui.records.external import ExternalResult, add_external, external_results
from entity_tui.records.marked import compare_marked
from entity_tui.records.plan_file import declared
from entity_tui.records.reanalysis import read_analysis, reanalyse
from entity_tui.records.replication import replication_of, sessions_of
from entity_tui.records.report import report_page
from entity_tui.records.run_directory import RunDirectory, RunInfo
from entity_tui.records.schema import Metric, Row
from entity_tui.records.store import RunStore
from entity_tui.records.straggler_note import straggler_note
from tests.analysis.rows import scaled, session

BASE = [10.0, 10.4, 9.8, 10.1, 9.9, 10.2, 10.3, 9.7]
JITTER = [0.002, -0.001, 0.003, -0.002, 0.001, -0.003, 0.0015, -0.0005]
COMPARISONS = (Comparison("naive", "threads_only", axis=Axis.THREADS), Comparison("threads_only", "optimized"))


def plan_text() -> str:
    plan = {
        "title": "Which change makes this phone faster?",
        "experiment": "ablation",
        "blocks": 8,
        "seed": 4711,
        "comparisons": [asdict(one) for one in COMPARISONS],
        "rules": asdict(Rules(planned_blocks=8)),
        "exclude": ["charging_changed"],
    }
    return json.dumps(plan)


def rows(**changes: object) -> list[Row]:
    arms = {
        "naive": BASE,
        "naive_aa": scaled(BASE, 1.0, JITTER),
        "threads_only": scaled(BASE, 1.39, JITTER),
        "optimized": scaled(BASE, 1.68, JITTER[::-1]),
    }
    return session(arms, **changes)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    found = RunDirectory(tmp_path / "20260822-demo")
    found.write_plan(plan_text())
    found.write_rows(rows(session_id="20260822-demo"))
    found.write_info(
        RunInfo("20260822-demo", "2026-08-22T10:00:00+00:00", experiment="ablation", simulated=True, clock_factor=20.0)
    )
    return found


def test_reanalysis_writes_every_table_and_then_changes_nothing(run: RunDirectory) -> None:
    first = reanalyse(run)
    assert set(first.changed) == {"tables.csv", "verdicts.csv", "factors.csv", "verdicts.txt"}
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    assert reanalyse(run).changed == ()
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before


def test_deleted_and_edited_tables_come_back_byte_for_byte(run: RunDirectory) -> None:
    reanalyse(run)
    before = run.text("verdicts.csv")
    (run.path / "factors.csv").unlink()
    run.write_file("verdicts.csv", before.replace("faster", "slower"))
    assert reanalyse(run, write=False).changed == ("verdicts.csv", "factors.csv")
    assert run.text("verdicts.csv") != before
    reanalyse(run)
    assert run.text("verdicts.csv") == before


def test_the_verdict_file_holds_the_declared_comparisons(run: RunDirectory) -> None:
    reanalyse(run)
    _, lines = read_csv(run.text("verdicts.csv"))
    found = [(line["baseline"], line["treatment"], line["verdict"], line["declared"]) for line in lines]
    assert found[:2] == [("naive", "threads_only", "faster", "1"), ("threads_only", "optimized", "faster", "1")]
    assert float(lines[0]["coverage"]) == pytest.approx(0.9609, abs=1e-4)


def test_a_run_without_a_plan_has_tables_and_no_verdict(run: RunDirectory) -> None:
    (run.path / "plan.json").unlink()
    found = reanalyse(run)
    assert found.tables.verdicts_csv == ""
    assert "population_sd" in found.tables.tables_csv


@pytest.mark.parametrize("text", ["{", "[1]", '{"comparisons": [{"baseline": "a"}]}', '{"comparisons": 3}'])
def test_a_plan_that_cannot_be_read_is_said_and_not_guessed(text: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.json"):
        declared(text)


def test_an_older_plan_without_rules_still_judges() -> None:
    found = declared('{"comparisons": [{"baseline": "a", "treatment": "b"}], "blocks": 6, "protocol": "runs"}')
    assert found.comparisons[0].name == "a→b"
    assert found.rules.planned_blocks == 6
    assert not found.rules.verdicts


def test_a_folder_without_rows_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no rows"):
        reanalyse(RunDirectory(tmp_path))


def test_sessions_of_one_plan_are_laid_beside_each_other(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        for number, ratio in enumerate((1.21, 1.19, 1.0)):
            name = f"night{number}"
            info = RunInfo(name, f"2026-08-22T0{number}:00:00+00:00", repeats="night")
            run = store.create(info, plan=json.dumps({"comparisons": [asdict(COMPARISONS[1])], "blocks": 8}))
            arms = {"threads_only": BASE, "optimized": scaled(BASE, ratio, JITTER)}
            store.save(info, session(arms, session_id=name))
        (found,) = replication_of(store, run)
        assert found.replicated == 2
        assert "replicated in 2 of 3 (faster)" in found.sentence
        assert [path.session_id for path in sessions_of(store, run)] == ["night0", "night1", "night2"]


def test_the_straggler_bound_stands_beside_the_thread_factor(run: RunDirectory) -> None:
    found = read_analysis(run)
    assert straggler_note(run, found) == ""
    run.write_device("this is no snapshot")
    assert straggler_note(run, found) == ""
    cpu = "/sys/devices/system/cpu"
    files = {f"{cpu}/possible": "0-7", f"{cpu}/online": "0-7", f"{cpu}/present": "0-7"}
    for number in range(8):
        files[f"{cpu}/cpu{number}/cpu_capacity"] = "512" if number < 4 else "1024"
        files[f"{cpu}/cpu{number}/cpufreq/cpuinfo_max_freq"] = "2000000" if number < 4 else "2500000"
    run.write_device(json.dumps({"files": files, "props": {}}))
    note = straggler_note(run, found)
    assert note.startswith("Straggler bound for 8 → 4 threads: ~×1.00 by compute alone")
    assert "measured ×1.39" in note


class Page(HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "data", "action")]


def test_the_report_needs_nothing_but_itself(run: RunDirectory) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    page, pictures = report_page(run)
    parsed = Page()
    parsed.feed(page)
    assert all(link.startswith(("data:", "#")) for link in parsed.links)
    assert "script" not in parsed.tags
    assert {picture.name for picture in pictures} == {"decode_tok_s_cells", "comparisons", "factors"}
    assert parsed.tags.count("svg") == 3
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)
    assert "Simulated phone, clock ×20" in page
    assert "rows.csv" in page


def test_the_same_rows_give_the_same_page(run: RunDirectory) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    assert report_page(run)[0] == report_page(run)[0]


def test_a_report_without_pictures_needs_no_matplotlib(run: RunDirectory) -> None:
    page, pictures = report_page(run, with_pictures=False)
    assert pictures == ()
    assert "<svg" not in page


def test_names_from_a_device_are_text_in_the_page(run: RunDirectory) -> None:
    run.write_info(RunInfo("20260822-demo", "", device_name="<script>alert(1)</script>\x1b[31m", model_name='"><img>'))
    page, _ = report_page(run, with_pictures=False)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page


def test_results_typed_by_hand_are_shown_and_never_analysed(run: RunDirectory) -> None:
    before = reanalyse(run).tables
    add_external(
        run, ExternalResult("PocketPal decode", 13.9, "tok/s", "its own screen, 20 July", "2026-08-22T10:00:00Z")
    )
    assert [item.value for item in external_results(run)] == [13.9]
    assert reanalyse(run).tables == before
    assert "its own screen, 20 July" in report_page(run, with_pictures=False)[0]
    with pytest.raises(UsageError, match="source"):
        add_external(run, ExternalResult("x", 1.0, "tok/s", " ", ""))
    with pytest.raises(UsageError, match="not a number"):
        add_external(run, ExternalResult("x", float("nan"), "tok/s", "somewhere", ""))


def test_two_arms_of_one_session_have_an_interval() -> None:
    found = compare_marked(rows(), "optimized", rows(), "naive")
    line = found.lines[0]
    assert line.metric == Metric.DECODE_TOK_S
    assert line.ratio == pytest.approx(1.68, abs=0.01)
    assert line.paired is not None
    assert line.paired.low is not None
    assert found.comparable
    assert "threads 8 → 4" in found.differs
    assert "mask ff → f0" in found.differs


def test_two_sessions_have_values_and_no_interval() -> None:
    found = compare_marked(rows(), "optimized", rows(session_id="other"), "optimized")
    assert found.lines[0].ratio == pytest.approx(1.0)
    assert found.lines[0].paired is None
    assert found.comparable
    assert not found.same_session
    assert "session" in found.summary


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"os_build": "Android 15"}, "OS build"),
        ({"model_sha256": "ff"}, "model"),
        ({"variant_loaded": "android_armv8.0_1"}, "CPU variant"),
        ({"engine_build": "b2"}, "engine"),
        ({"n_gen": 64}, "prompt set"),
        ({"simulated": True}, "device"),
    ],
)
def test_a_broken_rule_is_named_and_the_values_are_still_shown(changes: dict[str, object], rule: str) -> None:
    base = {"os_build": "Android 16", "model_sha256": "aa", "engine_build": "b1", "n_gen": 128}
    found = compare_marked(rows(**base), "optimized", rows(**{**base, **changes}), "naive")
    assert [check.name for check in found.rules if check.holds is False] == [rule]
    assert not found.comparable
    assert found.lines
