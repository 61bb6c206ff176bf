"""The words a comparison may end in, the order of the margins, and what takes a verdict away."""

from __future__ import annotations

import pytest

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.analysis.sentences import session_sentences, verdict_sentence
from entity_tui.analysis.session import SessionAnalysis, analyse
from entity_tui.analysis.verdict import Verdict
from entity_tui.errors import UsageError
from entity_tui.records.schema import Metric, Usability
from tests.analysis.judging import BASE, JITTER, PIN, TOTAL, one, pair
from tests.analysis.rows import cell, scaled, session


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (1.21, Verdict.FASTER),
        (0.80, Verdict.SLOWER),
        (1.01, Verdict.DIFFERENT),
        (1.0, Verdict.EQUIVALENT),
        (1.025, Verdict.FASTER),
    ],
)
def test_margins_are_applied_in_order(ratio: float, word: Verdict) -> None:
    assert one(pair(ratio)).verdict is word


def test_a_noisy_null_is_undecided_and_never_the_same() -> None:
    noise = [0.12, -0.1, 0.09, -0.14, 0.11, -0.08, 0.13, -0.12]
    found = one(pair(1.0, noise))
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason
    sentence = verdict_sentence(found)
    assert "undecided?" in sentence
    assert "same" not in sentence
    assert "more block" in sentence or "No plan" in sentence


def test_more_blocks_are_named_for_an_undecided_comparison() -> None:
    noise = [0.03, -0.05, 0.04, -0.02, 0.06, -0.03, 0.02, -0.04]
    found = one(pair(1.03, noise))
    assert found.verdict is Verdict.UNDECIDED
    assert found.blocks_needed is not None
    assert found.blocks_needed > 8


def test_below_six_blocks_there_are_ratios_only() -> None:
    found = one(pair(1.5, blocks=5))
    assert found.verdict is Verdict.NONE
    assert found.estimate is not None
    assert found.estimate.low is None
    assert found.p_adjusted is None


def test_a_descriptive_plan_gives_no_verdict_however_many_blocks() -> None:
    assert one(pair(1.5), rules=Rules(verdicts=False)).verdict is Verdict.NONE


def test_one_stalled_cell_at_six_blocks_leaves_a_true_effect_undecided() -> None:
    values = scaled(BASE[:6], 1.06, JITTER[:6])
    values[2] *= 0.7
    assert one(session({"threads_only": BASE[:6], "optimized": values})).verdict is Verdict.UNDECIDED


def test_too_few_blocks_for_the_number_of_comparisons_is_undecided() -> None:
    arms = {"naive": BASE[:6], "threads_only": scaled(BASE[:6], 1.4), "optimized": scaled(BASE[:6], 1.7)}
    comparisons = [Comparison("naive", "threads_only", axis=Axis.THREADS), PIN, TOTAL]
    found = analyse(session(arms), comparisons)
    assert {item.verdict for item in found.judgements} == {Verdict.UNDECIDED}
    assert "asks for" in found.judgements[0].reason


@pytest.mark.parametrize(("declared", "blocks"), [(1, 6), (2, 7), (3, 7), (4, 8), (8, 9)])
def test_the_rule_for_blocks(declared: int, blocks: int) -> None:
    assert Rules().needed_blocks(declared) == blocks


def test_an_aa_check_that_differs_takes_every_verdict_away() -> None:
    arms = {"naive": BASE, "naive_aa": scaled(BASE, 1.02, JITTER), "optimized": scaled(BASE, 1.7)}
    found = analyse(session(arms), [TOTAL])
    assert found.aa is not None
    assert found.aa.differs
    assert found.judgements[0].verdict is Verdict.UNDECIDED
    assert "A/A" in found.judgements[0].reason
    assert any("no verdict of this session stands" in line for line in session_sentences(found))


def test_a_comparison_is_held_to_the_aa_check_of_its_own_metric() -> None:
    decode = {"naive": BASE, "naive_aa": scaled(BASE, 1.0, JITTER), "optimized": scaled(BASE, 1.7)}
    prompt = {"naive": BASE, "naive_aa": scaled(BASE, 1.02, JITTER), "optimized": scaled(BASE, 1.7)}
    rows = [*session(decode), *session(prompt, metric=Metric.PROMPT_TOK_S)]
    found = analyse(rows, [TOTAL, Comparison("naive", "optimized", Metric.PROMPT_TOK_S)])
    assert [item.verdict for item in found.judgements] == [Verdict.FASTER, Verdict.UNDECIDED]
    assert "A/A" in found.judgements[1].reason


def test_an_aa_check_with_both_signs_holds() -> None:
    arms = {"naive": BASE, "naive_aa": scaled(BASE, 1.0, JITTER), "optimized": scaled(BASE, 1.7)}
    found = analyse(session(arms), [TOTAL])
    assert found.aa is not None
    assert not found.aa.differs
    assert found.judgements[0].verdict is Verdict.FASTER


def test_throttled_cells_stay_in_and_are_counted() -> None:
    rows = pair(1.2)
    rows[-1] = cell("optimized", 8, 6.0, state="throttled", usability=Usability.TAINTED)
    found = analyse(rows, [PIN])
    assert found.judgements[0].estimate is not None
    assert found.judgements[0].estimate.n == 8
    assert found.outcomes["optimized"] == {"ok": 7, "throttled": 1}


def test_a_killed_arm_counts_as_the_worst_and_is_not_left_out() -> None:
    rows = pair(1.2)
    for block in (7, 8):
        rows[8 + block - 1] = cell(
            "optimized", block, None, metric=Metric.OUTCOME, state="killed_oom", usability=Usability.VOID
        )
    found = analyse(rows, [PIN])
    assert found.pairs[0].treatment_failed == 2
    assert found.judgements[0].verdict is Verdict.UNDECIDED
    assert found.judgements[0].estimate is not None
    assert found.judgements[0].estimate.n == 8
    assert found.judgements[0].estimate.widest_low is None


def test_a_gate_that_timed_out_costs_its_block_and_nothing_else() -> None:
    rows = pair(1.2)
    rows[-1] = cell("optimized", 8, None, metric=Metric.OUTCOME, state="gate_timeout", usability=Usability.VOID)
    found = analyse(rows, [PIN])
    assert found.judgements[0].estimate is not None
    assert found.judgements[0].estimate.n == 7
    assert found.pairs[0].incomplete == 1


def test_excluding_an_outcome_of_the_arm_is_refused() -> None:
    with pytest.raises(UsageError, match="throttled cannot exclude"):
        analyse(pair(1.2), [PIN], predicates=["throttled"])


def test_a_predicate_of_the_plan_excludes_and_shows_its_cells() -> None:
    rows = pair(1.2)
    rows[0] = cell("threads_only", 1, 3.0, state="charging_changed", usability=Usability.TAINTED)
    found = analyse(rows, [PIN], predicates=["charging_changed"])
    assert found.judgements[0].estimate is not None
    assert found.judgements[0].estimate.n == 7
    assert [(item.arm, item.predicate, item.cells) for item in found.excluded] == [
        ("threads_only", "charging_changed", 1)
    ]


def test_sessions_are_never_pooled() -> None:
    rows = [*pair(1.2), *session({"optimized": BASE}, session_id="another")]
    with pytest.raises(UsageError, match="different sessions"):
        analyse(rows, [PIN])


def test_undeclared_metrics_are_exploratory() -> None:
    prompts = session({"threads_only": BASE, "optimized": scaled(BASE, 2.0)}, metric=Metric.PROMPT_TOK_S)
    found = analyse([*pair(1.2), *prompts], [PIN])
    assert [item.comparison.metric for item in found.explored] == [Metric.PROMPT_TOK_S]
    assert found.explored[0].verdict is Verdict.NONE
    assert not found.explored[0].declared


def test_watts_are_lower_and_not_slower() -> None:
    rows = session(
        {"threads_only": BASE, "optimized": scaled(BASE, 0.8)},
        metric=Metric.DECODE_POWER_W,
        charging_state="discharging",
    )
    found = one(rows, Comparison("threads_only", "optimized", Metric.DECODE_POWER_W))
    assert found.verdict is Verdict.LOWER


def test_watts_of_a_charging_phone_are_no_watts() -> None:
    rows = session(
        {"threads_only": BASE, "optimized": scaled(BASE, 0.8)}, metric=Metric.DECODE_POWER_W, charging_state="charging"
    )
    found = one(rows, Comparison("threads_only", "optimized", Metric.DECODE_POWER_W))
    assert found.estimate is None


def test_a_shorter_time_is_faster() -> None:
    rows = session({"threads_only": BASE, "optimized": scaled(BASE, 0.8)}, metric=Metric.TTFT_DERIVED_MS)
    assert one(rows, Comparison("threads_only", "optimized", Metric.TTFT_DERIVED_MS)).verdict is Verdict.FASTER


def test_the_expectation_stands_beside_the_verdict() -> None:
    found = one(pair(1.2), Comparison("threads_only", "optimized", expect="about 10 % faster"))
    assert "Expected before the run: about 10 % faster." in verdict_sentence(found)


def test_the_sentence_holds_the_numbers_a_reader_needs() -> None:
    sentence = verdict_sentence(one(pair(1.21)))
    assert sentence.startswith("optimized against threads_only on decode: faster; ×1.21")
    assert "96.1 % interval" in sentence
    assert "after Holm" in sentence
    assert "8 blocks" in sentence


def test_a_two_arm_run_attributes_nothing_and_says_so() -> None:
    found = analyse(session({"naive": BASE, "optimized": scaled(BASE, 1.7)}), [TOTAL])
    assert any("cannot say what earned" in line for line in session_sentences(found))


def attributed() -> SessionAnalysis:
    arms = {
        "naive": BASE,
        "threads_only": scaled(BASE, 1.39, JITTER),
        "optimized": scaled(BASE, 1.68, JITTER[::-1]),
    }
    return analyse(session(arms), [Comparison("naive", "threads_only", axis=Axis.THREADS), PIN, TOTAL])


def test_factors_multiply_to_the_total_and_add_up_on_the_log_axis() -> None:
    found = attributed().factors
    assert found.total is not None
    assert found.total.median_ratio == pytest.approx(
        (found.steps[0].median_ratio or 0) * (found.steps[1].median_ratio or 0)
    )
    assert sum(found.shares) == pytest.approx(1.0)
    assert found.remainder == pytest.approx(1.0, abs=0.01)
    assert all(step.estimate is not None and step.estimate.low is not None for step in found.steps)


def test_a_void_step_has_no_factor() -> None:
    rows = [
        *session({"naive": BASE, "threads_only": scaled(BASE, 1.39)}),
        *session({"optimized": scaled(BASE, 1.41)}, mask_applied="ff"),
    ]
    found = analyse(rows, [Comparison("naive", "threads_only", axis=Axis.THREADS), PIN])
    assert found.factors.steps[1].void
    assert found.factors.shares == ()
    assert any("No attribution" in line for line in session_sentences(found))
