"""Topologies of made-up phones: every layout comes back, and whatever is missing never becomes a wrong number."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entity_tui.device.facts import read_facts
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.topology import Topology
from entity_tui.silicon.masks import fastest, slowest
from tests.phones.dataset import CPU, snapshot_of

DESIGNS = {"Cortex-A55": 0xD05, "Cortex-A78": 0xD41, "Cortex-X1": 0xD44, "Cortex-A76": 0xD0B}


@dataclass(frozen=True)
class Group:
    """One cluster of a made-up phone."""

    cpus: tuple[int, ...]
    design: str
    max_khz: int
    capacity: int


@st.composite
def phones(draw: st.DrawFn) -> tuple[Group, ...]:
    """One to four clusters over one to twenty cores, their numbers shuffled, speeds and capacities rising together."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    numbers = list(range(sum(sizes)))
    draw(st.randoms(use_true_random=False)).shuffle(numbers)
    names = draw(st.permutations(sorted(DESIGNS)))
    speeds = sorted(draw(st.lists(st.integers(500_000, 4_000_000), min_size=4, max_size=4, unique=True)))
    groups, start = [], 0
    for place, size in enumerate(sizes):
        cpus = tuple(sorted(numbers[start : start + size]))
        groups.append(Group(cpus, names[place], speeds[place], 100 * (place + 1)))
        start += size
    return tuple(groups)


def files_of(groups: tuple[Group, ...], *, capacity: bool = True) -> dict[str, str]:
    """Every file such a phone would show."""
    count = sum(len(group.cpus) for group in groups)
    files = {f"{CPU}/{name}": f"0-{count - 1}\n" for name in ("possible", "present", "online")}
    files[f"{CPU}/offline"] = "\n"
    blocks = {}
    for group in groups:
        members = " ".join(map(str, group.cpus))
        for cpu in group.cpus:
            root = f"{CPU}/cpu{cpu}"
            blocks[cpu] = f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: 0x{DESIGNS[group.design]:03x}\n"
            files[f"{root}/cpufreq/cpuinfo_max_freq"] = f"{group.max_khz}\n"
            files[f"{root}/cpufreq/related_cpus"] = f"{members} \n"
            files[f"{root}/topology/core_siblings_list"] = ",".join(map(str, group.cpus)) + "\n"
            if capacity:
                files[f"{root}/cpu_capacity"] = f"{group.capacity}\n"
    files["/proc/cpuinfo"] = "\n".join(blocks[cpu] for cpu in sorted(blocks))
    return files


def shape(topology: Topology) -> list[tuple[tuple[int, ...], str | None, int | None]]:
    """Clusters as (members, design, top speed), fastest first."""
    return [(cluster.cpus, cluster.name, cluster.max_freq_khz) for cluster in topology.clusters]


@settings(max_examples=50)
@given(phones(), st.booleans())
def test_every_layout_comes_back(groups: tuple[Group, ...], capacity: bool) -> None:
    topology = read_facts(snapshot_of(files_of(groups, capacity=capacity))).topology
    assert shape(topology) == [(group.cpus, group.design, group.max_khz) for group in reversed(groups)]
    assert topology.signal == ("capacity" if capacity else "frequency")
    # A little design drawn with the higher clock is told; nothing else is.
    assert all("clocks higher than" in word for word in topology.conflicts)
    assert [cluster.rank for cluster in topology.clusters] == list(range(len(groups)))
    assert fastest(topology, len(groups[-1].cpus)) == groups[-1].cpus
    assert slowest(topology, len(groups[0].cpus)) == groups[0].cpus


@settings(max_examples=50)
@given(phones(), st.integers(0, 2**32), st.floats(0.05, 0.9))
def test_a_missing_file_never_makes_a_wrong_number(groups: tuple[Group, ...], seed: int, share: float) -> None:
    rng = random.Random(seed)
    files = {
        path: Reading(path, Outcome.OK, text)
        if rng.random() > share
        else Reading(path, rng.choice((Outcome.DENIED, Outcome.ABSENT, Outcome.TRANSIENT)), detail="no")
        for path, text in files_of(groups).items()
    }
    topology = read_facts(Snapshot(files=files)).topology
    truth = {cpu: group for group in groups for cpu in group.cpus}
    for core in topology.cores:
        group = truth[core.cpu]
        assert core.max_freq_khz in (None, group.max_khz)
        assert core.capacity in (None, group.capacity)
        assert core.name in (None, group.design)
    unknown = {cpu for cluster in topology.clusters if cluster.rank is None for cpu in cluster.cpus}
    known = [core for core in topology.cores if core.max_freq_khz is not None and core.cpu in topology.usable]
    if known and topology.signal == "frequency":
        assert not unknown & set(slowest(topology, len(topology.cores)))


def two_by_two(**changes: str) -> Topology:
    """Two slow cores (0, 1) and two fast ones (2, 3), with files changed or, by an empty text, taken away."""
    groups = (Group((0, 1), "Cortex-A55", 1_800_000, 300), Group((2, 3), "Cortex-A78", 2_400_000, 1024))
    files = files_of(groups)
    for name, text in changes.items():
        path = f"{CPU}/" + name.replace("__", "/")
        if text:
            files[path] = text
        else:
            files.pop(path, None)
    return read_facts(snapshot_of(files)).topology


def test_capacity_that_contradicts_the_clock_is_followed_and_told() -> None:
    topology = two_by_two(**{f"cpu{cpu}__cpufreq__cpuinfo_max_freq": "2600000\n" for cpu in (0, 1)})
    assert [cluster.cpus for cluster in topology.clusters] == [(2, 3), (0, 1)]
    assert any("capacity and clock disagree" in word for word in topology.conflicts)


def test_one_missing_capacity_discards_them_all_for_the_order() -> None:
    topology = two_by_two(cpu1__cpu_capacity="")
    assert topology.signal == "frequency"
    assert topology.core(0).capacity == 300  # type: ignore[union-attr]


def test_little_cores_that_clock_higher_are_told() -> None:
    changes = {f"cpu{cpu}__cpufreq__cpuinfo_max_freq": "2600000\n" for cpu in (0, 1)}
    changes |= {f"cpu{cpu}__cpu_capacity": "" for cpu in range(4)}
    topology = two_by_two(**changes)
    assert topology.clusters[0].name == "Cortex-A55"
    assert any("Cortex-A55 clocks higher than Cortex-A78" in word for word in topology.conflicts)


def test_a_policy_speaks_for_a_core_that_is_off() -> None:
    topology = two_by_two(
        online="0-2\n", offline="3\n", cpu3__cpufreq__cpuinfo_max_freq="", cpu3__cpufreq__related_cpus=""
    )
    core = topology.core(3)
    assert core is not None
    assert (core.online, core.max_freq_khz) == (False, 2_400_000)
    assert "same policy" in core.sources["max_freq_khz"]
    assert topology.usable == (0, 1, 2)


def test_a_gap_in_the_list_is_kept() -> None:
    assert two_by_two(online="0,3\n").online == (0, 3)


def test_a_list_that_is_an_error_message_is_no_list() -> None:
    topology = two_by_two(online="cat: Permission denied\n")
    assert topology.online is None
    assert topology.usable == (0, 1, 2, 3)


@pytest.mark.parametrize("text", ["0\n", "<unsupported>\n", "-1\n", "\n", "1e6\n"])
def test_a_frequency_that_is_none_is_unknown(text: str) -> None:
    changes = {f"cpu{cpu}__cpufreq__cpuinfo_max_freq": text for cpu in range(4)}
    assert {core.max_freq_khz for core in two_by_two(**changes).cores} == {None}


def test_the_register_of_a_core_outranks_cpuinfo() -> None:
    topology = two_by_two(cpu2__regs__identification__midr_el1="0x00000000411fd440\n")
    core = topology.core(2)
    assert core is not None
    assert (core.name, core.variant, core.revision) == ("Cortex-X1", 1, 0)
    assert core.sources["name"] == "cpu2/regs/identification/midr_el1"


def test_an_unknown_design_keeps_its_numbers_and_has_no_name() -> None:
    topology = two_by_two(cpu2__regs__identification__midr_el1="0x00000000990f1230\n")
    core = topology.core(2)
    assert core is not None
    assert (core.name, core.midr) == (None, "0x99/0x123")
