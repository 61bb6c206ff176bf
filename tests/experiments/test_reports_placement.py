"""Public reports about masks and cores, recreated: what was asked for is not what the kernel does."""

from __future__ import annotations

import pytest

from entity_tui.experiments.ablation import design_preset
from entity_tui.experiments.build import Choices, assemble
from entity_tui.experiments.states import state
from entity_tui.records.schema import Metric
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer
from tests.experiments.bed import setting, snapshot
from tests.experiments.live_bed import Bench, on_phone
from tests.experiments.paper_engine import arms


async def test_llama_cpp_26836_an_engine_that_sets_its_own_mask_is_caught_by_the_readback(paper: Bench) -> None:
    result = await paper.run(paper.own(arms(ignores="MODE=mask NEW_MASK=3")))
    (row,) = [row for row in result.rows if row.role == "measure"]
    assert (row.state, row.usability, row.value) == ("affinity_mismatch", "void", None)
    assert (row.mask_requested, row.mask_applied, row.mask_ok) == ("1", "3", False)
    assert "taskset" in state("affinity_mismatch").next_step


async def test_llama_cpp_13079_more_threads_than_cpus_are_refused_before_launch(paper: Bench) -> None:
    text = "arms:\n  crowd: {threads: 8, cpus: '0'}\ngate: {minimum_s: 0, limit_s: 1, sensorless_dwell_s: 0}\n"
    result = await paper.run(paper.own(text))
    (row,) = [row for row in result.rows if row.role == "measure"]
    assert (row.state, row.value) == ("threads_exceed_mask", None)
    assert (row.threads_requested, row.mask_requested, row.threads_seen) == (8, "1", None)
    assert not any(name.startswith("decode") for name in paper.store.find(result.session_id).path.rglob("decode*"))


@pytest.mark.long
async def test_iree_7804_a_cpu_that_goes_offline_between_probe_and_launch_is_named(
    demo_phone: DemoPhone, adb_server: AdbServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with on_phone(demo_phone, adb_server, tmp_path_factory.mktemp("runs")) as bench:
        plan = bench.runs(1, ["optimized"])
        await demo_phone.ctl("offline-core", "5")
        result = await bench.run(plan)
    found = [row for row in result.rows if row.role == "measure"]
    assert found
    assert {row.state for row in found} == {"core_offline"}
    assert "5" in (found[0].state_detail or "")
    assert (found[0].mask_requested, found[0].mask_applied) == ("f0", None)


def test_lisa_255_three_and_four_capacity_classes_stay_classes() -> None:
    four = setting(
        snapshot(
            dict(enumerate([1800, 1800, 2400, 2400, 2700, 2700, 3200, 3200])),
            dict(enumerate([200, 200, 500, 500, 800, 800, 1024, 1024])),
        )
    )
    assert len(four.facts.topology.clusters) == 4
    plan = assemble(design_preset("full"), four, Choices(seed=1))
    assert sorted(plan.arm("optimized").decode.mask or ()) == [6, 7]
    assert sorted(plan.arm("efficiency").decode.mask or ()) == [0, 1]


def test_lisa_218_one_class_has_no_little_arm() -> None:
    one = setting(snapshot(dict.fromkeys(range(8), 2000), dict.fromkeys(range(8), 1024)))
    arm = assemble(design_preset("full"), one, Choices(seed=1)).arm("efficiency")
    assert "one class of cores" in arm.incapable


def test_scx_1994_capacity_wins_over_frequency_and_the_conflict_is_told() -> None:
    inverted = setting(
        snapshot(
            {cpu: 2400 if cpu < 4 else 2000 for cpu in range(8)}, {cpu: 300 if cpu < 4 else 1024 for cpu in range(8)}
        )
    )
    topology = inverted.facts.topology
    assert topology.signal == "capacity"
    assert topology.conflicts
    plan = assemble(design_preset("full"), inverted, Choices(seed=1))
    assert set(plan.arm("optimized").decode.mask or ()) <= {4, 5, 6, 7}
    assert set(plan.arm("efficiency").decode.mask or ()) <= {0, 1, 2, 3}


@pytest.mark.long
async def test_two_arms_that_read_back_the_same_mask_void_their_comparison(paper: Bench) -> None:
    text = """
arms:
  naive: {threads: 1, cpus: '0'}
  optimized: {threads: 1, cpus: '0'}
comparisons: [{baseline: naive, treatment: optimized, axis: placement}]
gate: {minimum_s: 0, limit_s: 1, sensorless_dwell_s: 0}
"""
    result = await paper.run(paper.own(text, runs=3))
    assert [row.value is not None for row in result.rows if row.metric == Metric.DECODE_TOK_S]
    assert any("void, both arms ran 1 threads on mask 1" in line for line in result.view.verdicts)
