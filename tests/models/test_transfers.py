"""Models move in the background of a session: progress, an end in words, and nothing of others is deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from entity_tui.errors import UsageError
from entity_tui.model_transfers import ModelTransfers, TransferState, TransferView
from entity_tui.models.window import GgufError
from entity_tui.session import Session
from tests.fixtures.tools import until
from tests.models.gguf_text import llama_like


@pytest_asyncio.fixture
async def transfers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelTransfers]:
    """Transfers of a session that is connected to this computer, with a root of its own."""
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("ENTITY_TUI_DATA", str(tmp_path / "data"))
    session = Session()
    await session.connect("local")
    room = ModelTransfers(session)
    yield room
    await room.close()
    await session.close()


async def ended(transfers: ModelTransfers, number: int) -> TransferView:
    """The transfer once it is over."""
    await until(lambda: not transfers.views[number - 1].running)
    return transfers.views[number - 1]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(llama_like().bytes())
    return path


async def test_a_push_ends_with_the_model_on_the_device_and_in_the_log(
    transfers: ModelTransfers, model: Path, tmp_path: Path
) -> None:
    begun = transfers.push(model)
    assert begun.running
    view = await ended(transfers, begun.number)
    assert view.state is TransferState.DONE, view.words
    assert (tmp_path / "root" / "models" / "tiny.gguf").read_bytes() == model.read_bytes()
    assert view.done_bytes == view.total_bytes == model.stat().st_size
    assert "sha256 checked" in view.words


async def test_a_file_that_is_no_model_is_not_pushed(transfers: ModelTransfers, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"hello")
    with pytest.raises(GgufError):
        transfers.push(bad)
    with pytest.raises(UsageError):
        transfers.push(tmp_path / "none.gguf")
    assert transfers.views == ()


async def test_only_our_own_models_are_deleted(transfers: ModelTransfers, model: Path, tmp_path: Path) -> None:
    for path in (str(model), f"{tmp_path}/root/models/../../tiny.gguf"):
        with pytest.raises(UsageError, match="not ours"):
            transfers.delete(path)
    assert model.exists()
    await ended(transfers, transfers.push(model).number)
    view = await ended(transfers, transfers.delete(f"{tmp_path}/root/models/tiny.gguf").number)
    assert (view.state, view.words) == (TransferState.DONE, "deleted")
    assert not (tmp_path / "root" / "models" / "tiny.gguf").exists()


async def test_a_failure_is_told_and_leaves_no_model(transfers: ModelTransfers, model: Path, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir(exist_ok=True)
    (tmp_path / "root" / "models").write_text("a file where the folder should be")
    view = await ended(transfers, transfers.push(model).number)
    assert view.state is TransferState.FAILED
    assert view.words


async def test_a_stopped_transfer_says_so(transfers: ModelTransfers, tmp_path: Path) -> None:
    big = tmp_path / "big.gguf"
    data = llama_like()
    data.tensors.append(("big.weight", (4096, 4096), "F32"))
    big.write_bytes(data.bytes())
    begun = transfers.push(big)
    transfers.stop(begun.number)
    view = await ended(transfers, begun.number)
    assert view.state is TransferState.STOPPED
    assert not (tmp_path / "root" / "models" / "big.gguf").exists()
