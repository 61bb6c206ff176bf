"""A model's row carries everything the screen shows, and KleidiAI's three answers stay three."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from entity_tui.device.isa import IsaFeatures, from_names
from entity_tui.models.card import KleidiState, Running, card, kleidi_state, kleidi_words
from entity_tui.models.catalog import shipped_catalog
from entity_tui.models.census import Census, census
from entity_tui.models.fit import FitLevel, MemoryReading
from entity_tui.models.header import read_header
from entity_tui.models.kleidiai import SeenInLog, answers, kernel_for
from entity_tui.models.on_device import ModelFile
from entity_tui.models.predict import Basis, Machine, OwnRun
from entity_tui.models.repack import repack_bytes, repacked_types
from entity_tui.models.row_json import row_json
from entity_tui.models.view import (
    Known,
    Place,
    catalog_row,
    file_row,
    quant_of_name,
    recommended,
    sort_rows,
)
from tests.models.gguf_text import U32, Gguf, llama_like, reader

A53, A76 = frozenset({"asimd"}), frozenset({"asimd", "asimddp", "fphp", "asimdhp"})
I8MM = A76 | {"i8mm"}
SME2 = I8MM | {"sve", "sve2", "sme", "sme2"}


def isa(names: frozenset[str] | None) -> IsaFeatures:
    return IsaFeatures(architecture="arm64", **from_names(names))  # type: ignore[arg-type]


def counted(file: Gguf | None = None) -> Census:
    data = (file or llama_like()).bytes()
    return census(read_header(reader(data), len(data)))


def typed(*kinds: str) -> Census:
    return counted(Gguf([], [(f"t{n}.weight", (256, 8), kind) for n, kind in enumerate(kinds)]))


# -- the card's five states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "label", "state", "words"),
    [
        (typed("Q4_0", "Q8_0", "F32"), "Q4_0", KleidiState.ACTIVE, "active (all weights)"),
        (typed("Q4_0", "Q6_K"), "Q4_0", KleidiState.PARTIAL, "partial (50 % of weights); largest outside: t1.weight"),
        (typed("Q4_K", "Q4_K", "Q6_K"), "Q4_K_M", KleidiState.NOT_USED, "NOT used: Q4_K has no kernel; load a Q4_0"),
        (typed("F32"), "F32", KleidiState.NOT_USED, "NOT used"),
        (None, "Q8_0", KleidiState.EXPECTED, "expected (by file type Q8_0)"),
        (None, "Q4_K_M", KleidiState.LABEL_NOT_USED, "NOT used (by file type)"),
    ],
)  # fmt: skip
def test_each_state_of_the_card(found: Census | None, label: str, state: KleidiState, words: str) -> None:
    assert kleidi_state(found, label) is state
    assert kleidi_words(found, label).startswith(words)


def test_the_card_has_every_row_and_a_dash_for_what_is_not_known() -> None:
    rows = {row.label: row.value for row in card(None, label="Q4_0", file_bytes=773_025_920)}
    assert list(rows) == [
        "File size", "Parameters", "Weights", "KleidiAI", "Trained context", "Running context", "Vocabulary",
        "Architecture", "Backend loaded", "ISA", "Threads gen/prompt", "Placement",
    ]  # fmt: skip
    assert rows["File size"] == "773 MB"
    assert {rows[name] for name in ("Parameters", "Trained context", "Vocabulary", "Backend loaded")} == {"—"}
    running = Running(4096, True, "android_armv8.2_2", "dotprod fp16", 4, 6, "pinned f0")
    rows = {row.label: row.value for row in card(counted(), label="", file_bytes=1, running=running)}
    assert rows["Running context"] == "4096 auto-fit"
    assert rows["Threads gen/prompt"] == "4 / 6"
    assert rows["Trained context"] == "8 192"
    assert rows["Weights"] == "Q4_0"


# -- KleidiAI's three answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "names", "family"),
    [
        ("Q4_0", A53, None),
        ("Q4_0", A76, "DOTPROD"),
        ("Q4_0", I8MM, "I8MM"),
        ("Q4_0", I8MM | {"sve"}, "I8MM"),
        ("Q4_0", SME2, "SME2"),
        ("Q8_0", SME2, "SME2"),
        ("Q8_0", I8MM | {"sme"}, "SME"),
        ("Q8_0", A76, "DOTPROD"),
        ("F32", A76, None),
        ("F32", I8MM | {"sme"}, "SME"),
        ("F16", SME2, "SME2"),
        ("F16", I8MM | {"sme"}, None),
        ("Q4_1", SME2, None),
        ("Q6_K", SME2, None),
        ("IQ4_NL", SME2, None),
    ],
)
def test_a_kernel_is_named_by_the_family_this_cpu_takes(kind: str, names: frozenset[str], family: str | None) -> None:
    assert kernel_for(kind, isa(names)).family == family


def test_a_cpu_that_could_not_be_read_is_not_said_to_lack_a_kernel() -> None:
    kernel = kernel_for("Q4_0", isa(None))
    assert (kernel.family, kernel.certain) == (None, False)
    assert "could not be read" in kernel.reason
    assert kernel_for("Q6_K", isa(None)).certain


def test_without_a_log_the_first_answer_is_not_in_this_build() -> None:
    found = answers(["Q4_0", "F32"], isa(I8MM))
    assert (found.in_build, found.ran) == (False, None)
    assert found.summary == "not in this build"
    assert next(kernel.family for kernel in found.kernels if kernel.weight_type == "Q4_0") == "I8MM"


def test_a_log_decides_the_first_and_the_third_answer() -> None:
    line = "load_tensors: CPU_KLEIDIAI model buffer size = 500.00 MiB"
    ran = answers(["Q4_0"], isa(I8MM), seen=SeenInLog(True, True, line))
    assert (ran.in_build, ran.ran, ran.summary, ran.ran_evidence) == (True, True, "ran for this file", line)
    idle = answers(["Q4_K"], isa(I8MM), seen=SeenInLog(True, False, "no kernel for tensor type q4_K"))
    assert idle.summary == "no kernel for these weights on this CPU"
    absent = answers(["Q4_0"], isa(I8MM), seen=SeenInLog(False, None, "system_info without KLEIDIAI"))
    assert (absent.ran, absent.summary) == (False, "not in this build")
    unknown = answers(["Q4_0"], isa(I8MM), build_origin="unknown")
    assert unknown.summary == "kernels exist; build not checked"


# -- repacking -------------------------------------------------------------------------------------------------------


def test_types_are_repacked_as_the_cpu_allows() -> None:
    assert repacked_types(isa(A53)) == frozenset()
    arm = repacked_types(isa(A76))
    assert arm is not None
    assert {"Q4_0", "Q8_0", "Q6_K", "IQ4_NL"} <= arm
    assert "Q4_1" not in arm
    assert repacked_types(isa(None)) is None
    assert repacked_types(IsaFeatures(architecture="x86_64", names=("sse4_2",))) == frozenset()


def test_a_tied_output_is_copied_once_more_when_its_type_is_repacked() -> None:
    file = Gguf([], [("token_embd.weight", (256, 8), "Q6_K"), ("blk.0.a.weight", (256, 8), "Q4_0")])
    found = counted(file)
    both = sum(tensor.size_bytes for tensor in found.tensors)
    assert repack_bytes(found.tensors, isa(A76), tied=True) == both
    assert repack_bytes(found.tensors, isa(A76), tied=False) == found.tensors[1].size_bytes
    assert repack_bytes(found.tensors, isa(None), tied=True) is None
    odd = counted(Gguf([], [("blk.0.a.weight", (256, 6), "Q4_0")]))
    assert repack_bytes(odd.tensors, isa(A76), tied=False) == 0


# -- rows ------------------------------------------------------------------------------------------------------------

MACHINE = Machine(14.0, 160.0, Basis.OWN_RUNS, "14.0 GB/s effective, anchored on own runs of x")
KNOWN = Known(isa(A76), MemoryReading(3_400_000_000, "12:00:00", 2.0), MACHINE)


def test_a_file_row_has_census_fit_prediction_and_what_was_measured() -> None:
    file = ModelFile("/d/models/tiny-Q4_0.gguf", 1_000_000, "tiny-Q4_0.gguf")
    run = OwnRun(file.name, 9e5, 0.001, "Q4_0", 300.0, 900.0, 3, "optimized")
    other = OwnRun("other.gguf", 1e9, 1.0, "Q8_0", 10.0, 100.0, 3, "optimized")
    row = file_row(file, counted(), replace(KNOWN, runs=(run, other)), catalog=shipped_catalog())
    assert (row.title, row.quant, row.place) == ("tiny-Q4_0", "Q4_0", Place.DEVICE)
    assert row.fit.level is FitLevel.FITS, "most of its weights are F16, which has no kernel of its own here"
    assert row.coverage is not None
    assert row.entity_coverage is not None
    assert row.measured == run
    assert row.held_out is not None
    assert row.held_out.from_models == ("other.gguf",)
    assert row.prediction is not None
    value = row_json(row)
    assert value["fit"]["memory_age_s"] == 2.0
    assert value["held_out"]["measured_decode_tok_s"] == 300.0
    assert value["census"]["types"][0]["share"]
    assert value["quality"]["over_f16_pct"] == pytest.approx(9.52, abs=0.01)


def test_a_broken_file_keeps_its_row_and_its_reason() -> None:
    file = ModelFile("/d/llama-Q8_0.gguf", 10**9, "llama-Q8_0.gguf")
    row = file_row(file, None, KNOWN, error="The file is cut.")
    assert (row.census, row.census_error, row.quant) == (None, "The file is cut.", "Q8_0")
    assert row_json(row)["census"] is None
    assert row_json(row)["census_error"] == "The file is cut."


def test_a_device_of_which_nothing_is_known_gets_no_numbers() -> None:
    row = catalog_row(shipped_catalog()[4], Known())
    assert (row.prediction, row.coverage, row.kleidi, row.measured) == (None, None, None, None)
    assert row.fit.level is FitLevel.UNKNOWN
    assert row_json(row)["fit"]["available_bytes"] is None


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Llama-3.2-1B-Instruct-Q4_0.gguf", "Q4_0"),
        ("gemma-2-2b-it-Q4_K_M.gguf", "Q4_K_M"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("m-IQ4_XS.gguf", "IQ4_XS"),
        ("m.f16.gguf", "F16"),
        ("m-bf16.gguf", "BF16"),
        ("model.gguf", ""),
        ("Qwen2.5-0.5B.gguf", ""),
    ],
)
def test_the_weight_type_is_read_from_a_name(name: str, quant: str) -> None:
    assert quant_of_name(name) == quant


def test_rows_sort_by_fit_size_name_and_speed() -> None:
    rows = [catalog_row(entry, KNOWN) for entry in shipped_catalog()]
    levels = [row.fit.level for row in sort_rows(rows)]
    order = [FitLevel.GOOD, FitLevel.FITS, FitLevel.TIGHT, FitLevel.NO]
    assert levels == sorted(levels, key=order.index)
    sizes = [row.size_bytes for row in sort_rows(rows, "size")]
    assert sizes == sorted(sizes)
    speeds = [row.prediction.decode_tok_s or 0.0 for row in sort_rows(rows, "speed") if row.prediction]
    assert speeds == sorted(speeds, reverse=True)
    titles = [row.title.lower() for row in sort_rows(rows, "name")]
    assert titles == sorted(titles)
    with pytest.raises(KeyError):
        sort_rows(rows, "colour")


def test_the_recommender_never_picks_what_does_not_fit() -> None:
    rows = [catalog_row(entry, KNOWN) for entry in shipped_catalog()]
    fitting = {row.id for row in rows if row.fit.level in (FitLevel.GOOD, FitLevel.FITS)}
    for workload in ("BALANCED", "LONG_PROMPT", "LONG_GENERATION"):
        assert recommended(rows, workload)["pick"] in fitting
    none: dict[str, Any] = recommended([replace(row, prediction=None) for row in rows], "BALANCED")
    assert none == {"pick": None, "runner_up": None}


def test_a_label_in_the_header_wins_over_the_name() -> None:
    file = llama_like()
    file.keys[2] = ("general.file_type", U32, 7)
    row = file_row(ModelFile("/d/x-Q4_0.gguf", 10, "x-Q4_0.gguf"), counted(file), KNOWN)
    assert row.quant == "Q8_0"
