"""One table names every way a cell can end."""

from __future__ import annotations

import json
import re
from importlib import resources

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments.states import Scope, When, exit_states, explain, littletai_states, state, states
from entity_tui.records.schema import Usability
from tests.fixtures.tools import need_shared

ALL = (
    "ok warmup gate_timeout gate_unavailable safety_stop affinity_mismatch cpuset_denied threads_exceed_mask "
    "core_offline throttled killed_oom crashed_sigill crashed_segv library_missing workload_error timeout "
    "output_malformed output_truncated model_hash_mismatch model_load_failed storage_full device_rebooted "
    "boot_mismatch link_lost config_mismatch foreign_cell foreign_load counter_missing counters_scaled "
    "power_implausible charging_changed low_battery screen_changed suspended clock_jump cancelled skipped_incapable"
)


def test_the_table_holds_exactly_the_methods_states() -> None:
    assert tuple(states()) == tuple(ALL.split())


def test_every_state_has_words_for_its_reader() -> None:
    for found in states().values():
        assert found.sentence.endswith("."), found.name
        assert found.cause.endswith("."), found.name
        assert found.next_step.endswith("."), found.name
        assert found.sentence in explain(found.name)


def test_throttling_is_an_outcome_of_the_arm_and_stays_in_the_medians() -> None:
    found = state("throttled")
    assert (found.when, found.usability) == (When.AFTER, Usability.TAINTED)


def test_a_gate_that_never_opened_has_no_number_unless_the_plan_runs_it_all_the_same() -> None:
    found = state("gate_timeout")
    assert (found.usability, found.usability_when_run) == (Usability.VOID, Usability.TAINTED)


def test_only_states_from_before_the_treatment_replace_a_block() -> None:
    assert all(found.when is When.BEFORE for found in states().values() if found.replace)


def test_a_power_state_says_nothing_about_speed() -> None:
    assert state("power_implausible").scope is Scope.POWER


def test_an_unknown_state_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="not a state"):
        state("out_of_memory")


def test_exit_statuses_lead_to_states_of_the_table() -> None:
    assert all(name in states() for name in exit_states().values())


def test_every_state_the_runner_can_write_is_in_the_table() -> None:
    folder = resources.files("entity_tui.agent")
    scripts = "".join(
        item.read_text("utf-8")
        for item in folder.iterdir()
        if item.name.startswith("runner") and item.name.endswith("sh")
    )
    written = set(re.findall(r"\b(?:state|ended_by|gate)=([a-z][a-z_]+)", scripts))
    other = {"passed", "gate_skipped", "ended_by", "state"}
    assert written - other <= set(states()), written - other - set(states())


@pytest.mark.parametrize("kind", ["failures", "edge", "contamination"])
def test_every_name_in_littletais_cases_has_our_state(kind: str) -> None:
    names = littletai_states()
    for path in sorted(need_shared("seed_data", "littletai", kind).glob("*/expected.json")):
        recommended = json.loads(path.read_text())["recommended_state"]
        assert recommended in names, path
        assert names[recommended].state in states()
