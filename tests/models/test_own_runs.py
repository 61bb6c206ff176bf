"""A device's own results are found in the record: its own, usable, the best arm of each model."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.engine.model_rows import known_of, machine_for, own_runs
from entity_tui.experiments.context import device_id_hash
from entity_tui.experiments.probe import probe
from entity_tui.model_survey import memory_now, survey
from entity_tui.models.census import Census, census
from entity_tui.models.header import read_header
from entity_tui.models.predict import Basis
from entity_tui.records.places import open_store
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row, Usability
from entity_tui.transport.local import LocalTransport
from tests.models.gguf_text import llama_like, reader

MINE = "0123456789abcdef"


def tiny_census() -> Census:
    data = llama_like().bytes()
    return census(read_header(reader(data), len(data)))


def row(arm: str, metric: str, value: float | None, **changes: object) -> Row:
    base: dict[str, object] = {
        "session_id": "s",
        "arm": arm,
        "role": Role.MEASURE,
        "metric": metric,
        "value": value,
        "model_name": "tiny.gguf",
        "device_id_hash": MINE,
        "threads_requested": 4,
        "mask_applied": "f0",
    }
    return Row(**{**base, **changes})  # type: ignore[arg-type]


ROWS = [
    *(row("naive", Metric.DECODE_TOK_S, value) for value in (8.0, 9.0, 8.5)),
    *(row("optimized", Metric.DECODE_TOK_S, value) for value in (17.0, 18.0, 19.0)),
    *(row("optimized", Metric.PROMPT_TOK_S, value) for value in (120.0, 130.0, 125.0)),
    row("optimized", Metric.DECODE_TOK_S, 99.0, role=Role.WARMUP),
    row("optimized", Metric.DECODE_TOK_S, 99.0, usability=Usability.VOID),
    row("optimized", Metric.DECODE_TOK_S, 99.0, device_id_hash="another"),
    row("optimized", Metric.DECODE_TOK_S, 99.0, model_name="unknown.gguf"),
    row("optimized", Metric.DECODE_POWER_W, 3.5),
    row("optimized", Metric.OUTCOME, None),
]


def test_the_best_arm_of_each_model_by_its_median() -> None:
    (run,) = own_runs(ROWS, {"tiny.gguf": tiny_census()}, device_id_hash=MINE)
    assert (run.model, run.decode_tok_s, run.prefill_tok_s, run.runs) == ("tiny.gguf", 18.0, 125.0, 3)
    assert run.settings == "optimized, 4 threads, mask f0"
    assert run.bytes_per_token == tiny_census().per_token_bytes


def test_a_model_whose_header_is_not_known_scales_nothing() -> None:
    assert own_runs(ROWS, {}, device_id_hash=MINE) == ()


def test_own_runs_come_before_the_chip_and_nothing_comes_from_nothing() -> None:
    runs = own_runs(ROWS, {"tiny.gguf": tiny_census()})
    known = known_of(None, runs)
    assert known.machine is not None
    assert known.machine.basis is Basis.OWN_RUNS
    assert known_of(None).machine is None
    assert machine_for(None) is None


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTITY_TUI_DATA", str(tmp_path / "data"))
    (tmp_path / "root" / "models").mkdir(parents=True)
    (tmp_path / "root" / "models" / "tiny.gguf").write_bytes(llama_like().bytes())
    return tmp_path


async def test_a_stored_run_of_this_device_stands_beside_its_model(places: Path) -> None:
    async with LocalTransport(str(places / "root")) as local:
        snapshot = await probe(local)
        mine = device_id_hash(snapshot, read_facts(snapshot))
        with open_store() as store:
            for name, device, simulated in (("a", mine, False), ("b", "another", False), ("c", mine, True)):
                speed = {"a": 20.0, "b": 99.0, "c": 98.0}[name]
                rows = [
                    row("optimized", metric, value, session_id=name, device_id_hash=device, simulated=simulated)
                    for metric, value in ((Metric.DECODE_TOK_S, speed), (Metric.PROMPT_TOK_S, 100.0))
                ]
                info = RunInfo(
                    name,
                    "2026-08-22T10:00:00+00:00",
                    state="done",
                    model_name="tiny.gguf",
                    device_id_hash=device,
                    simulated=simulated,
                )
                store.save(info, rows)
        found = next(r for r in await survey(local, (), snapshot=snapshot) if r.file_name == "tiny.gguf")
    assert found.measured is not None
    assert found.measured.decode_tok_s == 20.0
    assert found.prediction is not None
    assert found.prediction.basis is Basis.OWN_RUNS


async def test_free_memory_is_asked_anew_with_its_time(places: Path) -> None:
    async with LocalTransport(str(places / "root")) as local:
        snapshot = await probe(local)
        memory = await memory_now(local, snapshot)
    assert memory.available_bytes
    assert memory.age_s == 0.0
    assert memory.taken_at.endswith("Z")
