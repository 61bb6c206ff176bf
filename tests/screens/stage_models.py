"""Models and stored runs for staged screens: a counted file, catalog entries, and two runs in a store."""

from __future__ import annotations

from pathlib import Path

from entity_tui.models.catalog import shipped_catalog
from entity_tui.models.census import Census, Coverage, TypeShare
from entity_tui.models.fit import MemoryReading
from entity_tui.models.on_device import ModelFile
from entity_tui.models.predict import Basis, Machine, OwnRun
from entity_tui.models.view import Known, ModelRow, catalog_row, file_row
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Phase, Role, Row
from entity_tui.records.store import RunStore
from tests.screens.stage import NOON, a_facts


def a_census() -> Census:
    """A small llama with tied embeddings: 112 quantised tensors, one output of another type, norms."""
    return Census(
        architecture="llama",
        name="Llama 3.2 1B Instruct",
        size_label="1B",
        version=3,
        big_endian=False,
        parameters=1_236_000_000,
        tensor_count=147,
        data_bytes=762_000_000,
        file_bytes=773_000_000,
        header_bytes=7_800_000,
        read_bytes=1_100_000,
        types=(
            TypeShare("Q4_0", 112, 973_000_000, 547_000_000, 547_000_000.0),
            TypeShare("Q6_K", 1, 262_000_000, 215_000_000, 215_000_000.0),
            TypeShare("F32", 34, 67_000, 268_000, 268_000.0),
        ),
        bits_per_weight=4.9,
        file_type="Q4_0",
        main_type="Q4_0",
        file_type_note="",
        tied=True,
        trained_context=131_072,
        layers=16,
        embedding=2_048,
        feed_forward=8_192,
        heads=32,
        kv_heads=8,
        experts=None,
        experts_used=None,
        kv=None,
        vocabulary=128_256,
        chat_template=None,
        per_token_bytes=762_268_000.0,
        entity_coverage=Coverage("by ENTITY's rule: parameters in Q4_0 and Q8_0, norms left out", 0.76, 0.76, 1.0),
        offenders=(),
        tensors=(),
    )


def model_rows() -> tuple[ModelRow, ...]:
    """One counted file with an own run, and the shipped catalog."""
    file = ModelFile("/data/local/tmp/entity/models/llama-3.2-1b-q4_0.gguf", 773_000_000, "llama-3.2-1b-q4_0.gguf")
    run = OwnRun(file.name, 762_268_000.0, 1.236, "Q4_0", 18.2, 128.0, 3, "optimized, 4 threads, mask f0")
    machine = Machine(13.9, 158.0, Basis.OWN_RUNS, "13.9 GB/s effective, from 1 own run")
    known = Known(a_facts().isa, MemoryReading(3_400_000_000, "12:04:31", 2.0), machine, (run,))
    return (file_row(file, a_census(), known), *(catalog_row(entry, known) for entry in shipped_catalog()[:6]))


def _row(session: str, arm: str, block: int, metric: str, value: float) -> Row:
    phase = Phase.PREFILL if metric == Metric.PROMPT_TOK_S else Phase.DECODE
    return Row(
        session_id=session,
        device_id_hash="d1",
        os_build="OS 15",
        block=block,
        position=1,
        attempt=1,
        arm=arm,
        role=Role.MEASURE,
        metric=metric,
        phase=phase,
        value=value,
        model_name="qwen2.5-0.5b-q8_0.gguf",
        model_quant="Q8_0",
        engine="llama.cpp",
        engine_build="b11434",
        variant_loaded="android_armv8.2_2",
        n_prompt=512,
        n_gen=128,
        threads_requested=8 if arm == "naive" else 4,
        mask_applied="ff" if arm == "naive" else "f0",
        temp_start_c=37.0 + block / 10,
        charging_state="discharging",
    )


def store_two_runs(folder: Path) -> None:
    """A finished bench of two arms over seven blocks, and a simulated one of one block."""
    with RunStore(folder) as store:
        for session, started, simulated, blocks in (
            ("20260822-101302-aaaa", "2026-08-22T10:13:02+00:00", False, 7),
            ("20260821-194000-bbbb", "2026-08-21T19:40:00+00:00", True, 1),
        ):
            rows = [
                _row(session, arm, block, metric, value * (1 + block / 500))
                for block in range(1, blocks + 1)
                for arm, decode, prompt, watts in (("naive", 13.8, 287.0, 3.91), ("optimized", 27.6, 506.0, 3.58))
                for metric, value in (
                    (Metric.DECODE_TOK_S, decode),
                    (Metric.PROMPT_TOK_S, prompt),
                    (Metric.DECODE_POWER_W, watts),
                )
            ]
            info = RunInfo(
                session,
                started,
                state="done",
                device_name="CMF Phone 1" if not simulated else "demo",
                model_name="qwen2.5-0.5b-q8_0.gguf",
                model_quant="Q8_0",
                engine="llama.cpp",
                simulated=simulated,
            )
            if store.count(f"id={session}", now=NOON) == 0:
                store.create(info)
            store.save(info, rows)
