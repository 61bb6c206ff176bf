"""topology, variants, presets, devicetree and portability print what the rules say, from a snapshot or a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from entity_tui.cli import cli
from entity_tui.errors import UsageError
from tests.fixtures.tools import SHARED, need_shared


def run(*words: str) -> Result:
    """A command's outcome; an error of ours is raised as it is."""
    result = CliRunner().invoke(cli, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def phone(name: str) -> str:
    """The path of a machine's snapshot."""
    return str(need_shared("devices", f"{name}.json"))


def answer(*words: str) -> Any:
    """A command's JSON."""
    return json.loads(run(*words, "--json").stdout)


def test_topology_of_a_phone_with_three_clusters_and_the_source_of_each_value() -> None:
    data = answer("topology", "--snapshot", phone("pixel-8"))
    assert [(c["label"], c["core"]["value"], c["mask"]) for c in data["clusters"]] == [
        ("PERF", "Cortex-X3", "100"),
        ("MID", "Cortex-A715", "f0"),
        ("LITTLE", "Cortex-A510", "f"),
    ]
    assert data["clusters"][0]["max_freq_khz"] == {"value": 2914000, "source": "cpu8/cpufreq/cpuinfo_max_freq"}
    assert data["clusters"][0]["capacity"] == {"value": None, "source": "unknown"}
    assert data["widths"]["decode"]["threads"] == 2
    assert data["widths"]["prefill"]["mask"] == "1f0"
    for core in data["cores"]:
        for field in ("name", "midr", "max_freq_khz", "online"):
            assert core[field]["source"], (core["cpu"], field)


def test_variants_of_the_same_phone_name_what_each_other_one_lacks() -> None:
    data = answer("variants", "--snapshot", phone("pixel-8"), "--list", "both")
    android, linux = data["lists"]
    assert (android["predicted"], linux["predicted"]) == ("android_armv9.0_1", "armv8.6_2")
    assert {v["name"]: v["missing"] for v in android["variants"] if not v["eligible"]} == {
        "android_armv9.2_1": ["sme"],
        "android_armv9.2_2": ["sme"],
    }
    assert data["skainet"]["tier"] == "V82_DOTPROD"
    assert {row["type"]: row["kernel"] for row in data["kleidiai"]}["Q4_0"] == "I8MM"


def test_the_loaders_word_stands_beside_the_prediction() -> None:
    text = run("variants", "--snapshot", phone("pixel-8"), "--loaded", "android_armv8.6_1").stdout
    assert "LOADED  predicted android_armv9.0_1" in text


def test_unknowns_are_shown_as_unknown() -> None:
    text = run("topology", "--snapshot", phone("meizu-pro-6")).stdout
    assert "UNKNOWN  4 × Cortex-A53             ?" in text
    assert "▲ CPUs 8 are listed online and offline" in text
    text = run("topology", "--snapshot", phone("socs-snapdragon-653")).stdout
    assert "unknown core" in text


def test_explain_gives_numbers_for_this_phone() -> None:
    data = answer("topology", "--snapshot", phone("oneplus-5"), "--explain")["explain"]
    assert data["straggler"]["rows"][0]["rate"] == 1.0
    assert data["straggler"]["best_threads"] == 8
    assert data["engine_default_threads"] == 8
    text = run("topology", "--snapshot", phone("oneplus-5"), "--explain").stdout
    assert "by compute alone" in text


def test_a_snapshot_without_cpu_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"files": {}, "props": {}}', encoding="utf-8")
    assert "no core is known" in run("topology", "--snapshot", str(path)).stdout
    assert "predicted unknown" in run("variants", "--snapshot", str(path)).stdout
    with pytest.raises(UsageError, match="no online CPUs"):
        run("presets", "show", "--snapshot", str(path))


def test_presets_for_a_runtime_that_was_never_measured_are_marked() -> None:
    text = run("presets", "show", "--snapshot", phone("pixel-8"), "--format", "onnxruntime").stdout
    assert "intra_op_num_threads=4" in text
    assert "INFERRED" in text
    data = answer("presets", "show", "balanced", "--snapshot", phone("pixel-8"), "--format", "onnxruntime")
    assert data["presets"][0]["inferred"] is True
    assert data["presets"][0]["prefix"] == ["taskset", "1f3"]


def test_presets_tell_why() -> None:
    text = run("presets", "show", "--snapshot", phone("pixel-8"), "--why").stdout
    assert text.count("evidence") == 4
    assert text.count("failed") >= 4
    assert "61.61 against 60.27" in text


def test_presets_env_is_for_scripts() -> None:
    shot = phone("pixel-8")
    assert run("presets", "env", "balanced", "--snapshot", shot).stdout == "-t 4 -tb 7\n"
    assert run("presets", "env", "balanced", "--snapshot", shot, "--prefix").stdout == "taskset 1f3\n"
    text = run("presets", "env", "balanced", "--snapshot", shot, "--mask-mode", "cpumask").stdout
    assert text == "-t 4 -tb 7 -C 0x1f3 --cpu-strict 1\n"
    inferred = run("presets", "env", "background", "--snapshot", shot, "--format", "env")
    assert inferred.stdout == "OMP_NUM_THREADS=4\nOMP_WAIT_POLICY=passive\n"
    assert "INFERRED" in inferred.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("presets", "show", "turbo"),
        ("presets", "show", "--format", "pytorch"),
        ("presets", "show", "--mask-mode", "taskst"),
        ("presets", "env", "balanced", "--format", "pytorch", "--prefix"),
        ("variants", "--list", "windows"),
    ],
)
def test_what_is_unknown_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run(*words, "--snapshot", phone("pixel-8"))


def test_presets_run_puts_a_command_under_its_mask_on_the_device() -> None:
    result = run(
        "presets", "run", "background", "--device", "local", "--", "grep", "Cpus_allowed_list", "/proc/self/status"
    )
    # grep takes the preset's flags for patterns of its own and fails; what counts is the line that was run.
    assert "grep Cpus_allowed_list /proc/self/status -t" in result.stderr


def test_presets_run_reports_the_commands_output() -> None:
    result = run("presets", "run", "throughput", "--device", "local", "--no-tb", "--", "echo", "ran")
    assert result.exit_code == 0
    assert result.stdout.startswith("ran -t ")


def test_a_device_tree_file_and_a_folder() -> None:
    folder = need_shared("devices", "dts")
    data = answer("devicetree", str(folder))
    by_name = {row["soc"]: row for row in data}
    assert len(by_name) == 11  # rk3588's two files are one chip
    assert (by_name["rk3588"]["decode"], by_name["rk3588"]["prefill"]) == (4, 4)
    assert by_name["sm8550"]["decode"] is None
    assert by_name["sm8550"]["missing"]
    assert by_name["sm8550"]["presets"][2] == {
        "name": "background",
        "threads": 3,
        "threads_batch": 3,
        "mask": "7",
        "classes": "design, frequency unknown",
    }
    text = run("devicetree", str(folder / "mt8186.dtsi")).stdout
    assert "6 × Cortex-A55           2000 MHz" in text
    assert "includes are not here" in text


def test_an_include_may_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.dtsi").write_text('/ { cpus { cpu@9 { compatible = "arm,cortex-a9"; }; }; };', encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "chip.dts").write_text('#include "../secret.dtsi"\n/ { };', encoding="utf-8")
    (row,) = answer("devicetree", str(inner / "chip.dts"))
    assert row["missing_includes"] == ["../secret.dtsi"]
    assert row["cpus"] == []


def test_an_empty_folder_is_no_device_tree(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no device tree"):
        run("devicetree", str(tmp_path))


def test_portability_measures_this_computer() -> None:
    data = answer("portability", "--device", "local")
    rows = {row["key"]: row for row in data["mechanisms"]}
    assert data["ios"] == "published, not measured here"
    assert rows["placement"]["target"] == {"state": "present", "words": "asked for CPU 0, read back CPU 0"}
    assert rows["npu"]["android"]["words"].startswith("none through NNAPI")
    assert rows["free_memory"]["target"]["state"] == "present"
    assert len(rows) == 14


def test_portability_of_a_snapshot_says_what_was_not_asked() -> None:
    text = run("portability", "--snapshot", phone("pixel-8")).stdout
    assert "was not asked" in text
    assert "iOS: published, not measured here" in text


def test_a_users_own_preset_profile_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from entity_tui.profiles.library import forget_user_folders

    monkeypatch.setenv("ENTITY_TUI_CONFIG", str(tmp_path))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "presets.yaml").write_text(
        "presets:\n  quiet: { title: half, mask: half }\n", encoding="utf-8"
    )
    try:
        with pytest.raises(UsageError) as caught:
            run("presets", "show", "--snapshot", phone("pixel-8"))
        assert "presets.yaml:2: presets.quiet.mask" in caught.value.detail
        good = "presets:\n  quiet: { title: all but the reserve, mask: minus_reserve }\n"
        (tmp_path / "profiles" / "presets.yaml").write_text(good, encoding="utf-8")
        assert "quiet" in run("presets", "show", "--snapshot", phone("pixel-8")).stdout
    finally:
        forget_user_folders()


@pytest.mark.parametrize("name", ["meizu-pro-6", "huawei-honor-6", "hwloc-gb10", "utillinux-sm8550", "oppo-r9"])
def test_the_oddest_phones_print_a_topology(name: str) -> None:
    text = run("topology", "--snapshot", phone(name)).stdout
    assert "decode" in text
    assert str(SHARED) not in text
