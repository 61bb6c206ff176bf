"""The commands that run plans, as a user types them, on this computer with the paper engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from entity_tui.cli import cli
from entity_tui.errors import EntityError, UsageError
from entity_tui.records.export import read_tidy_csv
from tests.experiments.paper_engine import arms, make_engine, make_model
from tests.fixtures.tools import need_tool

GATE = ("--gate", "minimum_s=0", "--gate", "limit_s=1", "--gate", "sensorless_dwell_s=0")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Options that name this computer, the paper engine and a model."""
    need_tool("taskset")
    monkeypatch.setenv("ENTITY_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ENTITY_TUI_CONFIG", str(tmp_path / "config"))
    engine, model = make_engine(tmp_path / "engine"), make_model(tmp_path / "model")
    return ("--device", "local", "--engine", str(engine), "--model", str(model))


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def refusal(*words: str) -> EntityError:
    result = run(*words)
    assert isinstance(result.exception, EntityError), result.output
    return result.exception


def test_a_dry_run_prints_arms_order_cost_and_runs_nothing(here: tuple[str, ...], tmp_path: Path) -> None:
    result = run("bench", *here, "--preset", "full", "--seed", "4711", "--dry-run", *GATE)
    assert result.exit_code == 0, result.output
    assert "seed 4711" in result.output
    assert "declared: naive→optimized on decode_tok_s" in result.output
    assert "warm-up: optimized" in result.output
    assert "▲ the gate waits only 0 s: every cell is tainted" in result.output
    assert not (tmp_path / "data" / "runs").exists()


def test_without_options_it_is_the_plan_of_the_key(here: tuple[str, ...]) -> None:
    told = json.loads(run("bench", *here, "--dry-run", "--json").stdout)["plan"]
    assert (told["preset"], told["blocks"]) == ("full", 8)


def test_states_are_explained_one_by_one_or_all(here: tuple[str, ...]) -> None:
    assert "→ Pin with taskset" in run("states", "affinity_mismatch").output
    assert len(json.loads(run("states", "--json").stdout)) == 37
    assert "is not a state" in refusal("states", "broken").title


def test_the_same_seed_prints_the_same_plan(here: tuple[str, ...]) -> None:
    words = ("bench", *here, "--preset", "standard", "--seed", "7", "--dry-run", "--json")
    one, two = json.loads(run(*words).stdout), json.loads(run(*words).stdout)
    assert one["plan_hash"] == two["plan_hash"]
    assert one["plan"]["cells"] == two["plan"]["cells"]
    assert one["plan"]["seed"] == 7


def test_a_run_prints_its_table_and_writes_its_rows(here: tuple[str, ...], tmp_path: Path) -> None:
    mine = tmp_path / "arms.yaml"
    mine.write_text(arms(one="MODE=ok", dies="MODE=oom"))
    out = tmp_path / "out.csv"
    done = f'echo "$1 $2" > {tmp_path}/done'
    result = run("bench", *here, "--arms", str(mine), "--runs", "1", "--csv", str(out), "--on-done", done, "--jsonl")
    assert result.exit_code == 1, "one arm has no number"
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["event"] for line in lines} == {"log", "result"}
    told = lines[-1]
    assert (tmp_path / "done").read_text() == f"{told['session_id']} done\n"
    assert told["outcome"] == "done"
    assert told["simulated"] is False
    rows = {row["arm"]: row for row in told["arms"]}
    assert rows["one"]["decode_tok_s"] == pytest.approx(128 / 0.05)
    assert (rows["dies"]["decode_tok_s"], rows["dies"]["word"]) == (None, "killed_oom")
    assert len(read_tidy_csv(out)) == told["rows"]


@pytest.mark.long
@pytest.mark.parametrize(("ns", "code"), [("60000000", 1), ("50100000", 0)])
def test_compare_is_a_gate_that_fails_on_a_verdict_only(here: tuple[str, ...], ns: str, code: int) -> None:
    sides = ("--side", "NS=50000000", "--side", f"NS={ns}")
    result = run(
        "compare", *here, *sides, *GATE, "--arm", "naive", "--prompt", "0", "--fail-on", "decode < -3 %", "--json"
    )
    assert result.exit_code == code, result.output
    verdict = json.loads(result.stdout)["verdicts"][0]
    assert ("slower" if code else "different, too small to matter") in verdict


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--preset", "full", "--runs", "3"), "exclude each other"),
        (("--preset", "huge"), "no preset"),
        (("--arms", "naive,turbo"), "no arm is called turbo"),
        (("--gate", "minimum_s"), "--gate"),
        (("--strict",), "--strict goes with --fail-on"),
        (("--json", "--jsonl"), "exclude each other"),
        (("--fail-on", "decode"), "--fail-on"),
    ],
)
def test_words_that_cannot_be_meant_are_refused_before_anything_runs(
    here: tuple[str, ...], words: tuple[str, ...], says: str
) -> None:
    error = refusal("bench", *here, *words)
    assert isinstance(error, UsageError)
    assert says in error.title
    assert error.exit_code == 2


def test_an_engine_that_does_not_start_is_told_before_the_run(here: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "engine" / "llama-bench").write_text("#!/bin/sh\necho 'error: no' >&2\nexit 1\n")
    error = refusal("bench", *here, "--runs", "1")
    assert "the engine does not start" in error.title
    assert error.exit_code == 1


@pytest.mark.parametrize("name", ["placement", "sweep", "kernels", "backends", "isa-ladder"])
def test_every_experiment_can_show_its_plan(here: tuple[str, ...], name: str) -> None:
    result = run(name, *here, "--dry-run", "--json", "--seed", "1")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)["plan"]
    assert plan["experiment"] == name
    assert plan["cells"]


def test_another_engine_is_measured_by_its_own_command_line(here: tuple[str, ...], tmp_path: Path) -> None:
    program = tmp_path / "other"
    program.write_text('#!/bin/sh\ni=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done\necho "speed: 12.5 with $1"\n')
    program.chmod(0o755)
    result = run(
        *("measure", *here, *GATE, "--pattern", r"speed: ([\d.]+)", "--unit", "it/s", "--arm", "naive"),
        *("--blocks", "1", "--json", "--", str(program), "{threads}"),
    )
    assert result.exit_code == 0, result.output
    directory = Path(json.loads(result.stdout)["directory"])
    found = [row for row in read_tidy_csv(directory / "rows.csv") if row.metric == "command_value"]
    assert [(row.value, row.unit) for row in found if row.role == "measure"] == [(12.5, "it/s")]


@pytest.mark.long
def test_several_sessions_of_one_plan_end_with_what_came_back(here: tuple[str, ...], tmp_path: Path) -> None:
    mine = tmp_path / "arms.yaml"
    mine.write_text(
        "arms:\n  one: {threads: 1, cpus: '0'}\n  two: {threads: 1, cpus: '0', env: {NS: '60000000'}}\n"
        "comparisons:\n  - {baseline: one, treatment: two, axis: flags}\n"
    )
    words = ("bench", *here, "--arms", str(mine), "--preset", "overnight", "--blocks", "2", "--prompt", "0", *GATE)
    result = run(*words)
    assert result.exit_code == 0, result.output
    (sentence,) = [line for line in result.output.splitlines() if "came back in 3 sessions" in line]
    assert sentence.startswith("one→two: no verdict")
    assert sentence.count("×0.833") == 3
    told = [json.loads(line) for line in run(*words, "--jsonl").stdout.splitlines()]
    assert [line["sentence"].count("came back in 3 sessions") for line in told if line["event"] == "replication"] == [1]
