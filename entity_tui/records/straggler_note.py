"""The straggler bound of the device beside the measured thread factor, as a bound and never as a predictor."""

from __future__ import annotations

from entity_tui.device.facts import read_facts
from entity_tui.device.snapshot_json import loads
from entity_tui.errors import EntityError
from entity_tui.records.reanalysis import Reanalysis
from entity_tui.records.run_directory import RunDirectory
from entity_tui.records.schema import Metric
from entity_tui.silicon.straggler import predicted_factor, straggler


def straggler_note(run: RunDirectory, found: Reanalysis) -> str:
    """One sentence, or nothing where the run has no thread factor, no snapshot, or cores of unknown weight."""
    step = next((step for step in found.analysis.factors.steps if step.label == "thread count"), None)
    text = run.device_text()
    if step is None or step.median_ratio is None or not text:
        return ""
    try:
        bound = straggler(read_facts(loads(text)).topology)
    except EntityError:
        return ""
    threads = [_threads(found, arm) for arm in (step.comparison.baseline, step.comparison.treatment)]
    if bound is None or threads[0] is None or threads[1] is None:
        return ""
    expected = predicted_factor(bound, threads[0], threads[1])
    if expected is None:
        return ""
    return (
        f"Straggler bound for {threads[0]} → {threads[1]} threads: ~×{expected:.2f} by compute alone ({bound.signal}), "
        f"beside the measured ×{step.median_ratio:.2f}. It knows nothing of memory, heat or the scheduler."
    )


def _threads(found: Reanalysis, arm: str) -> int | None:
    used = {row.threads_requested for row in found.rows if row.arm == arm and row.metric == Metric.DECODE_TOK_S}
    return used.pop() if len(used) == 1 else None
