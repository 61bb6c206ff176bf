"""Engines and models already on a device are found in one round trip, whatever their names are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from entity_tui.engine.find import find_engines, parse_found
from entity_tui.engine.select import build_order, choose_engine, choose_model, newest
from entity_tui.errors import UsageError
from entity_tui.models.on_device import find_models, parse_models
from entity_tui.transport.local import LocalTransport


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


async def test_engines_below_our_root_and_in_the_home_are_found_once_each(
    tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    program(root / "engines" / "llama-b11434" / "llama-bench")
    (root / "engines" / "llama-b11434" / "libggml-cpu-haswell.so").touch()
    program(private_home / "llama.cpp" / "build" / "bin" / "llama-server")
    program(root / "engines" / "not an engine" / "other")
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{root}/engines/llama-b11434")
    async with LocalTransport(str(root)) as local:
        engines = [
            e for e in await find_engines(local) if str(tmp_path) in e.directory or str(private_home) in e.directory
        ]
    assert [engine.directory for engine in engines] == [
        f"{root}/engines/llama-b11434",
        f"{private_home}/llama.cpp/build/bin",
    ]
    assert engines[0].build == "b11434"
    assert engines[0].variants == ("haswell",)


async def test_a_bin_and_lib_layout_lists_only_llama_cpps_own_libraries(tmp_path: Path) -> None:
    program(tmp_path / "engines" / "termux" / "bin" / "llama-bench")
    for name in ("libggml-cpu-android_armv8.2_2.so", "libllama.so", "libssl.so"):
        (tmp_path / "engines" / "termux" / "lib").mkdir(exist_ok=True)
        (tmp_path / "engines" / "termux" / "lib" / name).touch()
    async with LocalTransport(str(tmp_path)) as local:
        (engine,) = [e for e in await find_engines(local) if str(tmp_path) in e.directory]
    assert engine.libraries == ("libggml-cpu-android_armv8.2_2.so", "libllama.so")
    assert engine.variants == ("android_armv8.2_2",)
    assert engine.program("llama-bench") == f"{tmp_path}/engines/termux/bin/llama-bench"


async def test_a_manifest_names_the_build(tmp_path: Path) -> None:
    folder = tmp_path / "engines" / "mine"
    program(folder / "llama-bench")
    (folder / "entity-engine.json").write_text(json.dumps({"name": "llama.cpp", "build": "b777"}))
    async with LocalTransport(str(tmp_path)) as local:
        engines = await find_engines(local)
    assert engines[0].build == "b777"
    assert engines[0].build_source == "manifest"


async def test_a_link_loop_and_a_hostile_name_do_not_hurt(tmp_path: Path) -> None:
    loop = tmp_path / "engines" / "loop"
    loop.parent.mkdir(parents=True)
    loop.symlink_to(loop.parent)
    program(tmp_path / "engines" / "bad\nengine \x1b[2J" / "llama-bench")
    async with LocalTransport(str(tmp_path)) as local:
        engines = await find_engines(local)
    assert not [engine for engine in engines if "\x1b" in engine.directory or "bad" in engine.directory]


def test_lines_that_are_not_ours_are_left_out() -> None:
    lines = ["noise", "library /x/liba.so", "engine /x", "program /x/llama-bench", "manifest {broken", "engine \x07/y"]
    (engine,) = parse_found(lines)
    assert engine.directory == "/x"
    assert engine.build == "unknown"


async def test_models_are_found_with_their_sizes_and_unicode_names(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "größe modell.gguf").write_bytes(b"x" * 1234)
    (folder / "bad\x1bname.gguf").write_bytes(b"x")
    (folder / "notes.txt").write_bytes(b"x")
    async with LocalTransport(str(tmp_path)) as local:
        found = [file for file in await find_models(local) if file.path.startswith(str(tmp_path))]
    assert [(file.name, file.size_bytes) for file in found] == [("größe modell.gguf", 1234)]
    assert found[0].mtime_s > 1_600_000_000


def test_model_lines_of_another_shape_are_left_out() -> None:
    assert parse_models(["model x 0 /a.gguf", "model 5 0 relative.gguf", "model 5", ""]) == ()
    (file,) = parse_models(["model 5 7 /d/a-00002-of-00003.gguf"])
    assert file.split == ("a", 2, 3)


async def test_the_newest_llama_cpp_wins_over_the_lookalike(tmp_path: Path) -> None:
    for name in ("llama-b900", "llama-b11434", "xllamacpp-2026.10"):
        program(tmp_path / "engines" / name / "llama-bench")
    (tmp_path / "engines" / "xllamacpp-2026.10" / "entity-engine.json").write_text(
        '{"name": "xllamacpp", "build": "9"}'
    )
    async with LocalTransport(str(tmp_path)) as local:
        engines = [engine for engine in await find_engines(local) if str(tmp_path) in engine.directory]
    chosen = newest(engines)
    assert chosen is not None
    assert chosen.build == "b11434"
    assert build_order("b11434") > build_order("b900") > build_order("unknown")


async def test_the_smallest_whole_model_is_taken_and_nothing_that_is_none(tmp_path: Path, private_home: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    sizes = {"big.gguf": 900, "m-00001-of-00002.gguf": 50, "m-00002-of-00002.gguf": 10, "mmproj-x.gguf": 5}
    for name, size in sizes.items():
        (folder / name).write_bytes(b"x" * size)
    async with LocalTransport(str(tmp_path)) as local:
        assert (await choose_model(local)).name == "big.gguf"
        assert (await choose_model(local, "m-00002-of-00002.gguf")).size_bytes == 10
        (folder / "big.gguf").unlink()
        assert (await choose_model(local)).name == "m-00001-of-00002.gguf"


async def test_a_missing_engine_or_model_says_what_to_do(tmp_path: Path) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        with pytest.raises(UsageError) as engine:
            await choose_engine(local, str(tmp_path / "nothing"))
        with pytest.raises(UsageError) as model:
            await choose_model(local, "no-such-model-anywhere")
    assert "neither a folder nor an archive" in engine.value.title
    assert "models push" in model.value.fix
