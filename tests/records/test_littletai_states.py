"""Every failure, edge and contamination case of the LITTLETai data ends in the state recommended for it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from entity_tui.experiments.states import littletai_states
from entity_tui.records.littletai import arm_files, read_littletai, run_facts
from entity_tui.records.littletai_arm import RunFacts, read_arm
from entity_tui.records.schema import Usability
from tests.fixtures.tools import SHARED
from tests.records.littletai_data import translate

KINDS = ("failures", "edge", "contamination")
ROOT = SHARED / "seed_data" / "littletai"
CASES = [path for kind in KINDS for path in sorted((ROOT / kind).glob("*"))]
RUN_LEVEL = {"requeued_while_undelivered", "run_stopped_battery", "run_stopped_storage"}
ARM_CASES = [case for case in CASES if case.name not in RUN_LEVEL]


def facts_of(case: Path, origin: str) -> RunFacts:
    """The facts of the run a case was made from, which its arm has to fit."""
    named = re.search(r"(?:from arm |snapshot: out/)([\w-]+)", origin)
    return run_facts(ROOT / "runs" / named[1]) if named else run_facts(case)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name not in RUN_LEVEL], ids=lambda c: f"{c.parent.name}-{c.name}"
)
def test_the_case_gets_the_recommended_state(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    facts = facts_of(case, expected["origin"])
    (arm,) = [read_arm(files, facts) for files in arm_files(case)]
    assert arm.state == expected["recommended_state"], expected["why"]
    assert arm.state in littletai_states()


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_void_state_leaves_no_number(case: Path) -> None:
    for row in read_littletai(case, translate).rows:
        if row.usability == Usability.VOID:
            assert row.value is None


def test_two_attempts_in_one_folder_are_kept_apart(littletai_folder: Path) -> None:
    rows = read_littletai(littletai_folder / "failures" / "requeued_while_undelivered", translate).rows
    assert [row.attempt for row in rows] == [1, 2]
    assert len({row.raw_ref for row in rows}) == 2


@pytest.mark.parametrize(("reason", "state"), [("battery", "low_battery"), ("storage", "storage_full")])
def test_a_stopped_run_says_what_it_did_not_run(littletai_folder: Path, reason: str, state: str) -> None:
    rows = read_littletai(littletai_folder / "failures" / f"run_stopped_{reason}", translate).rows
    assert [row.state for row in rows] == [state]


def test_a_stopped_run_has_a_row_for_every_arm_it_never_tried(littletai_folder: Path, tmp_path: Path) -> None:
    plan = (littletai_folder / "runs" / "presets_stock" / "plan.tsv").read_text()
    (tmp_path / "plan.tsv").write_text(plan)
    (tmp_path / "runner.stopped").write_text("battery\n")
    rows = read_littletai(tmp_path, translate).rows
    assert len(rows) == len(plan.splitlines()) - 1
    assert {row.state for row in rows} == {"low_battery"}


def test_a_foreign_arm_delivered_into_a_run_is_refused(littletai_folder: Path) -> None:
    facts = run_facts(littletai_folder / "runs" / "prefill_kai")
    (phantom,) = arm_files(littletai_folder / "contamination" / "phantom_failed_arm")
    assert read_arm(phantom, facts).state == "rejected_foreign_arm"


def test_a_resumed_runs_earlier_arms_are_its_own_though_its_plan_lacks_them(littletai_folder: Path) -> None:
    folder = littletai_folder / "runs" / "llama-bench"
    facts = run_facts(folder)
    sweeps = [files for files in arm_files(folder) if "/sweep." in files.folder]
    assert sweeps
    assert not any(name.startswith("sweep.") for name in facts.plan)
    assert {read_arm(files, facts).state for files in sweeps} <= {"valid", "valid_entry_above_gate"}
