"""One comparison of two arms, judged: what the tests of verdicts start from."""

from __future__ import annotations

from entity_tui.analysis.comparison import Comparison, Rules
from entity_tui.analysis.session import analyse
from entity_tui.analysis.verdict import Judgement
from entity_tui.records.schema import Row
from tests.analysis.rows import scaled, session

BASE = [10.0, 10.4, 9.8, 10.1, 9.9, 10.2, 10.3, 9.7]
JITTER = [0.002, -0.001, 0.003, -0.002, 0.001, -0.003, 0.0015, -0.0005]
PIN = Comparison("threads_only", "optimized")
TOTAL = Comparison("naive", "optimized")


def one(rows: list[Row], comparison: Comparison = PIN, rules: Rules | None = None) -> Judgement:
    """The judgement of one declared comparison."""
    return analyse(rows, [comparison], rules).judgements[0]


def pair(ratio: float, jitter: list[float] = JITTER, blocks: int = 8) -> list[Row]:
    """Two arms whose ratio is known, with a little noise of their own."""
    base = BASE[:blocks]
    return session({"threads_only": base, "optimized": scaled(base, ratio, jitter[:blocks])})
