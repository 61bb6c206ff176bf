"""Does the method hold? Thousands of simulated sessions through the product's own analysis (`make bench-statistics`).

Prints, for the full preset: how often a session in which nothing differs ends in any faster or slower, how often the
interval holds the truth, how often true effects of 4, 6 and 10 % are found, and what the seeds' way (grouped order,
mean ± SD) would have said about the same phone. Exit 1 when an acceptance number is missed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.drift_model import FULL_ARMS, Effects, block_order, grouped_order, rates, session_rows
from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.analysis.session import SessionAnalysis, analyse
from entity_tui.analysis.verdict import DIRECTIONAL, Verdict

SESSIONS = 2000
FULL = (
    Comparison("naive", "threads_only", axis=Axis.THREADS),
    Comparison("threads_only", "optimized"),
    Comparison("optimized", "efficiency"),
    Comparison("naive", "optimized"),
)
STANDARD = (Comparison("naive", "optimized"),)
STANDARD_ARMS = ("naive", "optimized", "naive_aa")

FALSE_LIMIT = 0.025
COVERAGE_LIMIT = 0.94
NULL = Effects("nothing differs", {})


@dataclass(frozen=True, slots=True)
class Scenario:
    """One preset with its true effects."""

    preset: str
    arms: tuple[str, ...]
    blocks: int
    comparisons: tuple[Comparison, ...]
    effects: Effects


@dataclass(slots=True)
class Tally:
    """What a scenario's sessions came to."""

    sessions: int = 0
    any_false: int = 0
    aa_failed: int = 0
    covered: list[float] | None = None
    """Per session, the share of its declared intervals that hold the true ratio."""
    words: dict[str, dict[Verdict, int]] | None = None
    grouped_any: int = 0
    grouped_found: int = 0


def upper_bound(hits: int, trials: int, level: float = 0.95) -> float:
    """The one-sided exact upper bound of a proportion (Clopper-Pearson), by bisection on the binomial tail."""
    return _bisect(lambda p: _tail_at_most(hits, trials, p) - (1.0 - level)) if hits < trials else 1.0


def lower_mean_bound(shares: Sequence[float], level: float = 0.95) -> float:
    """A one-sided lower bound of the mean share over sessions; sessions are independent, their intervals are not."""
    z = statistics.NormalDist().inv_cdf(level)
    return statistics.fmean(shares) - z * statistics.pstdev(shares) / math.sqrt(len(shares))


def _tail_at_most(hits: int, trials: int, p: float) -> float:
    total, log_p, log_q = 0.0, math.log(p), math.log1p(-p)
    for k in range(hits + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        total += math.exp(ways + k * log_p + (trials - k) * log_q)
    return total


def _bisect(falling: Callable[[float], float]) -> float:
    low, high = 1e-9, 1.0 - 1e-9
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


def run(scenario: Scenario, sessions: int, seed: int) -> Tally:
    """Simulate and analyse `sessions` sessions of one scenario."""
    generator = np.random.default_rng(seed)
    rules = Rules(planned_blocks=scenario.blocks)
    tally = Tally(covered=[], words={one.name: {} for one in scenario.comparisons})
    for number in range(sessions):
        order = block_order(scenario.arms, scenario.blocks, generator)
        values = rates([arm for _, _, arm in order], scenario.effects, generator)
        found = analyse(session_rows(order, values, f"s{number}"), scenario.comparisons, rules)
        _count(tally, found, scenario.effects)
        order = grouped_order(scenario.arms, scenario.blocks)
        _count_grouped(tally, order, rates([arm for _, _, arm in order], scenario.effects, generator), scenario)
    return tally


def _count(tally: Tally, found: SessionAnalysis, effects: Effects) -> None:
    tally.sessions += 1
    wrong, held = False, []
    for item in found.judgements:
        true = effects.ratio(item.comparison.baseline, item.comparison.treatment)
        if tally.words is not None:
            of_name = tally.words[item.comparison.name]
            of_name[item.verdict] = of_name.get(item.verdict, 0) + 1
        if item.estimate is not None and item.estimate.low is not None and item.estimate.high is not None:
            held.append(1.0 if item.estimate.low <= true <= item.estimate.high else 0.0)
        claimed = {Verdict.FASTER: 1, Verdict.SLOWER: -1}.get(item.verdict, 0)
        wrong |= claimed != 0 and claimed != (true > 1.0) - (true < 1.0)
    tally.any_false += wrong
    tally.aa_failed += bool(found.aa and found.aa.differs)
    if tally.covered is not None and held:
        tally.covered.append(statistics.fmean(held))


def _count_grouped(
    tally: Tally, order: Sequence[tuple[int, int, str]], values: Sequence[float], scenario: Scenario
) -> None:
    """The seeds' reading: one arm beats another when mean ± SD do not overlap."""
    by_arm: dict[str, list[float]] = {}
    for (_, _, arm), value in zip(order, values, strict=True):
        by_arm.setdefault(arm, []).append(value)
    claims = []
    for one in scenario.comparisons:
        first, second = by_arm[one.baseline], by_arm[one.treatment]
        gap = statistics.fmean(second) - statistics.fmean(first)
        if abs(gap) > statistics.pstdev(first) + statistics.pstdev(second):
            claims.append((gap > 0) - (gap < 0))
        else:
            claims.append(0)
    true = [scenario.effects.ratio(one.baseline, one.treatment) for one in scenario.comparisons]
    wrong = [claim != 0 and claim != (ratio > 1) - (ratio < 1) for claim, ratio in zip(claims, true, strict=True)]
    tally.grouped_any += any(wrong)
    tally.grouped_found += claims[-1] != 0 and not wrong[-1]


def scenarios() -> list[Scenario]:
    """All scenarios: null and three effects of the full preset, null and one effect of the standard preset."""
    found = [Scenario("full", FULL_ARMS, 8, FULL, NULL)]
    for effect in (1.04, 1.06, 1.10):
        of = {"threads_only": 1.0, "optimized": effect, "efficiency": 1.0}
        found.append(Scenario("full", FULL_ARMS, 8, FULL, Effects(f"optimized {100 * (effect - 1):.0f} % faster", of)))
    found.append(Scenario("standard", STANDARD_ARMS, 6, STANDARD, NULL))
    found.append(Scenario("standard", STANDARD_ARMS, 6, STANDARD, Effects("optimized 6 % faster", {"optimized": 1.06})))
    return found


def report(scenario: Scenario, tally: Tally) -> list[str]:
    """What is printed of one scenario."""
    covered = tally.covered or [0.0]
    lines = [
        f"{scenario.preset}, {scenario.blocks} blocks, {scenario.effects.name}  ({tally.sessions} sessions)",
        (
            f"  any wrong faster/slower   {_percent(tally.any_false, tally.sessions)}"
            f"   upper 95 % bound {100 * upper_bound(tally.any_false, tally.sessions):.2f} %"
        ),
        (
            f"  interval holds the truth  {100 * statistics.fmean(covered):.2f} %"
            f"   lower 95 % bound {100 * lower_mean_bound(covered):.2f} %"
        ),
        f"  A/A check failed          {_percent(tally.aa_failed, tally.sessions)}",
    ]
    for name, words in (tally.words or {}).items():
        said = ", ".join(f"{word.value} {_percent(words[word], tally.sessions)}" for word in Verdict if word in words)
        lines.append(f"  {name:28s} {said}")
    lines.append(
        f"  grouped order, mean ± SD  wrong claim in {_percent(tally.grouped_any, tally.sessions)} of sessions"
        f", {scenario.comparisons[-1].name} found in {_percent(tally.grouped_found, tally.sessions)}"
    )
    return lines


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.2f} %"


def power(tally: Tally, name: str) -> float:
    """The share of sessions in which a comparison ended in a direction."""
    words: Mapping[Verdict, int] = (tally.words or {}).get(name, {})
    return sum(count for word, count in words.items() if word in DIRECTIONAL) / tally.sessions


def main(argv: Sequence[str] | None = None) -> int:
    """Run every scenario and compare the full preset's null with its limits. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--seed", type=int, default=20260822)
    options = parser.parse_args(argv)
    started, missed = time.monotonic(), []
    for number, scenario in enumerate(scenarios()):
        tally = run(scenario, options.sessions, options.seed + number)
        print("\n".join(report(scenario, tally)), flush=True)
        if scenario.preset != "full":
            continue
        bound, coverage = upper_bound(tally.any_false, tally.sessions), lower_mean_bound(tally.covered or [0.0])
        if scenario.effects is NULL and bound > FALSE_LIMIT:
            missed.append(f"false verdicts: upper bound {100 * bound:.2f} % > {100 * FALSE_LIMIT:.1f} %")
        if coverage < COVERAGE_LIMIT:
            missed.append(f"coverage ({scenario.effects.name}): lower bound {100 * coverage:.2f} % < 94 %")
        if scenario.effects is not NULL:
            print(f"  power, naive→optimized    {100 * power(tally, 'naive→optimized'):.1f} %", flush=True)
    print(f"{time.monotonic() - started:.0f} s, seed {options.seed}")
    print("\n".join(f"MISSED {line}" for line in missed) or "every acceptance number is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
