"""llama-bench tables as people paste them, and the seeds' numbers that rest on such tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entity_tui.errors import UsageError
from entity_tui.records.importing import read_foreign
from entity_tui.records.llama_bench_md import looks_like_markdown, read_llama_bench_md
from entity_tui.records.schema import Metric, Row
from tests.fixtures.tools import need_shared
from tests.records.littletai_data import translate

TABLE = """noise before
| model         |       size | threads | test   |            t/s |
| ------------- | ---------: | ------: | -----: | -------------: |
| llama 1B Q4_0 | 727.75 MiB |       4 | pp512  | 151.62 ± 0.19  |
| llama 1B Q4_0 | 727.75 MiB |       4 | tg128 @ d512 | 18.50 ± 0.16 |
| llama 1B Q4_0 | 727.75 MiB |       4 | pp512+tg128 | 60.0 |

build: e700bfb (1)
"""


@pytest.fixture(scope="module")
def entity() -> Path:
    return need_shared("seed_data", "entity")


@pytest.fixture(scope="module")
def golden(entity: Path) -> dict[str, Any]:
    return {entry["id"]: entry["recomputed"] for entry in json.loads((entity / "golden.json").read_text())}


def rates(path: Path, metric: Metric) -> dict[str, float]:
    (found,) = read_foreign(path, translate)
    return {row.arm or "": row.value or 0.0 for row in found.rows if row.metric == metric}


def only(path: Path, metric: Metric) -> float:
    (value,) = rates(path, metric).values()
    return value


def test_a_pasted_table_is_read_with_what_it_says() -> None:
    rows: tuple[Row, ...] = read_llama_bench_md(TABLE).rows
    assert [(row.phase, row.value, row.n_prompt, row.n_gen, row.n_depth) for row in rows] == [
        ("prefill", 151.62, 512, 0, 0),
        ("decode", 18.5, 0, 128, 512),
        ("cell", 60.0, 512, 128, 0),
    ]
    assert {row.threads_requested for row in rows} == {4}
    assert rows[0].model_quant == "Q4_0"
    assert rows[0].engine_build == "b1 (e700bfb)"
    assert "± 0.19 as printed" in (rows[0].state_detail or "")
    assert all(row.usability == "tainted" and row.block is None for row in rows)


@pytest.mark.parametrize(
    "text", ["", "| a | b |\n|---|---|\n| 1 | 2 |\n", "| model | t/s |\n| --- | --- |\n| x | fast |\n"]
)
def test_another_table_is_no_result(text: str) -> None:
    with pytest.raises(UsageError):
        read_llama_bench_md(text)


def test_the_recorded_markdown_output_is_recognised() -> None:
    text = need_shared("recordings", "llama_cpp", "bench", "md_p64_n16.stdout").read_text()
    assert looks_like_markdown(text)
    assert len(read_llama_bench_md(text).rows) >= 2


def test_what_dotprod_and_fp16_are_worth(entity: Path, golden: dict[str, Any]) -> None:
    folder = entity / "quant_lab" / "isa_dispatch"
    base, dotprod = folder / "android_armv8.0_1.txt", folder / "android_armv8.2_1.txt"
    decode = only(dotprod, Metric.DECODE_TOK_S) / only(base, Metric.DECODE_TOK_S)
    prompt = only(dotprod, Metric.PROMPT_TOK_S) / only(base, Metric.PROMPT_TOK_S)
    assert 100 * (decode - 1) == pytest.approx(golden["isa.dotprod_decode_pct"], abs=1e-3)
    assert prompt == pytest.approx(golden["isa.dotprod_prompt_x"], abs=1e-3)


def test_kleidiai_on_and_off_in_one_log(entity: Path, golden: dict[str, Any]) -> None:
    found = rates(entity / "proof_logs" / "bench_kleidiai.log", Metric.PROMPT_TOK_S)
    on, off = found["KLEIDIAI ON t4"], found["BASELINE KleidiAI OFF t4"]
    assert 100 * (on / off - 1) == pytest.approx(golden["kleidi.on_off_prompt_4t_pct"], abs=1e-3)


def test_the_best_width_of_the_thread_sweep(entity: Path, golden: dict[str, Any]) -> None:
    found = rates(entity / "proof_logs" / "bench_threads.log", Metric.DECODE_TOK_S)
    assert max(found, key=lambda arm: found[arm]) == f"t{golden['threads.cli_best_decode_width']}"
