"""The ISA ladder: every shipped variant alone, on real arm64 programs over a real adb server."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.commands.equivalence import study_text_on
from entity_tui.device.isa import IsaFeatures, from_names
from entity_tui.experiments.build import Choices
from entity_tui.experiments.isa_ladder import Rung, RungResult, climb, ladder_plan, predictions, stage
from entity_tui.experiments.rebuild import rows_of_cell
from entity_tui.experiments.recorded import rows_of_record
from entity_tui.transport.adb_server import AdbServer
from tests.experiments.bed import bench_line, cell, context, four_plus_four, launch, setting
from tests.experiments.live_bed import SHORT, on_phone, on_this_computer
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import need_shared, need_tool


def test_a_refused_variant_is_not_supported_and_a_missing_library_could_not_start() -> None:
    engine = replace(setting(four_plus_four()).engine, variants=("android_armv8.0_1", "android_armv9.0_1", "broken"))
    phone = replace(setting(four_plus_four()), engine=engine)
    plan = ladder_plan(phone, Choices(seed=1, n_prompt=0, n_gen=8, blocks=1), "/l")
    loaded = b"load_backend: loaded CPU backend from /l/android_armv8.0_1/libggml-cpu-android_armv8.0_1.so\n"
    good = {"decode.out": bench_line(n_gen=8, threads=4), "decode.err": loaded}
    refused = {"decode.err": b"llama_bench: error: CPU backend is not loaded\n"}
    unlinked = {"decode.err": b'CANNOT LINK EXECUTABLE "./llama-bench": library "libomp.so" not found\n'}
    died = launch("decode", state="workload_error", code=1)
    rows = (
        *rows_of_cell(context(plan), cell("android_armv8.0_1", launch("decode")), good),
        *rows_of_cell(context(plan), cell("android_armv9.0_1", died, state="workload_error"), refused),
        *rows_of_cell(context(plan), cell("broken", died, state="library_missing"), unlinked),
    )
    assert [rung.outcome for rung in climb(plan, rows, phone.facts)] == [
        Rung.MEASURED,
        Rung.NOT_SUPPORTED,
        Rung.COULD_NOT_START,
    ]


def test_each_rung_is_predicted_from_the_features_of_this_cpu() -> None:
    names = frozenset({"asimd", "asimddp", "fphp", "asimdhp"})
    isa = IsaFeatures(architecture="arm64", **from_names(names))  # type: ignore[arg-type]
    phone = setting(four_plus_four())
    shipped = ("android_armv8.0_1", "android_armv8.2_2", "android_armv8.6_1")
    engine = replace(phone.engine, variants=shipped, variant_list="android")
    found = predictions(replace(phone.facts, isa=isa), engine)
    assert dict(found) == {"android_armv8.0_1": True, "android_armv8.2_2": True, "android_armv8.6_1": False}
    assert set(predictions(phone.facts, replace(engine, variant_list="unknown")).values()) == {None}


@pytest.mark.parametrize(
    ("outcome", "loaded", "predicted", "words"),
    [
        (Rung.MEASURED, "other", True, "the loader took other"),
        (Rung.MEASURED, "v", False, "does not report what it needs"),
        (Rung.NOT_SUPPORTED, "", True, "the loader refuses it"),
        (Rung.MEASURED, "v", True, ""),
        (Rung.COULD_NOT_START, "", True, ""),
    ],
)
def test_a_rung_that_contradicts_the_prediction_is_a_finding(
    outcome: Rung, loaded: str, predicted: bool, words: str
) -> None:
    rung = RungResult("v", outcome, None, None, None, loaded, predicted)
    assert words in rung.finding
    assert bool(rung.finding) == bool(words)


def oracle(cpu: str) -> str:
    """The variant the real score functions pick from the Android list on one of qemu's CPUs."""
    path = need_shared("recordings", "llama_cpp", "variant_oracle", "oracle_profiles.csv")
    with path.open() as stream:
        for row in csv.DictReader(stream):
            if (row["cpu"], row["variant_set"]) == (cpu, "android"):
                return row["loaded"]
    raise AssertionError(f"the oracle has no {cpu}")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cpu", ["cortex-a53", "cortex-a76", "max"])
async def test_the_ladder_of_a_real_engine_ends_where_its_loader_does(
    phones: PhoneFactory, adb_server: AdbServer, arm_engine: Path, smollm2: Path, tmp_path: Path, cpu: str
) -> None:
    need_tool("qemu-aarch64-static")
    phone = await phones("cmf-phone-1", speed=1.0, engine=arm_engine, options=("--qemu-cpu", cpu))
    async with on_phone(phone, adb_server, tmp_path / "runs", model=smollm2) as bench:
        folder = await stage(bench.transport, bench.ready.setting.engine)
        choices = Choices(**{**SHORT, "n_prompt": 16, "n_gen": 8, "blocks": 1})
        plan = ladder_plan(bench.ready.setting, choices, folder, threads="1")
        result = await bench.run(plan)
        rungs = climb(plan, result.rows, bench.ready.facts)
    assert len(rungs) == 7
    for rung in rungs:
        assert rung.outcome in (Rung.MEASURED, Rung.NOT_SUPPORTED), rung
        assert rung.predicted == (rung.outcome is Rung.MEASURED), rung
        assert rung.finding == ""
    climbed = [rung.variant for rung in rungs if rung.outcome is Rung.MEASURED]
    scores = {arm.arm_id: place for place, arm in enumerate(plan.arms)}
    assert max(climbed, key=lambda name: scores[name]) == oracle(cpu)


@pytest.mark.long
async def test_every_rung_that_runs_reads_the_same_text(x86_engine: Path, smollm2: Path, tmp_path: Path) -> None:
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        folder = await stage(bench.transport, bench.ready.setting.engine)
        text = await study_text_on(bench.transport)
        choices = Choices(**{**SHORT, "n_prompt": 16, "n_gen": 8, "blocks": 1})
        plan = ladder_plan(bench.ready.setting, choices, folder, threads="1", text=text, chunks=1)
        result = await bench.run(plan)
        rungs = climb(plan, result.rows, bench.ready.facts)
    measured = [rung for rung in rungs if rung.outcome is Rung.MEASURED]
    assert len(measured) > 1
    assert {rung.loaded for rung in measured} == {rung.variant for rung in measured}
    for rung in rungs:
        assert (rung.perplexity is not None) == (rung.outcome is Rung.MEASURED), rung
    # The same weights and text: the rungs agree but for how their kernels round.
    assert all(rung.perplexity == pytest.approx(measured[0].perplexity, rel=0.02) for rung in measured)
    assert rows_of_record(result.directory) == result.rows
