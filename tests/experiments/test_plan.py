"""Plans: decided before the first cell, canonical, hashed, and honest about what they cannot decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments.ablation import design_file, design_preset, design_runs, file_choices, preset_names
from entity_tui.experiments.arm_specs import choose_arms, read_arm_file, shipped_arms
from entity_tui.experiments.build import Choices, assemble, with_aa
from entity_tui.experiments.placement import placement_plan
from entity_tui.experiments.plan import canonical, cell_key
from entity_tui.experiments.plan_json import read_plan
from tests.experiments.bed import SHORT_ARMS, four_plus_four, one_class, setting, snapshot
from tests.fixtures.tools import REPOSITORY

PHONE = setting(four_plus_four())


@pytest.mark.parametrize(
    ("preset", "blocks", "arms", "comparisons", "cells"),
    [("quick", 3, 4, 0, 12), ("standard", 6, 3, 1, 18), ("full", 8, 5, 4, 40), ("overnight", 8, 5, 4, 40)],
)
def test_a_preset_has_the_methods_size(preset: str, blocks: int, arms: int, comparisons: int, cells: int) -> None:
    plan = assemble(design_preset(preset), PHONE, Choices(seed=1))
    assert (plan.blocks, len(plan.arms), len(plan.comparisons)) == (blocks, arms, comparisons)
    assert plan.measured_cells == cells
    assert plan.cells[0].role == "warmup"
    assert plan.rules.verdicts == (preset != "quick")


def test_every_preset_that_draws_verdicts_has_enough_blocks_for_its_comparisons() -> None:
    for name in preset_names():
        plan = assemble(design_preset(name), PHONE, Choices(seed=1))
        if plan.rules.verdicts:
            assert plan.blocks >= plan.rules.needed_blocks(len(plan.comparisons))


def test_the_full_plan_has_its_control_twice() -> None:
    assert with_aa(assemble(design_preset("full"), PHONE, Choices(seed=1))) == ("naive", "naive_aa")


def test_arms_get_this_devices_widths_and_masks() -> None:
    plan = assemble(design_preset("full"), PHONE, Choices(seed=1))
    settings = {arm.arm_id: (arm.decode.threads, sorted(arm.decode.mask or ())) for arm in plan.arms}
    everything = list(range(8))
    assert settings == {
        "naive": (8, everything),
        "threads_only": (4, everything),
        "optimized": (4, [4, 5, 6, 7]),
        "efficiency": (4, [0, 1, 2, 3]),
        "naive_aa": (8, everything),
    }


def test_prefill_and_decode_have_their_own_width_and_mask() -> None:
    prime = snapshot(
        {0: 1700, 1: 1700, 2: 1700, 3: 1700, 4: 2367, 5: 2367, 6: 2367, 7: 2367, 8: 2914},
        {0: 150, 1: 150, 2: 150, 3: 150, 4: 700, 5: 700, 6: 700, 7: 700, 8: 1024},
    )
    arm = assemble(design_preset("full"), setting(prime), Choices(seed=1)).arm("optimized")
    assert (arm.decode.threads, sorted(arm.decode.mask or ())) == (2, [4, 8])
    assert (arm.prefill.threads, sorted(arm.prefill.mask or ())) == (5, [4, 5, 6, 7, 8])


def test_the_same_plan_and_seed_have_one_hash_and_another_seed_has_another() -> None:
    one = assemble(design_preset("full"), PHONE, Choices(seed=7))
    assert one.plan_hash == assemble(design_preset("full"), PHONE, Choices(seed=7)).plan_hash
    assert one.plan_hash != assemble(design_preset("full"), PHONE, Choices(seed=8)).plan_hash


def test_a_stored_plan_is_read_back_whole() -> None:
    plan = assemble(design_preset("full"), PHONE, Choices(seed=7, flags=("-fa", "on")))
    again = read_plan(canonical(plan))
    assert again == plan
    assert again.plan_hash == plan.plan_hash


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"protocol": "blocks"}', '{"protocol": "yes"}'])
def test_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="stored plan"):
        read_plan(text)


def test_a_cell_key_is_what_is_measured_and_not_when() -> None:
    one = assemble(design_preset("full"), PHONE, Choices(seed=7))
    two = assemble(design_preset("full"), PHONE, Choices(seed=8))
    assert cell_key(one, one.arm("naive")) == cell_key(two, two.arm("naive"))
    assert cell_key(one, one.arm("naive")) == cell_key(one, one.arm("naive_aa"))
    assert cell_key(one, one.arm("naive")) != cell_key(one, one.arm("optimized"))
    longer = replace(one, n_gen=256)
    assert cell_key(longer, longer.arm("naive")) != cell_key(one, one.arm("naive"))


def test_a_device_with_one_class_of_cores_has_no_efficiency_arm_and_says_why() -> None:
    plan = assemble(design_preset("full"), setting(one_class(8)), Choices(seed=1))
    assert "one class" in plan.arm("efficiency").incapable
    assert "efficiency" not in {cell.arm for cell in plan.cells}
    assert "optimized→efficiency" not in {item.name for item in plan.comparisons}
    assert any("efficiency is not run" in note for note in plan.notes)


def test_two_equal_cpus_are_told_before_the_run_that_nothing_will_differ() -> None:
    plan = assemble(design_preset("full"), setting(one_class(2)), Choices(seed=1))
    assert any("naive→optimized asks for the same widths and masks twice" in note for note in plan.notes)


def test_fewer_blocks_than_the_rule_are_told_before_the_run() -> None:
    plan = assemble(design_preset("full"), PHONE, Choices(seed=1, blocks=6))
    assert any("4 comparisons need 8 blocks" in note for note in plan.notes)


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_runs_are_the_seeds_counts_without_a_verdict(runs: int) -> None:
    plan = assemble(design_runs(runs), PHONE, Choices(seed=1))
    assert plan.measured_cells == 4 * runs
    assert not plan.rules.verdicts
    assert plan.gate.run_on_timeout


def test_another_count_of_runs_is_refused() -> None:
    with pytest.raises(UsageError, match="--runs 2"):
        design_runs(2)


def test_the_seeds_order_is_grouped_and_says_what_that_costs() -> None:
    plan = assemble(design_runs(3), PHONE, Choices(seed=1, fixed_order=True))
    assert [cell.arm for cell in plan.cells[1:4]] == ["naive"] * 3
    assert any("coolest" in note for note in plan.notes)


def test_a_shorter_gate_is_visible_in_the_plan() -> None:
    plan = assemble(design_preset("quick"), PHONE, Choices(seed=1, gate={"minimum_s": 0}))
    assert plan.gate.weakened
    assert any("tainted" in note for note in plan.notes)


@pytest.mark.parametrize("gate", [{"warmth": 3}, {"limit_s": 5.0}, {"minimum_s": "long"}, {"minimum_s": -1.0}])
def test_a_gate_that_cannot_be_meant_is_refused(gate: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        assemble(design_preset("quick"), PHONE, Choices(seed=1, gate=gate))


def test_a_users_file_has_arms_comparisons_gate_and_tokens() -> None:
    file = read_arm_file(SHORT_ARMS, "mine.yaml", shipped_arms())
    plan = assemble(design_file(file, design_runs(3)), setting(one_class(2)), file_choices(file, Choices(seed=1)))
    assert [arm.arm_id for arm in plan.arms] == ["free", "pinned"]
    assert plan.arm("pinned").decode.mask == frozenset({1})
    assert (plan.n_prompt, plan.n_gen, plan.gate.minimum_s) == (16, 8, 0.0)
    assert [item.name for item in plan.comparisons] == ["free→pinned"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arms: [", "not YAML"),
        ("blocks: 3", "no arms"),
        ("arms: {a: {threads: zero}}", "threads 'zero'"),
        ("arms: {a: {threads: 0}}", "threads '0'"),
        ("arms: {a: {placement: moon}}", "placement 'moon'"),
        ("arms: {a: {cpus: x}}", "names no CPU"),
        ("arms: {a: {colour: red}}", "unknown key colour"),
        ("arms: {a: {copy_of: b}}", "copies b"),
        ("arms: {'a b': {threads: 1}}", "letters"),
    ],
)
def test_a_mistake_in_a_users_file_is_named(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_arm_file(text, "mine.yaml")


def test_an_unknown_arm_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no arm is called fastest") as caught:
        choose_arms("naive,fastest")
    assert "optimized" in caught.value.fix


def test_adpf_is_listed_and_never_faked() -> None:
    spec = shipped_arms()["adpf"]
    plan = assemble(replace(design_runs(1), specs=(shipped_arms()["naive"], spec)), PHONE, Choices(seed=1))
    assert "shell" in plan.arm("adpf").incapable
    assert "adpf" not in {cell.arm for cell in plan.cells}


def test_placement_names_auto_as_perf_cores_where_they_are_the_same() -> None:
    plan = placement_plan(PHONE, Choices(seed=1))
    assert plan.arm("auto").same_as == "perf_cores"
    assert (plan.blocks, plan.measured_cells, len(plan.comparisons)) == (6, 12, 1)
    first = [cell.arm for cell in plan.cells if cell.position == 1 and cell.block]
    assert first.count("scheduler") == 3


def test_placement_has_a_third_arm_where_auto_differs() -> None:
    prime = setting(snapshot({0: 1700, 1: 1700, 2: 2367, 3: 2367, 4: 2914}, {0: 150, 1: 150, 2: 700, 3: 700, 4: 1024}))
    plan = placement_plan(prime, Choices(seed=1))
    assert (plan.blocks, plan.measured_cells, len(plan.comparisons)) == (7, 21, 2)


def test_the_documented_arms_file_is_a_plan() -> None:
    page = (REPOSITORY / "docs" / "plans.md").read_text(encoding="utf-8")
    text = page.split("```yaml\n")[1].split("```")[0]
    file = read_arm_file(text, "docs/plans.md", shipped_arms())
    design = replace(design_preset("standard"), preset="")
    plan = assemble(design_file(file, design), PHONE, file_choices(file, Choices(seed=1)))
    assert [arm.arm_id for arm in plan.arms] == ["free", "pinned", "flash", "quiet", "again"]
    assert plan.arm("flash").flags == ("-fa", "on")
    assert with_aa(plan) == ("free", "again")
    assert (plan.blocks, plan.gate.weakened, plan.comparisons[0].expect) == (6, False, "no change")
