"""Saved conversation state against a real llama-server: only what is exactly right goes back in."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.chat.generate import Sampling
from entity_tui.chat.slots import Slots
from entity_tui.chat.store import ConversationStore
from entity_tui.chat.talk import Talk
from entity_tui.engine.server import LlamaServer
from tests.chat.test_talk_real_server import everything, plan_for, server

__all__ = ["server"]


async def saved(server: LlamaServer, folder: Path) -> tuple[Slots, Talk, Path]:
    store = ConversationStore(folder / "chat.db")
    talk = Talk(server, store, store.create(), sampling=Sampling(temperature=0.0, max_tokens=16))
    await everything(talk, "Tell me about the sea.")
    slots = Slots(server)
    outcome = await slots.save(1, "")
    assert outcome.done, outcome.reason
    assert outcome.tokens > 16
    store.close()
    return slots, talk, Path(slots.folder) / "c1.bin"


async def test_a_saved_state_is_restored_and_used(server: LlamaServer, tmp_path: Path) -> None:
    slots, _, _ = await saved(server, tmp_path)
    await server.client.post("/slots/0", params={"action": "erase"}, json={})
    back = await slots.restore(1, "")
    assert back.done, back.reason
    assert back.wall_ms > 0
    assert await server.why_ended() is None


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda data: data[: len(data) // 2], "cut"),
        (lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:], "sha256"),
        (lambda data: b"", "cut"),
    ],
    ids=["cut in the middle", "one bit flipped", "emptied"],
)
async def test_a_harmed_state_never_reaches_the_server(server: LlamaServer, tmp_path: Path, harm, reason: str) -> None:  # type: ignore[no-untyped-def]
    slots, _, file = await saved(server, tmp_path)
    file.write_bytes(harm(file.read_bytes()))
    refused = await slots.restore(1, "")
    assert not refused.done
    assert reason in refused.reason
    assert not refused.restart_needed
    assert await server.why_ended() is None


async def test_a_state_of_other_circumstances_is_refused(
    server: LlamaServer, tmp_path: Path, x86_engine: Path, smollm2: Path
) -> None:
    slots, _, _ = await saved(server, tmp_path)
    assert "system prompt" in (await slots.restore(1, "Be brief.")).reason
    assert "nothing is saved" in (await slots.restore(2, "")).reason
    await server.start(plan_for(x86_engine, smollm2, cache_type_k="q8_0"))
    assert "another model" in (await slots.restore(1, "")).reason
