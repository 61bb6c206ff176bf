"""An engine's folder is told from its file names."""

from __future__ import annotations

import pytest

from entity_tui.engine.build import VariantList, build_from_path, describe_folder, variant_list_of, variant_tags

ANDROID = [f"libggml-cpu-android_armv{tag}.so" for tag in ("8.0_1", "8.2_1", "8.2_2", "8.6_1", "9.0_1")]


@pytest.mark.parametrize(
    ("path", "build"),
    [
        ("/data/local/tmp/llama-b11434/llama-bench", "b11434"),
        ("llama-b9999-bin-android-arm64.tar.gz", "b9999"),
        ("/releases/llama-b100/llama-b200", "b200"),
        ("/opt/llama-v0.5.0/bin", "v0.5.0"),
        ("/data/local/tmp/llama.cpp", None),
        ("/tmp/abc123", None),
    ],
)
def test_a_build_number_is_read_from_a_path(path: str, build: str | None) -> None:
    assert build_from_path(path) == build


def test_variants_are_the_tags_of_exactly_named_libraries() -> None:
    names = ["libggml-cpu-zen4.so", "libggml-cpu-zen4.so.bak", "libggml-cpu.so", "libggml-rpc.so", "xlibggml-cpu-a.so"]
    assert variant_tags(names) == ("zen4",)


def test_each_upstream_list_is_told_apart() -> None:
    assert variant_list_of(variant_tags(ANDROID)) is VariantList.ANDROID
    assert variant_list_of(("armv8.2_2", "armv9.2_1")) is VariantList.LINUX
    assert variant_list_of(("haswell", "zen4")) is VariantList.X86
    assert variant_list_of((), ("libggml-cpu.so",)) is VariantList.SINGLE
    assert variant_list_of(("mystery", "zen4")) is VariantList.UNKNOWN


def test_programs_of_a_bin_and_lib_layout_keep_their_own_places() -> None:
    engine = describe_folder(
        "/d/bin",
        ["llama-bench", "libllama.so"],
        locations={"llama-bench": "/d/bin/llama-bench", "libllama.so": "/d/lib/x"},
    )
    assert engine.program("llama-bench") == "/d/bin/llama-bench"
    assert engine.program("llama-server") is None
    assert engine.build == "unknown"
