"""Equivalence: does scheduling change the answer? Greedy text and perplexity of each arm, with three controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmSpec, shipped_arms
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.launches import TEXT_OPTION
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.readings import read_perplexity
from entity_tui.records.run_directory import RunDirectory

EXPERIMENT = "equivalence"
REFERENCE = "auto"
AGAIN, ONE_WORD_MORE, OTHER_CHUNKS = "control_again", "control_word", "control_chunks"
CONTROLS = (AGAIN, ONE_WORD_MORE, OTHER_CHUNKS)
PROMPT = "The three things a person notices first in a new city are"
MORE = " Answer briefly."
CHUNKS, OTHER_COUNT, N_CTX, N_TOKENS = 12, 3, 128, 96
COOLING_S = 60.0


class Verdict(StrEnum):
    """The only words for an arm, and for the whole."""

    IDENTICAL = "identical"
    DIFFERS = "differs"
    BROKEN = "instrument broken"
    MISSING = "not measured"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one arm said: its text byte for byte, and its perplexity by chunk as printed (4 decimals)."""

    text: bytes
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ControlResult:
    """One control: what it has to show, whether it did, and in words what was seen."""

    name: str
    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The lab's outcome. With a broken control nothing is said about any arm."""

    verdict: Verdict
    arms: Mapping[str, Verdict]
    controls: tuple[ControlResult, ...]
    tokens: int
    chunks: int
    sentence: str


def study_text(sentences: int = 260) -> str:
    """A plain text of our own for perplexity, always the same: what it says does not matter, that it is fixed does."""
    who = ("The engineer", "A visitor", "My neighbour", "The pilot", "An old friend", "The gardener", "Somebody")
    did = ("measured", "carried", "described", "repaired", "painted", "counted", "remembered", "explained")
    what = ("the wooden bridge", "seven small boxes", "a letter from the north", "the quiet harbour", "an early train")
    when = ("before noon", "in heavy rain", "for the third time", "without a word", "while the radio played")
    lines = [
        f"{who[index % len(who)]} {did[(index * 3) % len(did)]} {what[(index * 2) % len(what)]} "
        f"{when[(index * 5 + index // 7) % len(when)]}, and wrote down the number {17 * index % 101}."
        for index in range(sentences)
    ]
    return " ".join(lines) + "\n"


def equivalence_plan(
    setting: Setting, choices: Choices, text_path: str, *, tokens: int = N_TOKENS, chunks: int = CHUNKS
) -> Plan:
    """The four arms and the three controls, one cell each. `text_path` is the study text on the device.

    UsageError when the engine has no llama-completion or llama-perplexity.
    """
    engine = setting.engine
    missing = [
        name
        for name, path in (("llama-completion", engine.completion), ("llama-perplexity", engine.perplexity))
        if not path
    ]
    if missing:
        raise UsageError(f"this engine has no {' and no '.join(missing)}", fix="use a whole release of llama.cpp")
    arms = shipped_arms()
    specs: list[ArmSpec] = [
        replace(arms["auto"], label="auto (reference)"),
        arms["threads_only"],
        arms["naive"],
        arms["efficiency"],
        replace(arms["auto"], arm_id=AGAIN, label="the reference again"),
        replace(arms["auto"], arm_id=ONE_WORD_MORE, label="two words added"),
        replace(arms["auto"], arm_id=OTHER_CHUNKS, label="another chunk count"),
    ]
    design = Design(
        experiment=EXPERIMENT,
        title="equivalence: does scheduling change the answer?",
        specs=tuple(specs),
        blocks=1,
        verdicts=False,
        instrument="equivalence",
        warmup=REFERENCE,
        options={
            "prompt": PROMPT,
            "more": MORE,
            "chunks": str(chunks),
            "other_chunks": str(OTHER_COUNT),
            "n_ctx": str(N_CTX),
            TEXT_OPTION: text_path,
        },
    )
    plan = assemble(design, setting, replace(choices, n_prompt=0, n_gen=choices.n_gen or tokens))
    marks = {ONE_WORD_MORE: ("more",), OTHER_CHUNKS: ("chunks",), AGAIN: ("again",)}
    marked = tuple(replace(arm, marks=marks.get(arm.arm_id, ())) for arm in plan.arms)
    return replace(plan, arms=marked, cells=plan.cells[1:])


def read_answers(plan: Plan, run: RunDirectory) -> dict[str, Answer]:
    """Each arm's answer from the run's own raw files; an arm whose cell has no number is left out."""
    found: dict[str, Answer] = {}
    for row in run.rows():
        if row.metric != "perplexity" or not row.arm or not row.raw_ref or row.usability == "void":
            continue
        folder = run.path / row.raw_ref
        series = read_perplexity(
            (folder / "perplexity.out").read_text("utf-8", "replace"),
            (folder / "perplexity.err").read_text("utf-8", "replace"),
        )
        found[row.arm] = Answer((folder / "text.out").read_bytes(), series.chunks)
    return found


def decide(answers: Mapping[str, Answer], tokens: int) -> Equivalence:
    """The verdict: every arm against the reference, if and only if all three controls did their job."""
    reference = answers.get(REFERENCE)
    if reference is None:
        empty = ControlResult("reference", False, "the reference itself gave no answer")
        return Equivalence(Verdict.BROKEN, {}, (empty,), tokens, 0, "Instrument broken: the reference gave no answer.")
    controls = _controls(reference, answers)
    names = [name for name in ("threads_only", "naive", "efficiency") if name in answers]
    arms = {name: _same(answers[name], reference) for name in names}
    chunks = len(reference.chunks)
    broken = [control for control in controls if not control.passed]
    if broken:
        words = "; ".join(control.text for control in broken)
        return Equivalence(Verdict.BROKEN, {}, controls, tokens, chunks, f"Instrument broken: {words}.")
    differing = [name for name, verdict in arms.items() if verdict is Verdict.DIFFERS]
    if differing:
        sentence = f"Differs: {', '.join(differing)} against {REFERENCE}."
        return Equivalence(Verdict.DIFFERS, arms, controls, tokens, chunks, sentence)
    if not arms:
        return Equivalence(Verdict.MISSING, arms, controls, tokens, chunks, "No arm but the reference was measured.")
    sentence = f"Identical over {tokens} tokens and {chunks} chunk values (4 decimals): {', '.join(arms)}."
    return Equivalence(Verdict.IDENTICAL, arms, controls, tokens, chunks, sentence)


def _same(one: Answer, other: Answer) -> Verdict:
    return Verdict.IDENTICAL if one == other else Verdict.DIFFERS


def _controls(reference: Answer, answers: Mapping[str, Answer]) -> tuple[ControlResult, ...]:
    again, more, chunks = (answers.get(name) for name in CONTROLS)
    shared = 0 if chunks is None else min(len(chunks.chunks), len(reference.chunks))
    matches = again == reference
    other_text = more is not None and more.text != reference.text
    other_series = chunks is not None and shared > 0 and chunks.chunks[:shared] != reference.chunks[:shared]
    return (
        ControlResult(AGAIN, matches, f"the same arm twice {'matches' if matches else 'does not match'}"),
        ControlResult(
            ONE_WORD_MORE, other_text, f"other words give {'another text' if other_text else 'the same text, or none'}"
        ),
        ControlResult(
            OTHER_CHUNKS,
            other_series,
            f"another chunk count {'changes' if other_series else 'does not change'} the values of the same chunks",
        ),
    )
