"""Fit, windows, speeds and recommendations follow their rules, and say what they rest on."""

from __future__ import annotations

import csv
import json
import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.models.catalog import (
    chip_speeds,
    find_chip,
    find_entry,
    quality_of,
    quality_prices,
    shipped_catalog,
    usability_bars,
    usability_words,
)
from entity_tui.models.context import adaptive_window
from entity_tui.models.entity_probe import prefill_gain, readings_of_chip
from entity_tui.models.fit import FitLevel, MemoryReading, Need, Subject, compute_bytes, fit, judge, need
from entity_tui.models.kv import KvShape
from entity_tui.models.predict import (
    Basis,
    OwnRun,
    balance,
    decode_gb_s,
    fit_machine,
    held_out,
    machine_of_chip,
    machine_of_probe,
    predict,
    prefill_b_tok_s,
)
from entity_tui.models.recommend import Candidate, Workload, rank, recommend
from tests.fixtures.tools import need_shared

GIB = 2**30


def golden(name: str) -> Any:
    rows = json.loads(need_shared("seed_data", "entity", "golden.json").read_text())
    return next(row["recomputed"] for row in rows if row["id"] == name)


# -- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size_bytes", "free_gib", "tokens"),
    [
        (773_025_920, 3.4, 8192),
        (773_025_920, 3.0, 4096),
        (773_025_920, 0.1, 4096),
        (1_600_000_000, 2.3, 4096),
        (1_600_000_000, 2.2, 2048),
        (1_599_999_999, 2.2, 4096),
        (4_000_000_000, 64.0, 4096),
    ],
)
def test_the_automatic_window_mixes_gb_and_gib_and_is_strict(size_bytes: int, free_gib: float, tokens: int) -> None:
    assert adaptive_window(size_bytes, free_gib * GIB).tokens == tokens


@pytest.mark.parametrize("free", [None, 0, -1])
def test_unread_memory_never_reads_as_a_huge_phone(free: int | None) -> None:
    small, large = adaptive_window(10**8, free), adaptive_window(2 * 10**9, free)
    assert (small.tokens, large.tokens) == (4096, 2048)
    assert "could not be read" in small.reason


def test_a_model_gets_no_more_than_it_was_trained_on() -> None:
    assert adaptive_window(10**8, 8 * GIB, trained_context=2048).tokens == 2048


# -- fit -------------------------------------------------------------------------------------------------------------

LLAMA_1B = Subject(
    params_b=1.24,
    weights_bytes=773_025_920,
    second_copy_bytes=530_000_000,
    kv=KvShape(16, 16 * 2 * 8 * 64),
    embedding=2048,
    feed_forward=8192,
    vocabulary=128_256,
    fast_kernel=True,
)


def verdict(free_gib: float, **changes: Any) -> Any:
    return fit(replace(LLAMA_1B, **changes), MemoryReading(int(free_gib * GIB)), 4096)


def test_each_verdict_has_its_reason() -> None:
    good, tight, no = verdict(3.4), verdict(1.6), verdict(0.5)
    assert (good.level, tight.level, no.level) == (FitLevel.GOOD, FitLevel.TIGHT, FitLevel.NO)
    assert no.reason.startswith("needs ")
    assert verdict(3.4, params_b=3.0).level is FitLevel.FITS
    assert verdict(3.4, fast_kernel=False).level is FitLevel.FITS
    assert verdict(3.4, fast_kernel=None).level is FitLevel.GOOD


def test_unread_memory_is_no_verdict() -> None:
    found = fit(LLAMA_1B, MemoryReading(None), 4096)
    assert found.level is FitLevel.UNKNOWN
    assert "could not be read" in found.reason


def test_a_second_copy_alone_makes_a_model_tight_and_never_impossible() -> None:
    whole = need(LLAMA_1B, 4096)
    free = (whole.least_bytes + whole.total_bytes) / 2
    found = judge(LLAMA_1B, whole, MemoryReading(int(free)))
    assert found.level is FitLevel.TIGHT
    assert "while it loads" in found.reason


def test_what_would_help_is_said_and_true() -> None:
    found = verdict(0.9)
    assert found.level in (FitLevel.NO, FitLevel.TIGHT)
    assert any("more free memory" in line for line in found.helps)
    for tokens in (2048, 1024, 512):
        line = next((line for line in found.helps if f"-c {tokens})" in line), None)
        if line is not None:
            again = judge(LLAMA_1B, need(LLAMA_1B, tokens), found.memory)
            assert line.endswith(again.level.value)


def test_two_sizes_in_one_sentence_never_look_equal() -> None:
    wanted = Need(2_004_000_000.0, 0.0, 0.0, 0.0, 4096)
    reason = judge(LLAMA_1B, wanted, MemoryReading(2_002_000_000)).reason
    assert reason == "needs 2.004 GB, 2.002 GB free now"


def test_the_work_buffer_matches_what_llama_cpp_states_for_smollm2() -> None:
    """MiB stated by build b11434 for windows and micro-batches, logits of one token."""
    smollm2 = Subject(0.135, 98_362_432, 0.0, None, 576, 1536, 49_152)
    stated = {(512, 64): 1.89, (512, 512): 15.14, (2048, 512): 16.64, (8192, 64): 2.83, (8192, 512): 22.64}
    for (window, ubatch), mib in stated.items():
        assert compute_bytes(smollm2, window, ubatch=ubatch) / 2**20 == pytest.approx(mib, abs=0.25)


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_more_memory_never_makes_a_verdict_worse(weights: int, free: int) -> None:
    order = [FitLevel.NO, FitLevel.TIGHT, FitLevel.FITS, FitLevel.GOOD]
    subject = replace(LLAMA_1B, weights_bytes=weights)
    small, large = (judge(subject, need(subject, 2048), MemoryReading(f)).level for f in (free, free * 2))
    assert order.index(large) >= order.index(small)


# -- roofline --------------------------------------------------------------------------------------------------------


def test_the_published_rooflines_are_recomputed() -> None:
    found = balance(1.24e9, 773_025_920, 128.2, 18.2)
    assert found.compute_gflop_s == pytest.approx(golden("roofline.compute_gflops"), abs=5e-4)
    assert found.bandwidth_gb_s == pytest.approx(golden("roofline.bandwidth_gbs"), abs=5e-5)
    assert found.balance == pytest.approx(golden("roofline.beta"), abs=5e-5)
    assert found.decode_intensity == pytest.approx(golden("roofline.intensity_decode"), abs=2e-4)
    assert found.prefill_over_balance == pytest.approx(golden("roofline.prefill_over_beta"), abs=5e-3)


def test_the_published_q8_prediction_and_its_error_are_recomputed() -> None:
    anchor = OwnRun("q4", 773_025_920, 1.24, "Q4_0", 18.2, 128.2)
    machine = fit_machine([anchor])
    assert machine is not None
    told = predict(machine, bytes_per_token=1.24e9 * 8.5 / 8, params_b=1.24, quant="Q8_0")
    assert told.decode_tok_s == pytest.approx(golden("roofline.q8_predict_tok_s"), abs=5e-5)
    assert told.decode_tok_s is not None
    assert (11.5 / told.decode_tok_s - 1) * 100 == pytest.approx(golden("roofline.q8_error_pct"), abs=5e-4)
    kopt = predict(machine, bytes_per_token=836_600_000, params_b=1.24, quant="Q4_0").decode_tok_s
    assert kopt == pytest.approx(golden("kopt.decode_predict"), abs=0.005)
    assert kopt is not None
    assert (kopt / 17.99 - 1) * 100 == pytest.approx(golden("kopt.decode_predict_pct"), abs=0.03)
    assert prefill_gain("Q8_0") == pytest.approx(golden("probe.q8_prefill_gain"), abs=0.005)


def contributed(soc: str) -> list[OwnRun]:
    """The optimized arms of one chip's distinct runs up to id 28, as own runs."""
    sizes = {entry.file_name.removesuffix(".gguf"): entry for entry in shipped_catalog()}
    folder = need_shared("seed_data", "entity")
    arms: dict[str, dict[str, dict[str, str]]] = {}
    for row in csv.DictReader((folder / "contributed_arms.csv").read_text().splitlines()):
        arms.setdefault(row["run_id"], {})[row["arm"]] = row
    runs, seen = [], set()
    for row in csv.DictReader((folder / "contributed_runs.csv").read_text().splitlines()):
        arm = arms[row["id"]].get("optimized")
        entry = sizes.get(row["model_file"])
        key = (row["device_model"], row["model_file"], json.dumps(arms[row["id"]]).replace(f'"{row["id"]}"', ""))
        if (
            row["soc"].split("/")[-1].strip() != soc
            or arm is None
            or entry is None
            or key in seen
            or int(row["id"]) > 28
        ):
            continue
        seen.add(key)
        decode, prompt = float(arm["decode_tok_s"]), float(arm["prompt_tok_s"])
        runs.append(OwnRun(entry.id, entry.size_bytes, entry.params_b, entry.quant, decode, prompt))
    return runs


def test_one_model_predicts_another_on_the_contributed_chips() -> None:
    reverse = held_out(contributed("MT6878"), "qwen2.5-0.5b-q8_0")
    assert reverse is not None
    assert reverse.decode_error_pct == pytest.approx(golden("cross.MT6878.reverse_error_pct"), abs=5e-4)
    forward = held_out(contributed("MT6897"), "llama3.2-1b-q4_0")
    assert forward is not None
    assert forward.predicted_decode_tok_s == pytest.approx(golden("cross.MT6897.predicted"), abs=5e-4)
    assert forward.decode_error_pct == pytest.approx(golden("cross.MT6897.error_pct"), abs=5e-4)
    assert forward.from_models == ("qwen2.5-0.5b-q8_0",)


def test_every_chip_of_the_dataset_is_the_median_of_its_runs() -> None:
    table = need_shared("seed_data", "entity", "soc_silicon.csv").read_text().splitlines()
    rows = {
        row["soc"].lower().replace(" ", "-"): row for row in csv.DictReader(line for line in table if line[0] != "#")
    }
    assert {chip.code for chip in chip_speeds()} == set(rows)
    for chip in chip_speeds():
        runs = contributed(rows[chip.code]["soc"])
        assert len(runs) == chip.observations
        decode = statistics.median(decode_gb_s(r.decode_tok_s or 0, r.bytes_per_token) for r in runs)
        prompt = statistics.median(prefill_b_tok_s(r.prefill_tok_s or 0, r.params_b, r.quant) for r in runs)
        assert decode == pytest.approx(chip.decode_gb_s, abs=6e-5)
        assert prompt == pytest.approx(chip.prefill_b_tok_s, abs=6e-4)


def test_the_field_anchor_of_entitys_predictor_is_recomputed() -> None:
    """The Dimensity 7300's own runs, put on the scale of the predictor's readings."""
    chip = find_chip("mt6878")
    assert chip is not None
    bandwidth, score = readings_of_chip(chip.decode_gb_s, chip.prefill_b_tok_s, dotprod=chip.dotprod)
    assert bandwidth == pytest.approx(golden("field.anchor_bandwidth"), abs=5e-4)
    assert score == pytest.approx(golden("field.anchor_compute"), abs=5e-4)


def test_a_model_is_never_both_fitted_and_predicted() -> None:
    own = [OwnRun("a", 1e9, 1.0, "Q4_0", 10.0, 100.0), OwnRun("a", 1e9, 1.0, "Q4_0", 12.0, 90.0)]
    assert held_out(own, "a") is None
    assert held_out(own, "b") is None
    both = held_out([*own, OwnRun("b", 2e9, 2.0, "Q8_0", 6.0, 70.0)], "a")
    assert both is not None
    assert both.predicted_decode_tok_s == pytest.approx(12.0)
    assert both.measured_decode_tok_s == 11.0
    assert both.decode_error_pct == pytest.approx(9.0909, abs=1e-3)


def test_every_basis_is_said() -> None:
    assert fit_machine([]) is None
    own = fit_machine([OwnRun("a", 1e9, 1.0, "Q4_0", 14.07, None, simulated=True)])
    assert own is not None
    assert own.words == "14.1 GB/s effective, anchored on own runs of a (simulated)"
    chip = find_chip("Dimensity 7300")
    assert chip is not None
    assert machine_of_chip(chip).basis is Basis.CHIP
    assert "runs differ by 16 %" in machine_of_chip(chip).caveat
    probe = machine_of_probe(OwnRun("tiny", 1e8, 0.1, "Q4_1", 50.0, 300.0))
    assert probe is not None
    assert probe.basis is Basis.PROBE
    assert "caches" in probe.caveat
    prediction = predict(own, bytes_per_token=1e9, params_b=1, quant="Q4_0")
    assert (prediction.prefill_tok_s, prediction.ttft_ms) == (None, None)


@pytest.mark.parametrize("name", ["mt6878", "MT6878", "dimensity-7300", "MediaTek Dimensity 7300", "Dimensity 7300"])
def test_a_chip_is_found_by_code_title_or_the_end_of_it(name: str) -> None:
    chip = find_chip(name)
    assert chip is not None
    assert chip.code == "mt6878"


def test_a_chip_that_was_not_measured_is_not_guessed() -> None:
    for name in ("", "mt", "Dimensity 7301", "exynos"):
        assert find_chip(name) is None


# -- recommendation, prices, bars ------------------------------------------------------------------------------------


def candidate(name: str, **changes: Any) -> Candidate:
    return replace(Candidate(name, 1.0, 15.0, 100.0, True, False, True), **changes)


def test_tight_models_are_picked_only_when_nothing_else_is_left() -> None:
    tight = candidate("big", params_b=4.0, tight=True)
    assert recommend([tight, candidate("small")], Workload.BALANCED) == ("small", None)
    assert recommend([tight], Workload.BALANCED) == ("big", None)
    assert recommend([candidate("slow", decode_tok_s=4.9)], Workload.BALANCED) == (None, None)


def test_equal_scores_keep_their_order() -> None:
    rows = [candidate(name) for name in ("first", "second", "third")]
    assert [row.candidate.id for row in rank(rows, Workload.LONG_PROMPT)] == ["first", "second", "third"]


def test_the_price_of_a_quantisation_is_the_published_one() -> None:
    for quant, name in (("Q8_0", "q8_0"), ("Q4_K_M", "q4_k_m"), ("Q4_0", "q4_0-imat"), ("Q3_K_L", "q3_k_l")):
        price = quality_of(quant)
        assert price is not None
        assert price.over_f16_pct == pytest.approx(golden(f"ppl.{name}_vs_f16_pct"), abs=5e-4)
        assert price.source
        assert price.caveat
    stock = next(price for price in quality_prices() if "without" in price.note)
    assert stock.over_f16_pct == pytest.approx(golden("ppl.q4_0-stock_vs_f16_pct"), abs=5e-4)
    kopt = next(price for price in quality_prices() if "promoted" in price.note)
    assert kopt.over_f16_pct == pytest.approx(golden("ppl.q4_0-kopt_vs_f16_pct"), abs=5e-4)
    cheap, good = quality_of("Q4_0"), quality_of("Q4_K_M")
    assert cheap is not None
    assert good is not None
    assert (cheap.perplexity / good.perplexity - 1) * 100 == pytest.approx(golden("ppl.q4_0_vs_q4_k_m_pct"), abs=5e-4)
    recovered = (stock.perplexity - cheap.perplexity) / (stock.over_f16_pct / 100 * 14.2580) * 100
    assert recovered == pytest.approx(golden("ppl.imatrix_recovers_pct"), abs=5e-3)
    assert quality_of("Q5_K_S") is None


def test_the_catalog_equals_its_source() -> None:
    rows = list(csv.DictReader(need_shared("seed_data", "entity", "catalog.csv").read_text().splitlines()))
    entries = shipped_catalog()
    assert [(e.id, e.name, e.vendor, e.quant, e.size_bytes, e.file_name) for e in entries] == [
        (r["id"], r["name"], r["vendor"], r["quant"], int(r["size_bytes"]), r["file_name"]) for r in rows
    ]
    assert [e.params_b for e in entries] == [float(r["params_b"]) for r in rows]
    addresses = [f"https://huggingface.co/{row['hf_repo']}/resolve/main/{row['file_name']}" for row in rows]
    assert [entry.url for entry in entries] == addresses
    assert all(e.network is not None and e.network.kv is not None for e in entries)


def test_usability_bars_have_sources_and_an_order() -> None:
    assert [bar.decode_tok_s for bar in usability_bars()] == [3.0, 5.0, 12.0]
    assert all(bar.source for bar in usability_bars())


@pytest.mark.parametrize(
    ("decode", "words"),
    [
        (None, ""),
        (2.9, "below every bar (the lowest is 3 tok/s)"),
        (3.0, "usable by SKaiNET, from 3 tok/s"),
        (5.0, "usable by ENTITY DeviceProbe, from 5 tok/s"),
        (12.0, "comfortable by ENTITY DeviceProbe, from 12 tok/s"),
    ],
)
def test_a_speed_is_called_what_the_highest_bar_it_reaches_calls_it(decode: float | None, words: str) -> None:
    assert usability_words(decode) == words


def test_an_unknown_entry_names_the_nearest_ones() -> None:
    with pytest.raises(Exception, match=r"llama3\.2-1b-q4_0"):
        find_entry(shipped_catalog(), "llama3.2-1b-q4")
