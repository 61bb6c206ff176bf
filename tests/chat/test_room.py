"""The chat of a session with a real server: tuning restarts it and keeps the state; failures are words in the view."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.chat.conversation import Role
from entity_tui.chat.generate import Sampling
from entity_tui.chat.prepare import ChatSettings
from entity_tui.chat.room import ChatRoom
from entity_tui.chat.store import ConversationStore
from entity_tui.device.facts import Facts, read_facts
from entity_tui.experiments.probe import probe
from entity_tui.transport.base import Transport
from entity_tui.transport.local import LocalTransport


@pytest.fixture
async def room(
    x86_engine: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ChatRoom]:
    """A room on this computer; its server is ended afterwards."""
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    async with LocalTransport() as transport:
        facts = read_facts(await probe(transport))

        def device() -> tuple[Transport, Facts]:
            return transport, facts

        store = ConversationStore(tmp_path / "chat.db")
        made = ChatRoom(store, device)
        settings = ChatSettings(engine=str(x86_engine), model=str(smollm2), context_tokens=512, threads=1)
        await made.tune(settings, Sampling(temperature=0.0, max_tokens=12), "")
        yield made
        await made.close()
        store.close()


async def test_a_reply_fills_the_view_and_another_one_stands_beside_it(room: ChatRoom) -> None:
    await room.send("What is the capital of France?")
    view = room.view
    assert view.state == "ready"
    assert [turn.role for turn in view.turns] == [Role.USER, Role.ASSISTANT]
    assert view.turns[1].cost is not None
    assert view.variant
    assert view.masks
    assert all(part is not None and part > 0 for part in view.memory_bytes)
    await room.again()
    assert room.view.turns[1].alternatives == (2, 2)
    room.turn_alternative(room.view.turns[1].number, -1)
    assert room.view.turns[1].alternatives == (1, 2)


async def test_tuning_the_server_restarts_it_and_keeps_the_state(room: ChatRoom) -> None:
    await room.send("Tell me about the sea.")
    before = room.view
    await room.tune(replace(before.settings, efficiency=True), before.sampling, "")
    assert room.view.state == "ready"
    assert room.view.words == "the state was kept"
    await room.send("And about rivers?")
    cost = room.view.turns[-1].cost
    assert cost is not None
    assert cost.cached_tokens is not None
    assert cost.cached_tokens > 10


async def test_a_kept_conversation_is_restored_and_says_what_it_saved(room: ChatRoom) -> None:
    await room.send("Tell me about the sea.")
    number = room.conversation.number
    assert "kept" in await room.keep_state()
    room.new()
    await room.send("Something else.")
    words = await room.open(number)
    assert "state restored" in words
    assert "reading them again ~" in words


async def test_what_keeps_a_server_from_starting_is_in_the_view(room: ChatRoom, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\xff" * 64)
    await room.tune(replace(room.view.settings, model=str(broken)), room.view.sampling, "")
    assert not await room.send("Hello?")
    assert room.view.state == "failed"
    assert "GGUF" in room.view.words
    assert room.view.fix
    assert not room.view.busy


async def test_an_export_is_written_with_its_header(room: ChatRoom, tmp_path: Path) -> None:
    await room.send("Hi")
    path = room.export(tmp_path / "out", "csv")
    text = path.read_text(encoding="utf-8")
    assert path.suffix == ".md"
    assert room.view.variant in text
    assert "tok/s" in text
