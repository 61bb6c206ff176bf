"""ENTITY's widths on its own dataset and at their edges, and that nothing else in the program computes one."""

from __future__ import annotations

import ast
import csv
import re

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.facts import read_facts
from entity_tui.device.topology import Topology
from entity_tui.silicon.masks import fastest, slowest
from entity_tui.silicon.straggler import lockstep_rate, predicted_factor, straggler
from entity_tui.silicon.widths import (
    decode_width,
    engine_default_width,
    littletai_threads,
    prefill_width,
    strong_core_count,
    top_cluster_core_count,
    unity_width,
    user_width,
    widths,
)
from tests.fixtures.tools import REPOSITORY, need_shared
from tests.phones.dataset import CPU, snapshot_of


def topology_of(
    clocks: list[int | None], *, capacities: list[int] | None = None, online: str | None = None
) -> Topology:
    """A topology with these top clocks (kHz), all online unless said otherwise."""
    files = {f"{CPU}/present": f"0-{len(clocks) - 1}\n", f"{CPU}/online": online or f"0-{len(clocks) - 1}\n"}
    for cpu, clock in enumerate(clocks):
        if clock is not None:
            files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = f"{clock}\n"
        if capacities:
            files[f"{CPU}/cpu{cpu}/cpu_capacity"] = f"{capacities[cpu]}\n"
    return read_facts(snapshot_of(files)).topology


def test_the_27_contributed_phones_have_the_recorded_width() -> None:
    folder = need_shared("seed_data", "entity")
    with (folder / "contributed_runs.csv").open(encoding="utf-8", newline="") as file:
        clocks = {row["id"]: [int(word) for word in row["max_freqs_mhz"].split()] for row in csv.DictReader(file)}
    with (folder / "contributed_arms.csv").open(encoding="utf-8", newline="") as file:
        recorded = {row["run_id"]: int(row["threads"]) for row in csv.DictReader(file) if row["arm"] == "threads_only"}
    assert len(recorded) == 27
    for run, threads in recorded.items():
        assert decode_width(clocks[run]) == threads, run
        assert decode_width([mhz * 1000 for mhz in clocks[run]]) == threads, run


def test_the_recorded_counts_of_fast_and_little_cores() -> None:
    path = need_shared("seed_data", "entity", "contributed_runs.csv")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found = widths(topology_of([int(word) * 1000 for word in row["max_freqs_mhz"].split()]))
            assert found.fast_cores == int(row["fast_cores"]), row["id"]
            assert len(found.little_cpus) == int(row["little_cores"]), row["id"]


def test_a_core_exactly_at_the_threshold_counts_and_one_below_does_not() -> None:
    assert top_cluster_core_count([2_000_000, 1_800_000]) == 2
    assert top_cluster_core_count([2_000_000, 1_799_999]) == 1
    assert top_cluster_core_count([2_000_009, 1_800_009]) == 2  # the tenth is rounded down


def test_without_a_clock_half_the_cores_count() -> None:
    assert top_cluster_core_count([None] * 8) == 4
    assert decode_width([None]) == 2
    assert decode_width([]) == 2


def test_a_prime_core_alone_gives_two_threads() -> None:
    assert decode_width([1_785_600] * 4 + [2_496_000] * 3 + [2_995_200]) == 2


def test_a_little_cluster_inside_ten_percent_is_counted_as_the_rule_does() -> None:
    assert decode_width([2_000_000] * 6 + [2_203_000] * 2) == 6


def test_prefill_takes_the_cores_above_the_slowest_tier() -> None:
    assert prefill_width([280] * 3 + [855] * 4 + [1024], 2) == 5
    assert prefill_width([1024] * 8, 4) == 6  # no slow tier: all, at most six
    assert prefill_width([None] * 8, 4) == 4  # nothing known
    assert prefill_width([100, 100, 100, 100, 100, 100, 900, 900], 6) == 6  # never narrower than decode


def test_an_unknown_weight_is_not_the_slowest() -> None:
    assert strong_core_count([None, 500, 900, 900]) == 2
    assert unity_width([None, 400, 800, 801]) == 2


def test_a_users_width_is_bounded_by_the_cores_only() -> None:
    assert [user_width(asked, 8) for asked in (-1, 0, 1, 7, 8, 99)] == [1, 1, 1, 7, 8, 8]


def test_capacity_ranks_only_when_every_core_has_one() -> None:
    clocks: list[int | None] = [2_000_000] * 4 + [1_800_000] * 4
    found = widths(topology_of(clocks, capacities=[300] * 4 + [1024] * 4))
    assert found.signal == "cpu_capacity"
    assert found.decode == 6  # 1.8 GHz is inside ten percent of 2.0
    assert found.decode_mask == "f3"  # the four strong ones, then two of the others
    assert widths(topology_of(clocks)).decode_mask == "3f"  # without capacity the clock ranks them


def test_of_equal_clocks_the_bigger_design_goes_first() -> None:
    files = {f"{CPU}/present": "0-7\n", f"{CPU}/online": "0-7\n"}
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = "1804800\n"
        files[f"{CPU}/cpu{cpu}/regs/identification/midr_el1"] = "0x51af8014\n" if cpu < 4 else "0x51af8001\n"
    topology = read_facts(snapshot_of(files)).topology
    assert fastest(topology, 4) == (4, 5, 6, 7)
    assert slowest(topology, 4) == (0, 1, 2, 3)


def test_capacity_alone_makes_clusters() -> None:
    topology = topology_of([None] * 8, capacities=[462] * 4 + [1024] * 4)
    assert [(cluster.label, cluster.cpus) for cluster in topology.clusters] == [
        ("PERF", (4, 5, 6, 7)),
        ("LITTLE", (0, 1, 2, 3)),
    ]
    assert widths(topology).pin_mask == "f0"


def test_big_cores_may_be_numbered_first() -> None:
    found = widths(topology_of([2_400_000] * 4 + [1_800_000] * 4))
    assert (found.decode, found.decode_mask, found.efficiency_mask) == (4, "f", "f0")


def test_offline_cores_are_not_used() -> None:
    found = widths(topology_of([1_800_000] * 4 + [2_400_000] * 4, online="0-5"))
    assert found.decode_cpus == (4, 5)
    assert found.online == 6


def test_one_core_gets_one_thread_and_a_note() -> None:
    found = widths(topology_of([1_000_000]))
    assert (found.decode, found.prefill) == (1, 1)
    assert "only 1 core" in found.notes[0]


def test_the_naive_arm_leaves_two_cores_of_ten() -> None:
    assert widths(topology_of([2_000_000] * 10)).naive == 8
    assert widths(topology_of([2_000_000] * 4)).naive == 4


def test_the_sweep_holds_the_automatic_width() -> None:
    assert widths(topology_of([1_800_000] * 4 + [2_400_000] * 5)).sweep == (2, 4, 5, 6, 8)


def test_the_engines_own_default_stops_at_the_first_gap() -> None:
    files = {f"{CPU}/cpu{cpu}/topology/thread_siblings": f"{1 << cpu:x}\n" for cpu in (0, 1, 2, 4, 5)}
    files[f"{CPU}/present"] = "0-7\n"
    assert engine_default_width(read_facts(snapshot_of(files)).topology) == 3
    assert engine_default_width(topology_of([2_000_000] * 8)) == 4  # nothing readable: half of more than four
    assert engine_default_width(topology_of([2_000_000] * 4)) == 4


def test_lockstep_waits_for_the_slowest() -> None:
    bound = straggler(topology_of([1_000_000] * 4 + [2_500_000] * 4))
    assert bound is not None
    assert lockstep_rate([4, 4, 1]) == 3
    assert bound.best_threads == 4
    assert predicted_factor(bound, 8, 4) == 4 / (8 * 0.4)


def test_an_unknown_core_bounds_nothing() -> None:
    assert straggler(topology_of([None, 2_000_000])) is None


@given(st.lists(st.one_of(st.none(), st.integers(1, 4_000_000)), max_size=20), st.integers(-3, 24))
def test_masks_and_widths_hold_on_any_clocks(clocks: list[int | None], asked: int) -> None:
    assert 2 <= decode_width(clocks) <= 6
    decode = decode_width(clocks)
    assert decode <= prefill_width(clocks, decode) <= 6
    if clocks:
        topology = topology_of(clocks)
        assert len(fastest(topology, asked)) == min(max(asked, 0), len(clocks))
        known = sum(clock is not None for clock in clocks)
        assert len(slowest(topology, asked)) <= max(asked, 0)
        if 0 < known < len(clocks):
            assert all(clocks[cpu] is not None for cpu in slowest(topology, asked))


@given(st.integers(1, 64))
def test_half_the_cores_never_exceeds_them(online: int) -> None:
    assert 1 <= littletai_threads(online) <= min(6, online)


ELSEWHERE = ("decode_width", "prefill_width", "top_cluster_core_count", "littletai_threads", "littletai_reserve")


def test_widths_are_computed_in_one_place_only() -> None:
    offenders = []
    for path in sorted((REPOSITORY / "entity_tui").rglob("*.py")):
        relative = path.relative_to(REPOSITORY).as_posix()
        if relative == "entity_tui/silicon/widths.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in ELSEWHERE:
                offenders.append(f"{relative}: defines {node.name}")
            # The 10 % rule and the half-of-the-cores rule, wherever they might be restated.
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
                words = ast.unparse(node)
                if isinstance(node.right, ast.Constant) and (
                    (node.right.value == 10 and re.search(r"freq|clock|top|khz|mhz", words))
                    or (node.right.value == 2 and re.search(r"cores|online|cpu_count|len\(.*cpus", words))
                ):
                    offenders.append(f"{relative}: {words}")
    assert offenders == []
