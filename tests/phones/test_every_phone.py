"""Every machine there is text of is parsed, and agrees with the published decoder or with a listed reason."""

from __future__ import annotations

from collections import Counter

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.device.midr import core_by_name, core_model
from entity_tui.device.topology import Topology
from entity_tui.silicon.masks import slowest
from entity_tui.silicon.straggler import straggler
from entity_tui.silicon.variants import ANDROID, LINUX, judge
from entity_tui.silicon.widths import widths
from tests.fixtures.tools import need_shared
from tests.phones.dataset import (
    ORDER_EXCEPTIONS,
    decoder_name,
    figures_as_files,
    load,
    machines,
    slugs,
    snapshot_of,
)

ALL = slugs() or ("absent",)


def design(name: str | None) -> str:
    """The Arm design behind a name: vendors' own names for Arm's cores count as those."""
    kind = core_by_name(name) if name else None
    model = core_model(*kind) if kind else None
    return "" if model is None or name is None else model.based_on or name


def test_the_dataset_is_whole(counts: Counter[str]) -> None:
    need_shared("devices")
    assert len(slugs()) == 158
    counts["machines in the dataset"] = len(slugs())


@pytest.mark.parametrize("slug", ALL)
def test_every_machine_is_read_without_inventing_anything(slug: str, counts: Counter[str]) -> None:
    need_shared("devices", f"{slug}.json")
    for machine in machines(slug):
        facts = read_facts(machine.snapshot)
        topology = facts.topology
        counts["readings parsed (a machine once per width of process)"] += 1
        assert sorted(cpu for cluster in topology.clusters for cpu in cluster.cpus) == [c.cpu for c in topology.cores]
        for core in topology.cores:
            assert core.max_freq_khz is None or core.max_freq_khz > 0
            assert core.capacity is None or core.capacity > 0
            assert core.max_freq_khz is None or core.sources["max_freq_khz"]
            assert core.name is None or core.sources["name"]
        found = widths(topology)
        online = len(topology.usable)
        assert found.decode <= max(2, online)
        assert found.decode <= found.prefill <= max(6, found.decode)
        assert set(found.pin_cpus) <= set(topology.usable)
        for variants in (ANDROID, LINUX):
            verdicts, predicted = judge(facts.isa, variants)
            assert predicted is None or predicted in {v.name for v in verdicts if v.eligible}
        assert facts.battery.temperature_c is None
        assert facts.memory.total_kb is None


@pytest.mark.parametrize("slug", ALL)
def test_listed_processors_are_the_plain_reading(slug: str, counts: Counter[str]) -> None:
    need_shared("devices", f"{slug}.json")
    machine = machines(slug)[0]
    observed = machine.data.get("observed")
    if not observed or not machine.cpuinfo or not machine.data.get("files"):
        assert machine.data["kind"] in ("report", "partial")
        return
    topology = read_facts(machine.snapshot).topology
    assert set(observed["processors"]) <= {core.cpu for core in topology.cores}
    if "one-block-cpuinfo" not in machine.data["tags"]:
        for row in observed["cores"]:
            core = topology.core(row["cpu"] or 0)
            if core is None or not row.get("part") or "&" in row["part"]:
                continue
            assert core.part == int(row["part"], 16), (slug, row)
            assert core.implementer == int(row["implementer"], 16)
            counts["core ids equal to the plain reading"] += 1


@pytest.mark.parametrize("slug", ALL)
def test_clusters_counts_and_names_are_the_decoders(slug: str, counts: Counter[str]) -> None:
    need_shared("devices", f"{slug}.json")
    for machine in machines(slug):
        expected = machine.expected
        if expected is None:
            continue
        topology = read_facts(machine.snapshot).topology
        members: dict[int, list[int]] = {}
        for processor in expected["processors"]:
            members.setdefault(processor["cluster"], []).append(processor["linux_id"])
        wanted = [
            (tuple(sorted(members[place])), decoder_name(cluster["uarch"]))
            for place, cluster in enumerate(expected["clusters"])
        ]
        found = [(cluster.cpus, design(cluster.name)) for cluster in topology.clusters]
        assert sorted(found) == sorted(wanted), slug
        assert len(topology.cores) == expected["counts"]["cores"]
        counts["decoder's readings: same clusters, counts and names"] += 1
        if slug in ORDER_EXCEPTIONS:
            assert found != wanted, f"{slug} no longer differs in order: remove it from the list"
            counts["of these in another order, with a listed reason"] += 1
        else:
            assert found == wanted, slug


@pytest.mark.parametrize("slug", sorted(slug for slug in slugs() if load(slug)["kind"] == "report") or ["absent"])
def test_a_reports_figures_give_its_clusters(slug: str, counts: Counter[str]) -> None:
    need_shared("devices", f"{slug}.json")
    facts = load(slug).get("facts") or {}
    files = figures_as_files(facts)
    topology = read_facts(snapshot_of(files)).topology
    if not files:
        assert topology.cores == ()
        assert straggler(topology) is None
        return
    rows = facts.get("topology_table") or [
        {"cpu": int(cpu), "max_mhz": max(facts["frequencies_khz_by_cpu"].get(cpu, [0])) // 1000 or None}
        for cpu in facts.get("cpu_capacity", {})
    ]
    speeds = {row["cpu"]: row["max_mhz"] for row in rows}
    for core in topology.cores:
        assert core.max_freq_khz == (None if speeds[core.cpu] is None else speeds[core.cpu] * 1000)
    known = {speed for speed in speeds.values() if speed is not None}
    assert len({c.max_freq_khz for c in topology.clusters if c.max_freq_khz is not None}) == len(known)
    counts["reports whose figures give the same speeds"] += 1


def oddly(slug: str, width: str | None = None) -> Topology:
    """The topology of a machine named by a test."""
    need_shared("devices", f"{slug}.json")
    found = [machine for machine in machines(slug) if width is None or machine.width == width]
    return read_facts(found[0].snapshot).topology


def test_lists_that_contradict_each_other_are_kept_as_conflicts() -> None:
    topology = oddly("meizu-pro-6")
    assert topology.online == (4, 8)
    assert [core.cpu for core in topology.cores] == list(range(10))
    assert any("online and offline" in word for word in topology.conflicts)
    assert any("answers for CPUs 4-7" in word for word in topology.conflicts)


def test_a_core_without_a_frequency_is_never_the_slowest() -> None:
    topology = oddly("meizu-pro-6")
    unknown = topology.core(0)
    assert unknown is not None
    assert unknown.max_freq_khz is None
    assert topology.clusters[unknown.cluster].label == "UNKNOWN"
    assert all(topology.core(cpu).max_freq_khz is not None for cpu in slowest(topology, 10))  # type: ignore[union-attr]


def test_two_ids_in_one_field_are_two_designs() -> None:
    topology = oddly("huawei-honor-6")
    assert [(cluster.name, cluster.cpus) for cluster in topology.clusters] == [
        ("Cortex-A15", (4, 5, 6, 7)),
        ("Cortex-A7", (0, 1, 2, 3)),
    ]


def test_one_block_does_not_name_the_cores_it_was_not_read_on() -> None:
    topology = oddly("socs-snapdragon-653")
    assert {core.name for core in topology.cores} == {None}
    assert any("one block" in note for note in topology.notes)


def test_the_word_processor_without_a_number_opens_no_core() -> None:
    assert len(oddly("iconia-one-10").cores) == 4
    assert [core.name for core in oddly("nexus-s").cores] == ["Cortex-A8"]


def test_one_policy_over_two_designs_stays_four_kinds() -> None:
    topology = oddly("utillinux-sm8550")
    assert [(cluster.name, len(cluster.cpus), cluster.rank) for cluster in topology.clusters] == [
        ("Cortex-X3", 1, 0),
        ("Cortex-A715", 2, 1),
        ("Cortex-A710", 2, 1),
        ("Cortex-A510", 3, 2),
    ]


def test_twenty_cores_interleave_and_capacity_orders_them() -> None:
    topology = oddly("hwloc-gb10")
    assert topology.signal == "capacity"
    assert [cluster.capacity for cluster in topology.clusters] == [1024, 997, 731, 718]
    assert topology.clusters[0].cpus == (15, 16, 17, 18, 19)


def test_the_vendors_own_capacity_file_is_not_the_kernels() -> None:
    topology = oddly("oppo-r9")
    assert {core.capacity for core in topology.cores} == {None}
    assert any("vendor's own scale" in note for note in topology.notes)


def test_a_cluster_with_a_hole_keeps_its_members() -> None:
    facts = load("lisa-juno")["facts"] if need_shared("devices", "lisa-juno.json") else {}
    topology = read_facts(snapshot_of(figures_as_files(facts))).topology
    assert [cluster.cpus for cluster in topology.clusters] == [(1, 2), (0, 3, 4, 5)]


def test_a_32_bit_reading_hides_features_and_says_so() -> None:
    need_shared("devices", "galaxy-s9-us.json")
    wide, narrow = (read_facts(machine.snapshot).isa for machine in machines("galaxy-s9-us"))
    assert wide.dotprod is False
    assert wide.fp16 is True
    assert narrow.hidden
    assert narrow.dotprod is None
    assert narrow.fp16 is None


def test_policies_named_by_number_alone_give_their_neighbours_a_named_inference() -> None:
    topology = oddly("freqbench-sm8150")
    assert [(cluster.cpus, cluster.max_freq_khz) for cluster in topology.clusters] == [
        ((7,), 2841600),
        ((4, 5, 6), 2419200),
        ((0, 1, 2, 3), 1785600),
    ]
    inferred = topology.core(5)
    assert inferred is not None
    assert "inferred" in inferred.sources["max_freq_khz"]
