"""The equivalence lab: a verdict only where all three controls did their job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments.build import Choices
from entity_tui.experiments.equivalence import Answer, Verdict, decide, equivalence_plan, read_answers, study_text
from entity_tui.experiments.launches import cell_launches
from entity_tui.experiments.plan import cell_key
from entity_tui.experiments.readings import read_pattern, read_perplexity
from tests.experiments.bed import ENGINE, four_plus_four, setting
from tests.experiments.live_bed import SHORT, on_this_computer
from tests.fixtures.tools import need_shared

WHOLE = replace(ENGINE, completion="/e/llama-completion", perplexity="/e/llama-perplexity")
PHONE = replace(setting(four_plus_four()), engine=WHOLE)
TEXT = Answer(b" the same words", ("6.3748", "6.0219", "6.5933"))
GOOD = {
    "auto": TEXT,
    "threads_only": TEXT,
    "naive": TEXT,
    "efficiency": TEXT,
    "control_again": TEXT,
    "control_word": Answer(b" other words", TEXT.chunks),
    "control_chunks": Answer(TEXT.text, ("6.4161",)),
}


def test_equal_answers_with_working_controls_are_identical_and_never_bit_exact() -> None:
    found = decide(GOOD, 96)
    assert found.verdict is Verdict.IDENTICAL
    assert found.sentence == (
        "Identical over 96 tokens and 3 chunk values (4 decimals): threads_only, naive, efficiency."
    )


@pytest.mark.parametrize(
    "other", [Answer(b" other", TEXT.chunks), Answer(TEXT.text, ("6.3748", "6.0219", "6.5934")), Answer(TEXT.text, ())]
)
def test_one_different_byte_or_decimal_differs(other: Answer) -> None:
    found = decide({**GOOD, "naive": other}, 96)
    assert found.verdict is Verdict.DIFFERS
    assert found.arms["naive"] is Verdict.DIFFERS
    assert found.arms["threads_only"] is Verdict.IDENTICAL


@pytest.mark.parametrize(
    ("control", "answer"),
    [
        ("control_again", Answer(b" something else", TEXT.chunks)),
        ("control_word", TEXT),
        ("control_chunks", Answer(TEXT.text, ("6.3748",))),
        ("control_chunks", Answer(TEXT.text, ())),
    ],
)
def test_a_control_that_fails_makes_the_instrument_broken_whatever_the_arms_say(control: str, answer: Answer) -> None:
    found = decide({**GOOD, control: answer}, 96)
    assert found.verdict is Verdict.BROKEN
    assert found.arms == {}
    assert found.sentence.startswith("Instrument broken")


@pytest.mark.parametrize("missing", ["auto", "control_again", "control_word", "control_chunks"])
def test_a_missing_reference_or_control_is_a_broken_instrument(missing: str) -> None:
    assert decide({name: answer for name, answer in GOOD.items() if name != missing}, 96).verdict is Verdict.BROKEN


def test_the_controls_ask_for_what_they_have_to_show() -> None:
    plan = equivalence_plan(PHONE, Choices(seed=1), "/t/study.txt")
    keys = {arm.arm_id: cell_key(plan, arm) for arm in plan.arms}
    assert len({keys["auto"], keys["control_word"], keys["control_chunks"]}) == 3
    lines = {arm.arm_id: cell_launches(plan, arm, "measure") for arm in plan.arms}
    assert lines["control_again"] == lines["auto"]
    assert lines["control_word"][0].argv != lines["auto"][0].argv
    assert lines["control_word"][1] == lines["auto"][1]
    assert lines["control_chunks"][0] == lines["auto"][0]
    assert lines["control_chunks"][1].argv != lines["auto"][1].argv
    assert {launch.mask for launch in lines["efficiency"]} == {"f"}


def test_an_engine_without_the_programs_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="no llama-completion and no llama-perplexity"):
        equivalence_plan(setting(four_plus_four()), Choices(seed=1), "/t/study.txt")


def test_the_study_text_is_always_the_same_and_long_enough() -> None:
    assert study_text() == study_text()
    assert len(study_text().split()) > 2 * 12 * 128


def test_a_recorded_perplexity_is_read_chunk_by_chunk() -> None:
    folder = need_shared("recordings", "llama_cpp", "tools")
    name = "perplexity_c256_chunks2"
    series = read_perplexity((folder / f"{name}.stdout").read_text(), (folder / f"{name}.stderr").read_text())
    assert series.chunks == ("4.3046", "6.0075")
    assert series.final == 6.0075
    short = "perplexity_too_short"
    empty = read_perplexity((folder / f"{short}.stdout").read_text(), (folder / f"{short}.stderr").read_text())
    assert (empty.chunks, empty.final) == ((), None)


@pytest.mark.parametrize(
    ("text", "found"),
    [("speed: 12.5 tok/s\n", 12.5), ("speed: 1\nspeed: 2\n", 2.0), ("speed: 0\n", None), ("nothing", None)],
)
def test_a_pattern_reads_the_last_number_or_says_that_there_is_none(text: str, found: float | None) -> None:
    result = read_pattern(text, {"pattern": r"speed: ([\d.]+)", "unit": "tok/s"})
    assert (None if isinstance(result, str) else result.value) == found


@pytest.mark.parametrize("pattern", ["(", "no group", "(two) (groups)"])
def test_a_pattern_without_exactly_one_group_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="--pattern"):
        read_pattern("x", {"pattern": pattern})


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_the_real_engine_answers_the_same_with_two_thread_counts(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    from entity_tui.commands.equivalence import study_text_on

    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        path = await study_text_on(bench.transport)
        choices = Choices(**{**SHORT, "n_gen": 12})
        plan = equivalence_plan(bench.ready.setting, choices, path, chunks=6)
        result = await bench.run(plan)
        found = decide(read_answers(plan, result.directory), plan.n_gen)
    assert [control.passed for control in found.controls] == [True, True, True]
    assert found.verdict is Verdict.IDENTICAL
    assert found.chunks == 6
