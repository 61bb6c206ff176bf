"""What one cell of an experiment launches: the arm's phases as command lines with their masks and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entity_tui.engine.command_lines import bench_argv, completion_argv, engine_env, perplexity_argv
from entity_tui.engine.server_plan import ServerPlan, server_argv
from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.experiments.counter_rows import counted
from entity_tui.experiments.flatplan import Launch
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.server_bench import (
    INSTRUMENT,
    RUN_FOLDER,
    SPARE_TOKENS,
    WARMUP_GENERATE,
    WARMUP_PROMPT,
    asked_tokens,
)
from entity_tui.records.schema import Phase
from entity_tui.silicon.masks import format_mask

PERPLEXITY = "perplexity"
TEXT_OPTION = "text"
"""The plan's option that names a text file on the device to read perplexity over."""


def mask_text(mask: frozenset[int] | None) -> str | None:
    """The mask as taskset wants it, bare hex; None when the arm sets none."""
    return None if mask is None else format_mask(mask)


def engine_folder(plan: Plan, arm: Arm) -> str:
    """The folder of the arm's own engine, when it names one, else of the plan's."""
    return arm.engine_dir or plan.engine.directory


def engine_program(plan: Plan, arm: Arm, name: str, shared: str) -> str:
    """A program of the arm's own engine; `shared` is the plan's own."""
    return f"{arm.engine_dir.rstrip('/')}/{name}" if arm.engine_dir else shared


def engine_launch(plan: Plan, arm: Arm, phase: str, setting: PhaseSetting, argv: tuple[str, ...]) -> Launch:
    """One start of a program of the arm's engine, pinned by taskset to the setting's mask."""
    folder = engine_folder(plan, arm)
    return Launch(
        phase=phase,
        argv=argv,
        threads=setting.threads,
        mask=mask_text(setting.mask),
        env=engine_env(folder, arm.env),
        wall_limit_s=plan.limits.launch_s,
        directory=folder,
    )


def bench_launch(
    plan: Plan, arm: Arm, phase: str, setting: PhaseSetting, *, n_prompt: int, n_gen: int, repetitions: int = 1
) -> Launch:
    """One llama-bench launch of one phase."""
    argv = bench_argv(
        engine_program(plan, arm, "llama-bench", plan.engine.bench),
        arm.model_path or plan.model.path,
        n_prompt=n_prompt,
        n_gen=n_gen,
        threads=setting.threads,
        repetitions=repetitions,
        n_depth=plan.n_depth if phase == Phase.DECODE else 0,
        load_mode=plan.load_mode,
        flags=arm.flags,
    )
    return engine_launch(plan, arm, phase, setting, counted(argv, plan.options))


def command_launch(plan: Plan, arm: Arm) -> Launch:
    """A foreign engine's own command line; `{model}`, `{threads}` and `{mask}` in it are filled in."""
    words = {
        "model": arm.model_path or plan.model.path,
        "threads": str(arm.decode.threads),
        "mask": mask_text(arm.decode.mask) or "",
    }
    argv = tuple(_fill(word, words) for word in arm.command)
    return Launch(
        phase=Phase.DECODE,
        argv=argv,
        threads=arm.decode.threads,
        mask=mask_text(arm.decode.mask),
        env=tuple(sorted(arm.env.items())),
        wall_limit_s=plan.limits.launch_s,
    )


def _fill(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def cell_launches(plan: Plan, arm: Arm, role: str) -> tuple[Launch, ...]:
    """The launches of one cell, in order: prefill, then decode; the warm-up is a short one of both.

    A phase whose token count is 0 is left out; an arm with a command of its own is one launch.
    """
    if arm.command:
        return (command_launch(plan, arm),)
    if plan.instrument == "equivalence":
        return equivalence_launches(plan, arm)
    if plan.instrument == INSTRUMENT:
        return server_launches(plan, arm, role)
    if plan.experiment == "sustained" and role != "warmup":
        return sustained_launches(plan, arm)
    if role == "warmup":
        prompt, generate, repetitions = min(WARMUP_PROMPT, plan.n_prompt), min(WARMUP_GENERATE, plan.n_gen), 1
    else:
        prompt, generate, repetitions = plan.n_prompt, plan.n_gen, plan.repetitions
    found: list[Launch] = []
    if prompt:
        found.append(
            bench_launch(plan, arm, Phase.PREFILL, arm.prefill, n_prompt=prompt, n_gen=0, repetitions=repetitions)
        )
    if generate:
        found.append(
            bench_launch(plan, arm, Phase.DECODE, arm.decode, n_prompt=0, n_gen=generate, repetitions=repetitions)
        )
    if TEXT_OPTION in (plan.options or {}):
        found.append(perplexity_launch(plan, arm, int((plan.options or {})["chunks"])))
    return tuple(found)


def perplexity_launch(plan: Plan, arm: Arm, chunks: int) -> Launch:
    """llama-perplexity over the plan's text on the device, with the arm's decode threads and mask."""
    options = plan.options or {}
    argv = perplexity_argv(
        engine_program(plan, arm, "llama-perplexity", plan.engine.perplexity),
        arm.model_path or plan.model.path,
        options[TEXT_OPTION],
        chunks=chunks,
        threads=arm.decode.threads,
        n_ctx=int(options["n_ctx"]),
        flags=arm.flags,
    )
    return engine_launch(plan, arm, PERPLEXITY, arm.decode, argv)


def server_launches(plan: Plan, arm: Arm, role: str) -> tuple[Launch, ...]:
    """Prefill, then decode, each on a server of its own with the phase's widths and mask."""
    found = []
    if plan.n_prompt:
        found.append(_server_launch(plan, arm, Phase.PREFILL, arm.prefill, role))
    if plan.n_gen:
        found.append(_server_launch(plan, arm, Phase.DECODE, arm.decode, role))
    return tuple(found)


def _server_launch(plan: Plan, arm: Arm, phase: str, setting: PhaseSetting, role: str) -> Launch:
    prompt, generate = asked_tokens(plan, phase, role)
    server = ServerPlan(
        executable=engine_program(plan, arm, "llama-server", plan.engine.server),
        engine=f"{plan.engine.name} {arm.engine_build or plan.engine.build}",
        model_path=arm.model_path or plan.model.path,
        model_size_bytes=plan.model.size_bytes,
        context_tokens=prompt + generate + SPARE_TOKENS,
        decode_threads=setting.threads,
        prefill_threads=setting.threads,
        load_mode=plan.load_mode or "auto",
        cpu_only=False,  # the arm's own flags say so where it matters
        extra=arm.flags,
    )
    argv = server_argv(server, folder=RUN_FOLDER)
    return engine_launch(plan, arm, phase, setting, tuple(argv[argv.index(server.executable) :]))


def sustained_launches(plan: Plan, arm: Arm) -> tuple[Launch, ...]:
    """Decode launches back to back for as long as the plan says: only the time to load the model lies between them."""
    count = int((plan.options or {}).get("launches", "1"))
    whole = bench_launch(
        plan, arm, Phase.DECODE, arm.decode, n_prompt=0, n_gen=plan.n_gen, repetitions=plan.repetitions
    )
    return tuple(replace(whole, phase=f"decode_{number:03d}") for number in range(1, count + 1))


def equivalence_launches(plan: Plan, arm: Arm) -> tuple[Launch, ...]:
    """Greedy text, then perplexity over a text file on the device, both with the arm's threads and mask."""
    options = plan.options or {}
    prompt = options["prompt"] + (options["more"] if "more" in arm.marks else "")
    chunks = int(options["other_chunks" if "chunks" in arm.marks else "chunks"])
    series = perplexity_launch(plan, arm, chunks)
    text = completion_argv(
        plan.engine.completion,
        arm.model_path or plan.model.path,
        prompt,
        n_gen=plan.n_gen,
        threads=arm.decode.threads,
        flags=arm.flags,
    )
    return (replace(series, phase="text", argv=text), series)


def command_lines(launches: Sequence[Launch]) -> tuple[str, ...]:
    """Each launch as a line for a shell, for logs and `--dry-run`."""
    from entity_tui.engine.command_lines import shell_line

    return tuple(shell_line(item.argv, mask=item.mask or "", env=item.env) for item in launches)
