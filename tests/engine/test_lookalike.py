"""This computer's own engine answers like llama-bench and llama-server, with real measurements."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from entity_tui.engine.build import EngineBuild
from entity_tui.engine.known_answer import ask_known_answer
from entity_tui.engine.local import available, ensure_lookalikes
from entity_tui.engine.lookalike import FlagError, parse_flags, parse_hex_mask
from entity_tui.engine.lookalike_bench import DEFAULTS, FLAGS, plan_tests
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.local import LocalTransport
from tests.fixtures.tools import missing


@pytest.fixture
def lookalikes(tmp_path: Path) -> EngineBuild:
    if not available():
        missing("xllamacpp is not installed")
    return ensure_lookalikes(tmp_path / "engines")


async def bench(local: LocalTransport, engine: EngineBuild, *flags: str) -> tuple[int, list[dict[str, object]], str]:
    program = engine.program("llama-bench")
    assert program is not None
    done = await local.run([program, *flags], timeout_s=110)
    return done.exit_code, [json.loads(line) for line in done.text.splitlines()], done.error_text


async def test_a_bench_prints_one_line_per_test_with_its_repetitions(
    lookalikes: EngineBuild, smollm2: Path, tmp_path: Path
) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        code, lines, words = await bench(
            local,
            lookalikes,
            "-m",
            str(smollm2),
            "-p",
            "16",
            "-n",
            "4",
            "-r",
            "2",
            "-t",
            "1",
            "-o",
            "jsonl",
            "--progress",
        )
    assert code == 0, words
    assert [(line["n_prompt"], line["n_gen"]) for line in lines] == [(16, 0), (0, 4)]
    for line in lines:
        rates = line["samples_ts"]
        assert isinstance(rates, list)
        assert len(rates) == 2
        assert all(rate > 1 for rate in rates)
        assert line["model_n_params"] == 134_515_008
        assert line["n_threads"] == 1
    assert "benchmark 2/2: generation run 2/2" in words
    assert "load_backend: loaded CPU backend" not in words, "the package does not say which variant it loads"


async def test_failures_have_llama_bench_words_and_status(lookalikes: EngineBuild, tmp_path: Path) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        absent = await bench(local, lookalikes, "-m", "/no/model.gguf")
        unknown = await bench(local, lookalikes, "--bogus")
    assert absent[0] == unknown[0] == 1
    assert "failed to open GGUF file '/no/model.gguf' (No such file or directory)" in absent[2]
    assert "error: invalid parameter for argument: --bogus" in unknown[2]


async def test_the_server_gives_a_known_answer_and_leaves_nothing_behind(
    lookalikes: EngineBuild, smollm2: Path, tmp_path: Path
) -> None:
    model = ModelFile(str(smollm2), smollm2.stat().st_size, smollm2.name)
    async with LocalTransport(str(tmp_path / "root")) as local:
        answer = await ask_known_answer(local, lookalikes, model)
    assert answer.right, answer.text
    assert not (tmp_path / "root" / "check").exists()


async def test_a_server_ends_with_0_on_sigterm(lookalikes: EngineBuild, smollm2: Path, tmp_path: Path) -> None:
    program = lookalikes.program("llama-server")
    assert program is not None
    process = await asyncio.create_subprocess_exec(
        program, "-m", str(smollm2), "--port", "0", "-c", "64", stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    while b"listening on http://127.0.0.1:" not in (line := await process.stderr.readline()):
        assert line, "the server ended before it listened"
    process.terminate()
    await process.stderr.read()
    assert await process.wait() == 0


def test_writing_the_programs_again_changes_nothing(lookalikes: EngineBuild, tmp_path: Path) -> None:
    program = Path(lookalikes.executables["llama-bench"])
    before = program.stat().st_mtime_ns
    assert ensure_lookalikes(tmp_path / "engines") == lookalikes
    assert program.stat().st_mtime_ns == before


def test_tests_come_in_llama_bench_order() -> None:
    values = parse_flags(["-p", "8,16", "-n", "4", "-d", "0,32", "-t", "1,2"], FLAGS, DEFAULTS)
    assert [(t.threads, t.n_depth, t.n_prompt, t.n_gen) for t in plan_tests(values)][:4] == [
        (1, 0, 8, 0),
        (1, 0, 16, 0),
        (1, 0, 0, 4),
        (1, 32, 8, 0),
    ]
    assert len(plan_tests(values)) == 12


def test_masks_are_hexadecimal_with_or_without_a_prefix() -> None:
    assert parse_hex_mask("0xf0") == parse_hex_mask("f0") == {4, 5, 6, 7}
    assert parse_hex_mask("0x0") == frozenset()
    for bad in ("zz", "-1", "f" * 200):
        with pytest.raises(FlagError):
            parse_hex_mask(bad)
