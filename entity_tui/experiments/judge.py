"""Judges one launch: the runner's word, the engine's report and the kernel's readback against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from entity_tui.engine.bench_output import OK, BenchResult, parse_bench
from entity_tui.engine.log_lines import EngineLog, classify, parse_log
from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.experiments.launches import PERPLEXITY
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.readings import Measure, read_pattern, read_perplexity
from entity_tui.experiments.server_bench import ANSWER, INSTRUMENT, WARMUP_GENERATE, WARMUP_PROMPT, read_answer
from entity_tui.experiments.states import exit_states
from entity_tui.records.journal_events import LaunchEnd
from entity_tui.records.schema import Phase, Role

TEXT = "utf-8"
ISA_LADDER = "isa-ladder"
NO_BACKEND = "CPU backend is not loaded"
"""What llama-bench says when the one variant in its folder is not for this CPU."""


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """One launch, judged: its state, and its result when there is a number to take."""

    state: str
    detail: str = ""
    result: BenchResult | None = None
    log: EngineLog = field(default_factory=EngineLog)
    measure: Measure | None = None
    """The number of a program that is not llama-bench."""


def _text(files: Mapping[str, bytes], name: str) -> str:
    return files.get(name, b"").decode(TEXT, "replace")


def judge_launch(plan: Plan, arm: Arm, launch: LaunchEnd, files: Mapping[str, bytes], role: str) -> PhaseResult:
    """The state of one launch, and its number only when it ended well, says one whole thing, and what was asked for."""
    stderr = _text(files, f"{launch.phase}.err")
    log = parse_log(stderr)
    if plan.experiment == ISA_LADDER and NO_BACKEND in stderr:
        return PhaseResult("skipped_incapable", "this CPU lacks what the variant needs", None, log)
    if launch.exit_code != 0 and launch.state in ("", OK, "workload_error"):
        found, detail = classify(launch.exit_code, stderr, exit_states())
        return PhaseResult(found, detail, None, log)
    if launch.state not in ("", OK):
        detail = launch.detail or classify(launch.exit_code, stderr, exit_states())[1]
        return PhaseResult(launch.state, detail, None, log)
    if launch.mask_ok is False:
        return PhaseResult("affinity_mismatch", _mask_words(launch), None, log)
    if plan.instrument != "llama-bench" or launch.phase == PERPLEXITY:
        return _other(plan, launch, files, log, role)
    output = parse_bench(_text(files, f"{launch.phase}.out"))
    if output.state != OK:
        return PhaseResult(output.state, output.detail, None, log)
    wanted = _wanted(plan, launch.phase, role)
    problem = _mismatch(output.results, wanted, setting_of(arm, launch.phase))
    if problem:
        return PhaseResult("config_mismatch", problem, None, log)
    if _left_the_cpu(arm, output.results[0]):
        return PhaseResult("config_mismatch", "the engine used a GPU where the arm asks for the CPU", None, log)
    return PhaseResult(OK, "", output.results[0], log)


def _left_the_cpu(arm: Arm, result: BenchResult) -> bool:
    """A CPU arm has to prove that it is one: `-dev none` must come back in the engine's own report."""
    flags = list(arm.flags)
    asked = "-dev" in flags and flags[flags.index("-dev") + 1 :][:1] == ["none"]
    return asked and result.devices not in ("", "none")


def _other(plan: Plan, launch: LaunchEnd, files: Mapping[str, bytes], log: EngineLog, role: str) -> PhaseResult:
    """A launch of a program that is not llama-bench: a server's answer, a pattern's number, a text, a perplexity."""
    if plan.instrument == INSTRUMENT:
        answer = read_answer(plan, launch.phase, role, files.get(f"{launch.phase}.{ANSWER}", b""))
        if isinstance(answer, tuple):
            return PhaseResult(*answer, None, log)
        return PhaseResult(OK, "", None, log, answer)
    stdout, stderr = _text(files, f"{launch.phase}.out"), _text(files, f"{launch.phase}.err")
    if plan.instrument == "command":
        found = read_pattern(stdout + stderr, plan.options or {})
        if isinstance(found, str):
            return PhaseResult("output_malformed", found, None, log)
        return PhaseResult(OK, "", None, log, found)
    if launch.phase == "text":
        if not stdout:
            return PhaseResult("output_malformed", "no text", None, log)
        return PhaseResult(OK, "", None, log, Measure("text_bytes", float(len(stdout.encode())), "bytes"))
    series = read_perplexity(stdout, stderr)
    if not series.chunks or series.final is None:
        return PhaseResult("output_malformed", "no perplexity in the output", None, log)
    return PhaseResult(OK, "", None, log, Measure("perplexity", series.final, "", "lower", len(series.chunks)))


def setting_of(arm: Arm, phase: str) -> PhaseSetting:
    """The threads and mask the arm asks for in a phase; anything that is not the prompt runs as decode."""
    return arm.prefill if phase == Phase.PREFILL else arm.decode


def _wanted(plan: Plan, phase: str, role: str) -> tuple[int, int]:
    prompt, generate = plan.n_prompt, plan.n_gen
    if role == Role.WARMUP:
        prompt, generate = min(prompt, WARMUP_PROMPT), min(generate, WARMUP_GENERATE)
    return (prompt, 0) if phase == Phase.PREFILL else (0, generate)


def _mismatch(results: tuple[BenchResult, ...], wanted: tuple[int, int], setting: PhaseSetting) -> str:
    if len(results) != 1:
        return f"{len(results)} tests in the output, one was asked for"
    result = results[0]
    if (result.n_prompt, result.n_gen) != wanted:
        return f"the engine ran pp{result.n_prompt} tg{result.n_gen}, asked for pp{wanted[0]} tg{wanted[1]}"
    if result.n_threads is not None and result.n_threads != setting.threads:
        return f"the engine ran {result.n_threads} threads, asked for {setting.threads}"
    return ""


def _mask_words(launch: LaunchEnd) -> str:
    applied = launch.mask_applied or "different masks on different threads"
    return f"asked for mask {launch.mask_requested}, the kernel ran {applied}"
