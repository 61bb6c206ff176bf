"""The variant lists agree with the engine's own compiled score functions, row by row."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.isa import IsaFeatures, from_cpuinfo
from entity_tui.silicon.variants import ANDROID, LINUX, LISTS, X86, compare_loaded, judge
from tests.fixtures.tools import missing, need_shared

BITS = ("fphp", "asimdhp", "asimddp", "sve", "i8mm", "sve2", "sme")


def isa_of(names: list[str]) -> IsaFeatures:
    """Features as a phone's cpuinfo would list them."""
    line = " ".join(["fp", "asimd", *names])
    return from_cpuinfo(parse_cpuinfo(f"processor\t: 0\nFeatures\t: {line}\nCPU part\t: 0xd05\n"))


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of an oracle file."""
    path = need_shared("recordings", "llama_cpp", "variant_oracle", name)
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def test_all_256_rows_of_the_oracle() -> None:
    agreed = 0
    for row in rows("oracle_exhaustive.csv"):
        verdicts, predicted = judge(isa_of([bit for bit in BITS if row[bit] == "1"]), LISTS[row["variant_set"]])
        assert predicted == row["loaded"], row
        assert next(v.score for v in verdicts if v.name == predicted) == int(row["score"])
        agreed += 1
    assert agreed == 256


def test_all_named_profiles_of_the_oracle() -> None:
    agreed = 0
    for row in rows("oracle_profiles.csv"):
        variants = ANDROID if row["variant_set"] == "android" else LINUX
        verdicts, predicted = judge(isa_of(row["features"].split()), variants)
        assert predicted == row["loaded"], row
        usable = {f"{v.name}={v.score}" for v in verdicts if v.eligible}
        assert usable == set(row["scored_nonzero"].replace(";", " ").split()), row
        agreed += 1
    assert agreed == 87


def test_an_i8mm_phone_that_hides_sve_loses_i8mm_with_a_linux_build() -> None:
    isa = isa_of(["fphp", "asimdhp", "asimddp", "i8mm", "bf16"])
    assert judge(isa, ANDROID)[1] == "android_armv8.6_1"
    assert judge(isa, LINUX)[1] == "armv8.2_2"


def test_every_other_variant_names_what_is_missing() -> None:
    verdicts, _ = judge(isa_of(["asimddp", "fphp", "asimdhp"]), ANDROID)
    assert {v.name: v.missing for v in verdicts if not v.eligible} == {
        "android_armv8.6_1": ("i8mm",),
        "android_armv9.0_1": ("i8mm", "sve2"),
        "android_armv9.2_1": ("sve", "i8mm", "sme"),
        "android_armv9.2_2": ("sve", "i8mm", "sve2", "sme"),
    }


def test_unread_features_predict_nothing() -> None:
    verdicts, predicted = judge(IsaFeatures(), ANDROID)
    assert predicted is None
    assert [v.eligible for v in verdicts] == [True, *[None] * 6]


def test_half_precision_needs_both_names() -> None:
    assert isa_of(["fphp"]).fp16 is False
    assert isa_of(["asimdhp"]).fp16 is False
    assert isa_of(["fphp", "asimdhp"]).fp16 is True


def test_cores_that_disagree_are_judged_by_what_all_have() -> None:
    text = "processor : 0\nFeatures : fp asimd asimddp\n\nprocessor : 1\nFeatures : fp asimd\n"
    isa = from_cpuinfo(parse_cpuinfo(text))
    assert isa.dotprod is False
    assert isa.disagreement == "cpu1 lacks asimddp"


SCORES = """
import ctypes, pathlib, sys
folder = pathlib.Path(sys.argv[1])
ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
for path in sorted(folder.glob("libggml-cpu-*.so")):
    print(path.stem.removeprefix("libggml-cpu-"), ctypes.CDLL(str(path)).ggml_backend_score())
"""


def test_this_computers_variants_have_the_scores_the_engine_itself_computes(x86_engine: Path) -> None:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    isa = from_cpuinfo(parse_cpuinfo(cpuinfo))
    if isa.architecture != "x86_64":
        missing("the engine's x86 score functions need an x86 processor")
    asked = subprocess.run(
        [sys.executable, "-c", SCORES, str(x86_engine)], capture_output=True, text=True, check=True, timeout=60
    )
    scores = {name: int(score) for name, score in (line.split() for line in asked.stdout.splitlines())}
    verdicts, predicted = judge(isa, X86)
    assert {v.name: v.score if v.eligible else 0 for v in verdicts} == scores
    assert predicted == max(scores, key=lambda name: scores[name])
    loader = subprocess.run(
        [str(x86_engine / "llama-bench"), "--list-devices"], capture_output=True, text=True, check=False, timeout=60
    )
    assert f"libggml-cpu-{predicted}.so" in loader.stderr + loader.stdout


def test_a_list_for_another_processor_predicts_nothing() -> None:
    arm = isa_of(["asimddp", "fphp", "asimdhp"])
    verdicts, predicted = judge(arm, X86)
    assert predicted is None
    assert verdicts[0].missing == ("x86_64 processor",)
    pc = from_cpuinfo(parse_cpuinfo("processor : 0\nflags : fpu sse2 sse4_2 avx\n"))
    assert judge(pc, ANDROID)[1] is None
    assert judge(pc, X86)[1] == "sandybridge"


def test_the_loaders_own_word_is_compared_with_the_prediction() -> None:
    assert compare_loaded("armv8.2_2", "armv8.2_2") == "= predicted"
    assert compare_loaded("armv8.6_1", "armv8.2_2") == "predicted armv8.6_1"
    assert compare_loaded("armv8.6_1", None) == ""


def test_the_measured_ladder_agrees_with_the_prediction() -> None:
    folder = need_shared("seed_data", "entity", "quant_lab", "isa_dispatch")
    isa = from_cpuinfo(parse_cpuinfo("processor : 0\n" + (folder / "cpu-features.txt").read_text(encoding="utf-8")))
    verdicts = {v.name: v.eligible for v in judge(isa, ANDROID)[0]}
    loaded = (folder / "android_armv8.2_1.loaded").read_text(encoding="utf-8").strip()
    assert verdicts[loaded.removeprefix("libggml-cpu-").removesuffix(".so")] is True
    assert verdicts["android_armv9.2_2"] is False


@given(st.sets(st.sampled_from(BITS)))
def test_a_prediction_is_always_the_best_usable(names: set[str]) -> None:
    for variants in (ANDROID, LINUX):
        verdicts, predicted = judge(isa_of(sorted(names)), variants)
        best = max(v.score for v in verdicts if v.eligible)
        assert next(v.score for v in verdicts if v.name == predicted) == best


@pytest.mark.parametrize("key", ["android", "linux"])
def test_scores_are_one_plus_the_feature_bits(key: str) -> None:
    scores = [variant.score for variant in LISTS[key].variants]
    assert scores == ([1, 3, 7, 23, 55, 95, 127] if key == "android" else [1, 3, 7, 15, 31, 63, 95, 127])
