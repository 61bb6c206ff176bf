"""A short run of a small model on the device: one bandwidth and one compute reading, where no record exists."""

from __future__ import annotations

from entity_tui.device.topology import Topology
from entity_tui.engine.bench_output import parse_bench
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.command_lines import bench_argv, engine_env, launched
from entity_tui.errors import EntityError, Where
from entity_tui.models.census import Census
from entity_tui.models.on_device import ModelFile
from entity_tui.models.predict import OwnRun
from entity_tui.silicon.widths import widths
from entity_tui.transport.base import Completed, Transport

PROMPT_TOKENS = 64
GENERATED_TOKENS = 32
REPETITIONS = 3
_TIMEOUT_S = 300.0


class ProbeFailed(EntityError):
    """The engine did not give the two numbers; its own words are in the detail."""

    where = Where.WORKLOAD


async def speed_probe(
    transport: Transport, engine: EngineBuild, model: ModelFile, counted: Census, topology: Topology
) -> OwnRun:
    """Run the model with the derived widths, each phase pinned to its own CPUs, and take the best repetition.

    A few seconds on a phone; nothing is cooled or gated, so it is a reading and not a result. Raises ProbeFailed or
    the link's errors.
    """
    program = engine.program("llama-bench")
    if program is None:
        raise ProbeFailed("This engine has no llama-bench.", detail=engine.directory)
    found = widths(topology)
    prompt = await _phase(transport, engine, program, model, found.prefill, found.prefill_mask, prompt=True)
    decode = await _phase(transport, engine, program, model, found.decode, found.decode_mask, prompt=False)
    return OwnRun(
        model=model.name,
        bytes_per_token=counted.per_token_bytes,
        params_b=counted.parameters / 1e9,
        quant=counted.main_type,
        decode_tok_s=decode,
        prefill_tok_s=prompt,
        runs=REPETITIONS,
        settings=f"probe, {found.decode} threads decode, {found.prefill} prompt, pinned",
        simulated=transport.simulated,
    )


async def _phase(
    transport: Transport,
    engine: EngineBuild,
    program: str,
    model: ModelFile,
    threads: int,
    mask: str,
    *,
    prompt: bool,
) -> float:
    argv = bench_argv(
        program,
        model.path,
        n_prompt=PROMPT_TOKENS if prompt else 0,
        n_gen=0 if prompt else GENERATED_TOKENS,
        threads=threads,
        repetitions=REPETITIONS,
    )
    done = await transport.run(launched(argv, engine_env(engine.directory), mask), timeout_s=_TIMEOUT_S)
    return _best_rate(done, prompt=prompt)


def _best_rate(done: Completed, *, prompt: bool) -> float:
    output = parse_bench(done.text)
    if not done.ok or output.state != "ok":
        raise ProbeFailed(
            "The probe gave no result.",
            detail=f"{output.state}, exit {done.exit_code}: {done.error_text.strip()[-300:]}",
            fix="entity-tui engine check says whether the engine runs here.",
        )
    rates = [
        rate
        for result in output.results
        if bool(result.n_prompt) == prompt
        for rate in (result.rates_tok_s or (result.rate_tok_s or 0.0,))
    ]
    if not rates or max(rates) <= 0:
        raise ProbeFailed("The probe gave no usable number.", detail=done.text[:300])
    return max(rates)
