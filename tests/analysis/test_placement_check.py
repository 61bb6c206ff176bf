"""What the kernel's readback and the launch say about a comparison: void, or no verdict."""

from __future__ import annotations

import pytest

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.analysis.sentences import verdict_sentence
from entity_tui.analysis.session import analyse
from entity_tui.analysis.verdict import Verdict
from entity_tui.records.schema import Metric
from tests.analysis.judging import BASE, JITTER, one, pair
from tests.analysis.rows import cell, scaled, session


def test_equal_masks_and_threads_void_a_placement_comparison() -> None:
    rows = [*session({"threads_only": BASE}), *session({"optimized": scaled(BASE, 1.2)}, mask_applied="ff")]
    found = one(rows)
    assert found.verdict is Verdict.VOID
    assert "mask ff" in found.reason
    assert "void" in verdict_sentence(found)


def test_equal_masks_do_not_void_a_thread_comparison() -> None:
    arms = {"naive": BASE, "threads_only": scaled(BASE, 1.39)}
    assert one(session(arms), Comparison("naive", "threads_only", axis=Axis.THREADS)).verdict is Verdict.FASTER


def test_equal_masks_do_not_void_a_comparison_of_flags() -> None:
    rows = [
        *session({"threads_only": BASE}, mask_applied="f0"),
        *session({"optimized": scaled(BASE, 1.2)}, mask_applied="f0"),
    ]
    assert one(rows, Comparison("threads_only", "optimized", axis=Axis.FLAGS)).verdict is Verdict.FASTER


def test_masks_that_were_not_read_back_take_the_verdict_away() -> None:
    rows = [*session({"threads_only": BASE}), *session({"optimized": scaled(BASE, 1.2)}, mask_ok=None)]
    found = one(rows)
    assert found.verdict is Verdict.UNDECIDED
    assert "read back" in found.reason


def test_a_variant_that_changed_takes_the_verdict_away() -> None:
    rows = pair(1.2)
    rows[-1] = cell("optimized", 8, 12.0, variant_loaded="android_armv8.0_1")
    assert "variant of optimized changed" in one(rows).reason


def test_an_apps_cgroup_is_never_compared_with_a_shell() -> None:
    rows = [
        *session({"threads_only": BASE}, launch_context="adb shell"),
        *session({"optimized": scaled(BASE, 1.2)}, launch_context="termux"),
    ]
    assert one(rows).verdict is Verdict.VOID


def test_a_simulated_arm_is_never_compared_with_a_real_one() -> None:
    rows = [*session({"threads_only": BASE}, simulated=True), *session({"optimized": scaled(BASE, 1.2)})]
    assert one(rows).verdict is Verdict.VOID


@pytest.mark.parametrize("metric", [Metric.TTFT_DERIVED_MS, Metric.DECODE_POWER_W])
def test_a_number_without_a_mask_of_its_own_is_judged_by_its_cells_launches(metric: Metric) -> None:
    bare = {"threads_requested": None, "mask_applied": None, "mask_ok": None}
    values = {"threads_only": BASE, "optimized": scaled(BASE, 0.8, JITTER)}
    own = session(values, metric=metric, phase="cell" if metric == Metric.TTFT_DERIVED_MS else "decode", **bare)
    wanted = Comparison("threads_only", "optimized", metric)
    assert one([*pair(1.2), *own], wanted).verdict in (Verdict.FASTER, Verdict.LOWER)
    unread = [*session({"threads_only": BASE}), *session({"optimized": BASE}, mask_ok=None), *own]
    assert "read back" in one(unread, wanted).reason
    same = session({"threads_only": BASE, "optimized": BASE}, mask_applied="ff")
    assert one([*same, *own], wanted).verdict is Verdict.VOID


def test_a_step_nobody_declared_is_void_all_the_same() -> None:
    rows = [
        *session({"naive": BASE, "threads_only": scaled(BASE, 1.39)}),
        *session({"optimized": scaled(BASE, 1.41)}, mask_applied="ff"),
    ]
    found = analyse(rows).factors
    assert [bool(step.void) for step in found.steps] == [False, True]
    assert found.steps[1].median_ratio is None
