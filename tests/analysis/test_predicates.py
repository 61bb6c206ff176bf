"""What may be left out and what may not, and the seeds' dataset rules by name."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.analysis.comparison import Comparison, Rules
from entity_tui.analysis.dataset import (
    EFFECTS,
    ContributedArm,
    ContributedRun,
    Exclusion,
    duplicates,
    exclusions,
    high_variance,
    isa_tier,
    leaderboard,
    multiplier,
    power_suspect,
    power_usable,
    topology_text,
    unique,
    vendor,
)
from entity_tui.analysis.predicates import (
    AFTER_TREATMENT,
    BEFORE_TREATMENT,
    FAILED_BY_THE_ARM,
    check_predicates,
)
from entity_tui.analysis.session import analyse
from entity_tui.errors import UsageError
from entity_tui.experiments.states import When, states
from entity_tui.records.schema import Usability
from tests.analysis.rows import scaled, session

BASE = [10.0, 10.4, 9.8, 10.1, 9.9, 10.2, 10.3, 9.7]
JITTER = [0.002, -0.001, 0.003, -0.002, 0.001, -0.003, 0.0015, -0.0005]


def test_the_predicates_agree_with_the_table_of_states() -> None:
    table = states()
    assert {table[name].when for name in BEFORE_TREATMENT} == {When.BEFORE}
    assert {table[name].when for name in AFTER_TREATMENT} == {When.AFTER}
    assert {table[name].usability for name in FAILED_BY_THE_ARM} == {Usability.VOID}


@pytest.mark.parametrize("name", sorted(AFTER_TREATMENT))
def test_no_outcome_of_an_arm_may_exclude_its_cell(name: str) -> None:
    with pytest.raises(UsageError, match="cannot exclude a cell"):
        check_predicates([name])


def test_an_unknown_predicate_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no predicate") as error:
        check_predicates(["too_slow"])
    assert "charging_changed" in error.value.fix


@given(st.integers(0, 10_000))
def test_a_verdict_does_not_depend_on_the_order_of_the_rows(seed: int) -> None:
    arms = {"naive": BASE, "threads_only": scaled(BASE, 1.39, JITTER), "optimized": scaled(BASE, 1.41, JITTER[::-1])}
    rows = session(arms)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    comparisons = [Comparison("threads_only", "optimized"), Comparison("naive", "optimized")]
    one, two = analyse(rows, comparisons), analyse(shuffled, comparisons)
    assert one.judgements == two.judgements
    assert one.factors == two.factors


@given(st.floats(0.2, 5.0), st.floats(0.01, 100.0))
def test_a_verdict_does_not_depend_on_the_unit_of_the_values(ratio: float, unit: float) -> None:
    base = session({"threads_only": BASE, "optimized": scaled(BASE, ratio, JITTER)})
    other = [replace(row, value=(row.value or 0.0) * unit) for row in base]
    comparison = [Comparison("threads_only", "optimized")]
    one, two = analyse(base, comparison).judgements[0], analyse(other, comparison).judgements[0]
    assert one.verdict == two.verdict
    assert one.estimate is not None
    assert two.estimate is not None
    assert one.estimate.ratio == pytest.approx(two.estimate.ratio)


def test_fewer_blocks_than_planned_carry_the_mark() -> None:
    rows = session({"threads_only": BASE[:7], "optimized": scaled(BASE[:7], 1.2, JITTER[:7])})
    found = analyse(rows, [Comparison("threads_only", "optimized")], Rules(planned_blocks=8))
    assert found.judgements[0].fewer_than_planned


def arm(name: str, decode: float, watts: float = 3.0, sd: float = 0.1) -> ContributedArm:
    return ContributedArm(
        name, 4, True, False, 3, decode, sd, 100.0, 1.0, 5000.0, watts, decode / watts if watts else None
    )


def run(number: int = 1, **changes: object) -> ContributedRun:
    base = ContributedRun(
        run_id=number,
        received_at_utc=f"2026-08-{number:02d}T10:00",
        device_model="A015",
        soc="mt6878 / MT6878",
        cpu_flags=("dotprod", "fp16"),
        max_freqs_mhz=(2000, 2000, 2500, 2500),
        fast_cores=2,
        model_file="M-Q4_0",
        quantization="Q4_0",
        kleidiai_label=True,
        runs_per_arm=3,
        charging=False,
        power_valid=True,
        arms=(arm("naive", 10.0), arm("threads_only", 14.0), arm("optimized", 16.0)),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_a_result_uploaded_twice_counts_once_under_its_smallest_id() -> None:
    runs = [run(5), run(3), run(4, device_model="B")]
    assert duplicates(runs) == {5: 3}
    assert [item.run_id for item in unique(runs)] == [3, 4]


def test_variance_is_tested_in_the_attributed_arms_only() -> None:
    noisy = arm("optimized", 16.0, sd=4.1)
    assert high_variance(run(arms=(arm("naive", 10.0), noisy)))
    assert not high_variance(run(arms=(arm("naive", 10.0), replace(noisy, arm="efficiency"))))
    assert not high_variance(run(arms=(arm("naive", 0.0, sd=5.0),)))


@pytest.mark.parametrize(
    ("watts", "suspect"), [((3.0, 3.1), False), ((0.7, 3.0), True), ((3.0, 12.1), True), ((3.0, 0.0), False)]
)
def test_power_below_the_floor_or_too_far_apart_is_suspect(watts: tuple[float, float], suspect: bool) -> None:
    found = run(arms=(arm("naive", 10.0, watts[0]), arm("optimized", 16.0, watts[1])))
    assert power_suspect(found) is suspect
    assert not power_suspect(replace(found, power_valid=False))
    assert power_usable(found) is not suspect
    assert not power_usable(replace(found, charging=True))


def test_every_exclusion_is_named_with_its_effect() -> None:
    found = exclusions(run(charging=True, runs_per_arm=1), repeats=3)
    assert found == (Exclusion.DUPLICATE, Exclusion.CHARGING, Exclusion.PROVISIONAL)
    assert set(EFFECTS) == set(Exclusion)


@pytest.mark.parametrize(
    ("soc", "name"),
    [
        ("mt6878 / MT6878", "MediaTek"),
        ("qcom / SM8550", "Qualcomm"),
        ("frankel / Tensor G5", "Google"),
        ("s5e8835", "Other"),
    ],
)
def test_vendors_by_the_seeds_rule(soc: str, name: str) -> None:
    assert vendor(soc) == name


def test_tiers_and_topologies_in_the_seeds_words() -> None:
    assert isa_tier(["fp16"]) == "no_extensions"
    assert isa_tier(["dotprod"]) == "dotprod"
    assert isa_tier(["dotprod", "i8mm"]) == "dotprod_i8mm"
    assert topology_text((2500, 2000, 2500, 2000, 2000)) == "3x2.00G + 2x2.50G"


def test_the_leaderboard_shows_the_newest_of_a_device_and_sorts_missing_last() -> None:
    runs = [
        run(1),
        run(2, arms=(arm("naive", 10.0), arm("optimized", 20.0))),
        run(3, device_model="B", arms=(arm("optimized", 30.0),)),
        run(4, device_model="C", arms=(arm("naive", 10.0), arm("optimized", 40.0))),
    ]
    found = leaderboard(runs)
    assert [group.device_model for group in found] == ["C", "A015", "B"]
    assert found[1].primary.run_id == 2
    assert [older.run_id for older in found[1].older] == [1]
    assert multiplier(found[2].primary) is None
