"""What a library needs of a CPU is told from its own code, and what its loader needs from its own table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.isa import IsaFeatures
from entity_tui.engine.elf import code_of, needed_libraries, read_head
from entity_tui.engine.minimum_isa import code_features, missing_features


@pytest.mark.parametrize(
    ("tag", "features"),
    [
        ("8.0_1", set()),
        ("8.2_1", {"dotprod"}),
        ("8.2_2", {"dotprod", "fp16"}),
        ("8.6_1", {"dotprod", "fp16", "i8mm"}),
        ("9.0_1", {"dotprod", "fp16", "i8mm", "sve"}),
        ("9.2_2", {"dotprod", "fp16", "i8mm", "sve"}),
    ],
)
def test_real_variants_use_the_extensions_they_were_compiled_for(
    arm_engine: Path, tag: str, features: set[str]
) -> None:
    library = (arm_engine / f"libggml-cpu-android_armv{tag}.so").read_bytes()
    assert code_features(library) == features


def test_libraries_without_kernels_and_of_another_machine_need_nothing(arm_engine: Path, x86_engine: Path) -> None:
    assert code_features((arm_engine / "libllama.so").read_bytes()) == frozenset()
    assert code_features((x86_engine / "libggml-cpu-zen4.so").read_bytes()) == frozenset()


def test_machine_and_needed_libraries_of_real_programs(arm_engine: Path, x86_engine: Path) -> None:
    for folder, machine in ((arm_engine, "arm64"), (x86_engine, "x86_64")):
        program = (folder / "llama-bench").read_bytes()
        head = read_head(program)
        assert head is not None
        assert head.machine == machine
        assert "libllama-bench-impl.so" in needed_libraries(program)


def test_a_feature_the_cpu_could_not_tell_about_is_not_counted_missing() -> None:
    needs = frozenset({"dotprod", "i8mm"})
    assert missing_features(needs, IsaFeatures(dotprod=True, i8mm=False)) == ("i8mm",)
    assert missing_features(needs, IsaFeatures()) == ()


@given(st.binary(max_size=400), st.integers(0, 120))
def test_no_bytes_make_the_reader_fail(tail: bytes, cut: int) -> None:
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x03\x00\xb7\x00"
    data = (head + tail)[: max(0, len(head) + len(tail) - cut)]
    read_head(data)
    code_of(data)
    needed_libraries(data)
    assert isinstance(code_features(data), frozenset)
