"""The shapes of real CPU files that break simple readers, one test a shape, on the machines that have them."""

from __future__ import annotations

import pytest

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.midr import core_model
from entity_tui.device.topology import Topology
from entity_tui.silicon.variants import ANDROID, judge
from entity_tui.silicon.widths import widths
from tests.fixtures.tools import need_shared
from tests.phones.dataset import CPU, figures_as_files, load, machines, snapshot_of


def facts(slug: str, width: str | None = None) -> Facts:
    """The facts of a machine as read by its first (or the named) width of process."""
    need_shared("devices", f"{slug}.json")
    found = [machine for machine in machines(slug) if width is None or machine.width == width]
    return read_facts(found[0].snapshot)


def topology(slug: str) -> Topology:
    """The topology of a machine."""
    return facts(slug).topology


def clusters(slug: str) -> list[tuple[tuple[int, ...], str | None]]:
    """Members and design of each cluster, fastest first."""
    return [(cluster.cpus, cluster.name) for cluster in topology(slug).clusters]


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("xiaomi-redmi-note-3", [((4, 5), "Cortex-A72"), ((0, 1, 2, 3), "Cortex-A53")]),
        ("galaxy-c9-pro", [((4, 5, 6, 7), "Cortex-A72"), ((0, 1, 2, 3), "Cortex-A53")]),
    ],
)
def test_one_block_for_two_designs_is_settled_by_the_chip_and_says_so(
    slug: str, expected: list[tuple[tuple[int, ...], str]]
) -> None:
    assert clusters(slug) == expected
    assert all("chip table" in core.sources["name"] for core in topology(slug).cores)


def test_a_processor_line_inside_a_block_is_not_another_core() -> None:
    assert [core.name for core in topology("iconia-one-10").cores] == ["Cortex-A35"] * 4


def test_a_file_without_any_processor_line_is_one_core() -> None:
    assert clusters("nexus-s") == [((0,), "Cortex-A8")]
    assert clusters("raspberrypi") == [((0,), "ARM1176")]


@pytest.mark.parametrize(
    ("slug", "word"),
    [
        ("meizu-pro-6", "CPUs 8 are listed online and offline"),
        ("meizu-pro-6s", "cpuinfo lists CPUs 0-2,7, which are not in online"),
        ("iconia-one-10", "cpuinfo lists CPUs 2, which are not in online"),
        ("oppo-r9", "cpuinfo lists CPUs 1, which are not in online"),
        ("meizu-pro-6", "cpu0/cpufreq answers for CPUs 4-7, not for itself"),
    ],
)
def test_contradictions_are_told(slug: str, word: str) -> None:
    assert word in topology(slug).conflicts


def test_frequency_files_for_five_of_eight_cores_speak_for_all_by_policy() -> None:
    found = topology("galaxy-j7-prime")
    assert {core.max_freq_khz for core in found.cores} == {1_586_000}
    assert found.online == tuple(range(8))


def test_related_cpus_count_not_the_ones_that_happen_to_be_on() -> None:
    found = topology("lenovo-vibe-x2")
    assert [core.max_freq_khz for core in found.cores[:4]] == [1_690_000] * 4  # affected_cpus reads 0
    assert [core.online for core in found.cores] == [True, *[False] * 7]


@pytest.mark.parametrize("slug", ["galaxy-win-duos", "moto-e-gen1", "nexus4", "galaxy-a8-2016-duos"])
def test_a_listed_core_may_be_off(slug: str) -> None:
    found = topology(slug)
    assert any(core.online is False and core.name for core in found.cores)
    assert set(widths(found).all_cpus) == set(found.online or ())


@pytest.mark.parametrize(("slug", "cores"), [("lenovo-vibe-x2", 8), ("galaxy-tab-3-lite", 4), ("galaxy-s7-global", 8)])
def test_a_core_that_is_off_may_not_be_listed(slug: str, cores: int) -> None:
    found = topology(slug)
    assert len(found.cores) == cores
    unlisted = [core for core in found.cores if core.online is False]
    assert all("cpuinfo" not in core.sources.get("name", "") for core in unlisted)


def test_topology_files_for_one_core_only() -> None:
    assert [cpus for cpus, _ in clusters("galaxy-s8-us")] == [(4, 5, 6, 7), (0, 1, 2, 3)]


def test_siblings_may_name_each_core_alone_or_all_of_them() -> None:
    assert topology("pixel-8").shape == "1+4+4"
    assert topology("hwloc-gb10").shape == "5+5+5+5"


@pytest.mark.parametrize("slug", ["galaxy-tab-3-lite", "galaxy-s3-us", "huawei-ascend-p7", "xperia-sl"])
def test_package_ids_of_15_and_minus_1_split_nothing(slug: str) -> None:
    assert len(topology(slug).clusters) == 1


@pytest.mark.parametrize("slug", ["galaxy-a8-2016-duos", "moto-g-gen4"])
def test_fast_cores_may_come_first(slug: str) -> None:
    assert topology(slug).clusters[0].cpus == (0, 1, 2, 3)
    assert set(widths(topology(slug)).decode_cpus) <= {0, 1, 2, 3}


@pytest.mark.parametrize("slug", ["galaxy-a8-2016-duos", "huawei-p9-lite", "xiaomi-mi-5c"])
def test_one_design_at_two_speeds_is_two_ranks(slug: str) -> None:
    assert [cluster.rank for cluster in topology(slug).clusters] == [0, 1]
    assert len({cluster.name for cluster in topology(slug).clusters}) == 1


@pytest.mark.parametrize("slug", ["galaxy-j7-prime", "xiaomi-redmi-note-4"])
def test_one_design_at_one_speed_in_two_clusters_is_one_rank(slug: str) -> None:
    assert [(cluster.rank, cluster.label) for cluster in topology(slug).clusters] == [(0, "ALL"), (0, "ALL")]


def test_four_cores_and_one_of_the_same_design() -> None:
    assert [cpus for cpus, _ in clusters("xiaomi-redmi-2a")] == [(0, 1, 2, 3), (4,)]


@pytest.mark.parametrize("slug", ["galaxy-s4-us", "nexus4", "huawei-ascend-p7"])
def test_one_policy_a_core_is_still_one_cluster(slug: str) -> None:
    assert topology(slug).shape == "4"


def test_one_policy_over_two_clusters_keeps_them_apart() -> None:
    assert topology("xiaomi-redmi-note-4").shape == "4+4"


def test_a_prime_core_of_its_neighbours_design() -> None:
    assert clusters("freqbench-sm8250") == [
        ((7,), "Cortex-A77"),
        ((4, 5, 6), "Cortex-A77"),
        ((0, 1, 2, 3), "Kryo-4XX-Silver"),
    ]


def test_ten_cores_of_three_kinds_and_nine_of_three() -> None:
    assert topology("socs-exynos-2400").shape == "1+5+4"
    assert topology("pixel-8").shape == "1+4+4"
    need_shared("devices", "sbc-kbw-qualcomm-qcs6490.json")
    files = figures_as_files(load("sbc-kbw-qualcomm-qcs6490")["facts"])
    assert read_facts(snapshot_of(files)).topology.shape == "1+3+4"


@pytest.mark.parametrize("slug", ["galaxy-a8-2018", "galaxy-j1-2016", "hwloc-gb10"])
def test_a_missing_frequency_table_hides_no_top_speed(slug: str) -> None:
    assert all(core.max_freq_khz for core in topology(slug).cores)


@pytest.mark.parametrize(
    ("slug", "predicted"),
    [
        ("socs-snapdragon-8-gen3", "android_armv8.6_1"),  # the kernel hides SVE
        ("socs-mediatek-dimensity-9300", "android_armv8.6_1"),
        ("part-mediatek-dimensity-9300-sve", "android_armv9.0_1"),  # the same chip, another kernel
        ("socs-exynos-2400", "android_armv9.0_1"),
        ("socs-google-tensor-g3", "android_armv9.0_1"),
        ("part-samsung-exynos-2600", "android_armv9.2_2"),
        ("socs-kirin-659", "android_armv8.0_1"),
    ],
)
def test_the_same_chip_with_other_features_loads_another_variant(slug: str, predicted: str) -> None:
    assert judge(facts(slug).isa, ANDROID)[1] == predicted


def test_a_feature_listed_twice_is_one() -> None:
    names = facts("socs-mediatek-helio-g70-mt6769v-cb").isa.names
    assert names.count("asimddp") == 1


def test_a_list_of_both_widths_is_64_bit() -> None:
    found = facts("galaxy-a3-2016-eu")
    assert found.isa.architecture == "arm64"
    assert not found.isa.hidden
    assert found.topology.userspace_bits is None
    assert topology("pixel-8").userspace_bits == 64
    assert topology("nexus4").userspace_bits == 32


def test_bogomips_is_no_speed() -> None:
    assert {core.max_freq_khz for core in topology("socs-rk3588").cores} == {None}


def test_a_vendors_number_for_arms_core_has_its_own_name() -> None:
    found = topology("socs-snapdragon-855-plus")
    bases = {core_model(core.implementer, core.part).based_on for core in found.cores}  # type: ignore[union-attr]
    assert bases == {"Cortex-A76", "Cortex-A55"}


def test_one_id_may_serve_the_fast_and_the_slow_cluster() -> None:
    files = {f"{CPU}/present": "0-7\n", f"{CPU}/online": "0-7\n"}
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/regs/identification/midr_el1"] = "0x512f0021\n"
        files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = "4608000\n" if cpu > 5 else "3628800\n"
    found = read_facts(snapshot_of(files)).topology
    assert [(cluster.cpus, cluster.name) for cluster in found.clusters] == [
        ((6, 7), "Oryon-V3"),
        ((0, 1, 2, 3, 4, 5), "Oryon-V3"),
    ]


def test_carriage_returns_and_loader_warnings_before_the_first_line() -> None:
    narrow = facts("oppo-a37", "arm")
    assert [core.name for core in narrow.topology.cores] == ["Cortex-A53"] * 4
    assert narrow.isa.names[:4] == ("fp", "asimd", "evtstrm", "crc32")


def test_extra_keys_are_left_alone() -> None:
    assert topology("moto-g-gen3").shape == "4"
    assert topology("socs-raspberry-pi5").clusters[0].name == "Cortex-A76"


def test_speeds_come_from_the_files_not_from_a_decoder() -> None:
    assert [cluster.max_freq_khz for cluster in topology("pixel-8").clusters] == [2_914_000, 2_367_000, 1_704_000]
    assert [cluster.max_freq_khz for cluster in topology("galaxy-a8-2016-duos").clusters] == [1_459_200, 1_113_600]
