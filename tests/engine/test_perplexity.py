"""Perplexity on a device: the published output is read exactly, and a job outlives the program that started it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from entity_tui.engine.archive import describe_local
from entity_tui.engine.perplexity import PerplexityFailed, PerplexityJob, PerplexityPlan, make_plan, parse_output
from entity_tui.errors import UsageError
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.local import LocalTransport
from tests.fixtures.tools import need_shared, until


@pytest.mark.parametrize(
    ("name", "series", "final", "error"),
    [
        ("perplexity_c256_chunks2", (4.3046, 6.0075), 6.0075, 0.93472),
        ("perplexity_c512", (1.3702, 1.3541, 1.4532, 1.4286), 1.4286, 0.04290),
        ("perplexity_too_short", (), None, None),
        ("perplexity_missing_file", (), None, None),
    ],
)
def test_recorded_outputs_are_read_exactly(
    name: str, series: tuple[float, ...], final: float | None, error: float | None
) -> None:
    folder = need_shared("recordings", "llama_cpp", "tools")
    out, err = ((folder / f"{name}.{kind}").read_text(errors="replace") for kind in ("stdout", "stderr"))
    assert parse_output(out, err) == (series, final, error)


def test_a_series_with_a_hole_or_a_nan_ends_there() -> None:
    assert parse_output("[1]3.0,[3]4.0,", "")[0] == (3.0,)
    assert parse_output("[1]3.0,[2]nan,[3]4.0,", "")[0] == (3.0,)
    assert parse_output("[1]3.0,[2]4.", "")[0] == (3.0,)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Enough English for four chunks of 64 tokens."""
    path = tmp_path / "text.txt"
    sentence = (
        "The quick brown fox jumps over the lazy dog, and number {} of these sentences is as long as the others. "
    )
    path.write_text("".join(sentence.format(number) for number in range(60)))
    return path


def plan_for(x86_engine: Path, smollm2: Path, text: Path, *, chunks: int = 3, context: int = 64) -> PerplexityPlan:
    model = ModelFile(str(smollm2), smollm2.stat().st_size, smollm2.name)
    return make_plan(describe_local(x86_engine), model, text, chunks=chunks, context_tokens=context, threads=1)


async def test_a_real_job_gives_a_series_and_is_picked_up_by_the_next_start(
    x86_engine: Path, smollm2: Path, text: Path, tmp_path: Path
) -> None:
    plan = plan_for(x86_engine, smollm2, text)
    seen: list[int] = []
    async with LocalTransport(str(tmp_path / "root")) as local:
        job = PerplexityJob(local, plan)
        first = asyncio.create_task(job.run(text))
        await until((tmp_path / "root" / "perplexity" / plan.key / "state").exists)
        first.cancel()  # the laptop's program ends; the job does not
        with pytest.raises(asyncio.CancelledError):
            await first
        result = await PerplexityJob(local, plan).run(text, on_chunk=lambda number, value: seen.append(number))
        assert result.attached
        await job.remove()
    assert seen == [1, 2, 3]
    assert len(result.series) == 3
    assert result.final == pytest.approx(result.series[-1], abs=1e-3)
    assert result.variant in describe_local(x86_engine).variants
    assert not (tmp_path / "root" / "perplexity" / plan.key).exists()


async def test_a_text_that_is_too_short_is_said_although_the_program_ends_with_0(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    short = tmp_path / "short.txt"
    short.write_text("too short")
    plan = plan_for(x86_engine, smollm2, short)
    async with LocalTransport(str(tmp_path / "root")) as local:
        with pytest.raises(PerplexityFailed, match="too short") as raised:
            await PerplexityJob(local, plan).run(short)
    assert "128 are needed" in raised.value.detail


def test_an_engine_without_the_program_says_so(arm_engine: Path, smollm2: Path, text: Path) -> None:
    with pytest.raises(UsageError, match="no llama-perplexity"):
        plan_for(arm_engine, smollm2, text)


def test_another_text_or_thread_count_is_another_job(x86_engine: Path, smollm2: Path, text: Path) -> None:
    first = plan_for(x86_engine, smollm2, text)
    text.write_text(text.read_text() + "x")
    assert plan_for(x86_engine, smollm2, text).key != first.key
