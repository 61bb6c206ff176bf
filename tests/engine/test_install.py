"""An engine is installed whole, unchanged files are skipped, and what cannot run here is refused before a launch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from entity_tui.device.isa import IsaFeatures
from entity_tui.engine.archive import describe_local
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.check import EngineCheck, Result, check_engine, kleidiai_words
from entity_tui.engine.find import find_engines
from entity_tui.engine.install import EngineRefused, engine_files, install, minimum_needs
from entity_tui.engine.log_lines import KleidiAi
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.local import LocalTransport

X86 = IsaFeatures(architecture="x86_64", names=("avx2",))


def item(check: EngineCheck, name: str) -> str:
    return next(f"{i.result.value}: {i.words}" for i in check.items if i.name == name)


async def test_a_second_installation_sends_nothing(x86_engine: Path, tmp_path: Path) -> None:
    engine = describe_local(x86_engine)
    async with LocalTransport(str(tmp_path)) as local:
        first = await install(local, engine)
        second = await install(local, engine)
        found = await find_engines(local)
    assert len(first.sent) == 33
    assert (second.sent, len(second.unchanged), second.sent_bytes) == ((), 33, 0)
    mine = next(e for e in found if e.directory == first.engine.directory)
    assert (mine.build, mine.build_source, mine.variants) == ("b11434", "manifest", engine.variants)
    assert (Path(first.engine.directory) / "libllama.so").is_symlink()


async def test_a_changed_file_is_sent_again_and_a_stale_variant_removed(x86_engine: Path, tmp_path: Path) -> None:
    engine = describe_local(x86_engine)
    async with LocalTransport(str(tmp_path)) as local:
        folder = Path((await install(local, engine)).engine.directory)
        (folder / "libggml-base.so.0.26.0").write_bytes(b"damaged")
        (folder / "libggml-cpu-future.so").write_bytes(b"of another build")
        again = await install(local, engine)
    assert again.sent == ("libggml-base.so.0.26.0",)
    assert again.removed == ("libggml-cpu-future.so",)


async def test_an_installed_engine_passes_its_check_with_a_known_answer(
    x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        engine = (await install(local, describe_local(x86_engine))).engine
        model = ModelFile(str(smollm2), smollm2.stat().st_size, smollm2.name)
        check = await check_engine(local, engine, X86, model=model)
    assert check.ok, check.items
    assert check.build == "b11434"
    assert check.loaded in engine.variants
    assert item(check, "known answer").startswith("ok: SmolLM2")
    assert item(check, "KleidiAI") == "note: not in this build"


async def test_an_engine_of_another_machine_is_refused_before_anything_is_copied(
    arm_engine: Path, tmp_path: Path
) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        with pytest.raises(EngineRefused, match="built for arm64"):
            await install(local, describe_local(arm_engine))
    assert not (tmp_path / "engines").exists()


def test_a_folder_that_lacks_a_library_is_refused_with_its_name(x86_engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "llama-b11434"
    shutil.copytree(x86_engine, folder, symlinks=True)
    (folder / "libllama-common.so.0").unlink()
    (folder / "libllama-common.so").unlink()
    with pytest.raises(EngineRefused, match=r"libllama-common\.so\.0"):
        engine_files(describe_local(folder))


async def test_a_missing_library_is_not_called_an_unsupported_cpu(x86_engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "llama-b11434"
    shutil.copytree(x86_engine, folder, symlinks=True)
    (folder / "libllama.so.0").unlink()
    async with LocalTransport(str(tmp_path)) as local:
        check = await check_engine(local, describe_local(folder), X86)
    assert not check.ok
    assert item(check, "launch") == "failed: missing library: libllama.so.0"


def single_variant(arm_engine: Path, folder: Path, tag: str) -> EngineBuild:
    """A build without variants, as the archives for one chip family are: one plain libggml-cpu.so."""
    shutil.copytree(arm_engine, folder, symlinks=True)
    for path in folder.glob("libggml-cpu-*.so"):
        path.rename(folder / "libggml-cpu.so") if tag in path.name else path.unlink()
    return describe_local(folder)


async def test_a_single_variant_build_for_a_better_cpu_is_refused_before_launch(
    arm_engine: Path, tmp_path: Path
) -> None:
    engine = single_variant(arm_engine, tmp_path / "llama-b11434-snapdragon", "armv8.6_1")
    assert minimum_needs(engine, engine_files(engine)) == {"dotprod", "fp16", "i8mm"}
    a76 = IsaFeatures(architecture="arm64", dotprod=True, fp16=True, i8mm=False, sve=False, sve2=False, sme=False)
    async with LocalTransport(str(tmp_path)) as local:
        check = await check_engine(local, engine, a76)
    assert not check.launched
    assert item(check, "minimum CPU") == "failed: its code uses dotprod, fp16, i8mm; this CPU lacks i8mm"
    assert check.items[-1].result is Result.FAILED


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (KleidiAi(), "the log does not say whether it is in this build"),
        (KleidiAi(False, ran=False), "not in this build"),
        (KleidiAi(True, ran=True), "in this build, ran for m.gguf"),
        (KleidiAi(True, ran=False, missing_for=("q4_K",)), "in this build, did not run for m.gguf; no kernel for q4_K"),
        (KleidiAi(True), "in this build, was not seen running for m.gguf"),
    ],
)
def test_kleidiai_is_told_as_the_log_gave_it(found: KleidiAi, words: str) -> None:
    assert kleidiai_words(found, "m.gguf") == words


async def test_the_manifest_says_what_was_installed(x86_engine: Path, tmp_path: Path) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        done = await install(local, describe_local(x86_engine))
    stated = json.loads((Path(done.engine.directory) / "entity-engine.json").read_text())
    assert stated["build"] == "b11434"
    assert set(stated["files"]) == {f.name for f in engine_files(describe_local(x86_engine)) if f.link_to is None}
