"""Device trees of the kernel: every cpu fact, every rule, and every missing number by name."""

from __future__ import annotations

import json
from typing import Any

import fdt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.silicon.devicetree import cells_of, judge, read_cpus, scaled_capacities
from entity_tui.silicon.devicetree_blob import is_blob, parse_blob
from entity_tui.silicon.devicetree_source import parse_source
from tests.fixtures.tools import SHARED, need_shared


def saved() -> list[dict[str, Any]]:
    """The SoCs whose trees are in the companion data."""
    path = SHARED / "devices" / "devicetree_facts.json"
    if not path.is_file():
        return []
    return [soc for soc in json.loads(path.read_text(encoding="utf-8"))["socs"] if soc.get("saved_as")]


def no_include(name: str) -> None:
    """No included file is at hand."""


@pytest.mark.parametrize("soc", [soc["soc"] for soc in saved()] or ["absent"])
def test_cpu_facts_of_a_kernel_tree(soc: str) -> None:
    folder = need_shared("devices")
    facts = next(row for row in saved() if row["soc"] == soc)
    tree = parse_source([(folder / name).read_text(encoding="utf-8") for name in facts["saved_as"]], no_include)
    cpus = read_cpus(tree)
    assert [
        (c.node, c.label, c.reg, list(c.compatible), c.capacity_dmips_mhz, c.max_opp_hz, c.cluster) for c in cpus
    ] == [
        (
            row["node"],
            row.get("label", ""),
            row["reg"],
            row["compatible"],
            row.get("capacity_dmips_mhz"),
            row.get("max_opp_hz"),
            row.get("cluster", ""),
        )
        for row in facts["cpus"]
    ]
    assert tree.mistakes == []
    assert tree.unresolved == []
    assert tree.missing_includes, "a kernel tree includes bindings that are not at hand, by name"


def test_all_twelve_files_were_used() -> None:
    files = sorted(path.name for path in need_shared("devices", "dts").iterdir())
    assert sorted(name.removeprefix("dts/") for soc in saved() for name in soc["saved_as"]) == files
    assert len(files) == 12


def widths_of(name: str, *more: str) -> tuple[int | None, int | None, int | None]:
    """(decode, prefill, twice-the-slowest) of a tree by file name."""
    texts = [(need_shared("devices", "dts") / file).read_text(encoding="utf-8") for file in (name, *more)]
    verdict = judge(read_cpus(parse_source(texts, no_include)), soc=name)
    return verdict.decode, verdict.prefill, verdict.unity


def test_rules_on_chips_with_known_clocks() -> None:
    assert widths_of("rk3588-base.dtsi", "rk3588-opp.dtsi") == (4, 4, 4)
    assert widths_of("mt8186.dtsi") == (6, 6, 2)  # 2000 MHz is inside ten percent of 2050
    assert widths_of("exynos2200.dtsi") == (4, 4, 4)  # published clocks of this chip


def test_a_missing_clock_or_capacity_is_named_and_nothing_is_guessed() -> None:
    verdict = judge(read_cpus(parse_source([(need_shared("devices", "dts") / "sm4450.dtsi").read_text()], no_include)))
    assert (verdict.decode, verdict.prefill, verdict.unity) == (None, None, None)
    assert any("top clocks" in word for word in verdict.missing)
    assert "capacity-dmips-mhz" in verdict.missing


TREE = """
/dts-v1/;
#define FAST 1024
#ifdef ABSENT
/ { wrong; };
#endif
/ {
	compatible = "amlogic,meson-g12b";
	cpus {
		cpu-map { cluster0 { core0 { cpu = <&little>; }; }; cluster1 { core0 { cpu = <&big>; }; }; };
		little: cpu@0 { compatible = "arm,cortex-a53"; reg = <0x0 0x0>; capacity-dmips-mhz = <592>; };
		big: cpu@100 { compatible = "arm,cortex-a73"; reg = <0x0 0x100>; capacity-dmips-mhz = <FAST>; };
		off: cpu@101 { compatible = "arm,cortex-a73"; status = "disabled"; };
	};
};
"""


def test_little_cores_that_clock_higher_are_a_named_disagreement() -> None:
    verdict = judge(read_cpus(parse_source([TREE], no_include)), soc="meson-g12b")
    assert verdict.mhz == (1900, 1800)
    assert verdict.capacities == (625, 1024)
    assert any("disagree" in note for note in verdict.notes)
    assert [cpu.cluster for cpu in verdict.cpus] == ["cluster0", "cluster1"]


def test_an_include_that_is_there_is_read_and_an_extension_merges() -> None:
    base = '#include "opp.dtsi"\n/ { cpus { a: cpu@0 { compatible = "arm,cortex-a55"; }; }; };\n'
    base += "&a { operating-points-v2 = <&t>; };"
    opp = "/ { t: opp-table { opp-1 { opp-hz = /bits/ 64 <1800000000>; }; "
    opp += "opp-2 { opp-hz = /bits/ 64 <2000000000>; }; }; };"
    tree = parse_source([base], {"opp.dtsi": opp}.get)
    assert read_cpus(tree)[0].max_opp_hz == 2_000_000_000
    assert tree.missing_includes == []


def test_old_operating_points_are_read_in_khz() -> None:
    text = (
        '/ { cpus { cpu@0 { compatible = "arm,cortex-a7"; operating-points = <1200000 1300000 600000 1000000>; }; }; };'
    )
    assert read_cpus(parse_source([text], no_include))[0].max_opp_hz == 1_200_000_000


PLAIN = """/dts-v1/;

/ {
	compatible = "amlogic,meson-g12b";
	cpus {
		cpu-map {
			cluster0 {
				core0 {
					cpu = <0x1>;
				};
			};
		};
		cpu@0 {
			compatible = "arm,cortex-a53";
			reg = <0x0 0x100>;
			capacity-dmips-mhz = <592>;
			operating-points-v2 = <0x2>;
			phandle = <0x1>;
		};
		cpu@101 {
			compatible = "arm,cortex-a73";
			status = "disabled";
		};
	};
	opp-table {
		phandle = <0x2>;
		opp-1 {
			opp-hz = <0x0 0x6b49d200>;
		};
	};
};
"""


def test_a_blob_made_by_another_library_reads_as_its_source() -> None:
    blob = fdt.parse_dts(PLAIN).to_dtb(version=17)
    assert is_blob(blob)
    (little, off) = read_cpus(parse_blob(blob))
    assert (little.node, little.reg, little.capacity_dmips_mhz, little.cluster) == ("cpu@0", 0x100, 592, "cluster0")
    assert little.core_name == "Cortex-A53"
    assert little.max_opp_hz == 1_800_000_000
    assert off.disabled
    assert parse_blob(blob[: len(blob) // 2]).mistakes


def test_capacities_are_scaled_as_the_kernel_does() -> None:
    assert scaled_capacities([530, 1024], [1800, 2400]) == [398, 1024]


def test_macros_and_expressions_stay_unknown_cells() -> None:
    assert cells_of(["<", "0x10", "GIC_SPI", "(", "1", "+", "2", ")", ">"]) == [16, None, 1, None, 2]


@given(st.text(alphabet='{}<>;:=&/"cpu@0,-_ \n#include', max_size=400))
def test_any_text_is_a_tree_of_something(text: str) -> None:
    judge(read_cpus(parse_source([text], no_include)))


@given(st.binary(max_size=300))
def test_any_bytes_are_no_exception(data: bytes) -> None:
    judge(read_cpus(parse_blob(b"\xd0\x0d\xfe\xed" + data)))
