"""The seed's published numbers about silicon, context and heat, as its own files recompute them."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from entity_tui.models.predict import balance
from entity_tui.profiles.library import shipped
from entity_tui.silicon.context import adaptive_context
from entity_tui.silicon.widths import decode_width
from tests.fixtures.tools import need_shared


def golden(name: str) -> dict[str, Any]:
    """One published number with its recomputation."""
    rows = json.loads(need_shared("seed_data", "entity", "golden.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(row for row in rows if row["id"] == name)
    return found


def close(value: float, name: str) -> bool:
    """True when a value is the recomputed one within its tolerance."""
    row = golden(name)
    return abs(value - row["recomputed"]) <= row["tolerance"]


def test_the_anchor_phones_balance() -> None:
    machine = balance(1.24e9, 773_025_920, 128.2, 18.2)
    assert close(machine.compute_gflop_s, "roofline.compute_gflops")
    assert close(machine.bandwidth_gb_s, "roofline.bandwidth_gbs")
    assert close(machine.balance, "roofline.beta")
    assert close(machine.decode_intensity, "roofline.intensity_decode")
    assert close(machine.prefill_over_balance, "roofline.prefill_over_beta")


def test_the_width_rule_matches_the_dataset_and_its_known_misfire() -> None:
    assert golden("rules.n_gen_matches_dataset")["recomputed"] is True
    assert decode_width([2000] * 6 + [2203] * 2) == 6


def test_the_ios_column_holds_the_recomputed_figures_only() -> None:
    figures = shipped("portability.yaml")["ios_figures"]
    assert close(figures["A18"]["second_thread_cost_pct"], "ios.a18.second_thread_cost_pct")
    assert close(figures["A18"]["degradation"], "ios.a18.degradation")
    assert close(figures["A19 Pro"]["kleidiai_gain"], "ios.a19.kleidi_x")


def test_the_silent_throttle_begins_where_it_was_published() -> None:
    path = need_shared("seed_data", "entity", "bench_exports", "silent_throttle_0715b_threads_pass3.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    first = next(row for row in rows if max(int(row[f"cpu{cpu}_mhz"]) for cpu in (4, 5, 6, 7)) < 2500)
    assert int(first["elapsed_ms"]) == golden("throttle.silent_first_elapsed_ms")["recomputed"]


GIB = 2**30


@pytest.mark.parametrize(
    ("file_bytes", "available", "window"),
    [
        (1_599_999_999, 3 * GIB + 1, 8192),
        (1_599_999_999, 3 * GIB, 4096),  # strictly more than 3.0
        (1_600_000_000, 3 * GIB + 1, 4096),  # 1.49 GiB, but 1.6 GB
        (1_600_000_000, int(2.2 * GIB) + 1, 4096),
        (1_600_000_000, int(2.2 * GIB), 2048),
        (100, 0, 4096),  # an unread memory is no huge phone
        (100, None, 4096),
        (2_000_000_000, None, 2048),
    ],
)
def test_the_context_window_mixes_gb_and_gib_on_purpose(file_bytes: int, available: int | None, window: int) -> None:
    assert adaptive_context(file_bytes, available) == window
