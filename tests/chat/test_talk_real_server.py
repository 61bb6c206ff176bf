"""A conversation with a real llama-server and a real small model on this computer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from entity_tui.chat.conversation import Role
from entity_tui.chat.events import Backoff, Ended, Finish, Piece
from entity_tui.chat.generate import Reply, Sampling
from entity_tui.chat.guard import GuardSettings
from entity_tui.chat.store import ConversationStore
from entity_tui.chat.talk import Said, Talk
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.engine.server_plan import ServerPlan
from entity_tui.transport.local import LocalTransport
from tests.fixtures.tools import until

GREEDY = Sampling(temperature=0.0, max_tokens=40, seed=1)


def plan_for(engine: Path, model: Path, **changes: object) -> ServerPlan:
    values: dict[str, object] = {
        "executable": str(engine / "llama-server"),
        "engine": "llama.cpp b11434",
        "model_path": str(model),
        "model_size_bytes": model.stat().st_size,
        "context_tokens": 512,
        "decode_threads": 1,
        "prefill_threads": 1,
        "mask": "1",
    }
    return ServerPlan(**{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture
async def server(
    x86_engine: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LlamaServer]:
    """A running server, ended by its id afterwards."""
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    transport = LocalTransport()
    await transport.connect()
    server = LlamaServer(transport)
    await server.start(plan_for(x86_engine, smollm2))
    try:
        yield server
    finally:
        await server.stop()
        await transport.close()


async def everything(talk: Talk, text: str) -> list[Said]:
    return [said async for said in talk.ask(text)]


async def test_a_reply_is_streamed_kept_and_costed(server: LlamaServer, tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = Talk(server, store, store.create(model_name="SmolLM2"), sampling=GREEDY)
    said = await everything(talk, "What is the capital of France?")
    kept = store.load(talk.conversation.number)
    assert kept.title == "What is the capital of France?"
    assert "Paris" in kept.messages[-1].text
    assert kept.messages[-1].text == said[-1].message.text
    cost = kept.messages[-1].cost
    assert cost is not None
    assert cost.generated_tokens is not None
    assert cost.generated_tokens > 1
    assert cost.decode_tok_s is not None
    assert cost.variant == server.status.log.variant  # type: ignore[union-attr]
    assert cost.power_w is None
    assert cost.power_note == "no power reading"
    store.close()


async def test_the_kernel_shows_the_mask_that_was_asked_for(server: LlamaServer) -> None:
    masks = await server.thread_masks()
    assert masks
    assert set(masks) == {"0"}


async def test_the_same_plan_finds_the_running_server_again(
    server: LlamaServer, x86_engine: Path, smollm2: Path
) -> None:
    first = server.status
    await server.detach()
    again = await server.start(plan_for(x86_engine, smollm2))
    assert again.reused
    assert first is not None
    assert again.job == first.job


async def test_a_stopped_reply_keeps_what_was_shown_and_says_so(server: LlamaServer, tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = Talk(server, store, store.create(), sampling=Sampling(temperature=0.0, max_tokens=900))
    pieces = 0
    async for said in talk.ask("Count from one to five hundred in words."):
        pieces += isinstance(said.event, Piece)
        if pieces == 12:
            await talk.stop()
    kept = store.load(talk.conversation.number).messages[-1]
    assert kept.role is Role.ASSISTANT
    assert kept.truncated
    assert kept.cost is not None
    assert kept.cost.finish == Finish.STOPPED
    assert kept.cost.generated_tokens is not None
    assert 12 <= kept.cost.generated_tokens < 200

    async def idle() -> bool:
        slots = (await server.client.get("/slots")).json()
        return not slots[0]["is_processing"]

    await until(idle, within_s=2.0)
    store.close()


async def test_greedy_text_under_the_guard_is_the_unguarded_text(server: LlamaServer) -> None:
    ids = (await server.client.post("/tokenize", json={"content": "Once upon a time"})).json()["tokens"]
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    async def text_of(status: int, **guard: bool) -> str:
        reply = Reply(server, ids, GREEDY, guard=GuardSettings(**guard), status=lambda: status, sleep=no_wait)
        parts = [event async for event in reply.events()]
        assert isinstance(parts[-1], Ended)
        assert len([part for part in parts if isinstance(part, Backoff)]) == (5 if status else 0)
        return "".join(part.text for part in parts if isinstance(part, Piece))

    free = await text_of(0)
    assert await text_of(2) == free
    assert waited == [0.006] * 5
    waited.clear()
    assert await text_of(3, efficiency=True) == free
    assert waited == [0.024] * 5


async def test_the_oldest_half_goes_when_the_window_is_full(server: LlamaServer, tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "chat.db")
    talk = Talk(server, store, store.create(system="Be brief."), sampling=Sampling(temperature=0.0, max_tokens=8))
    filler = "The quick brown fox jumps over the lazy dog. " * 12
    dropped = 0
    for _ in range(6):
        said = await everything(talk, filler)
        dropped = max(dropped, said[-1].fitted.dropped_tokens)
    assert dropped > 100
    assert len(store.load(talk.conversation.number).messages) == 12
    store.close()


async def test_a_file_that_is_no_model_is_named_with_what_to_do(
    x86_engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\xff" * 64)
    async with LocalTransport() as transport:
        with pytest.raises(ServerFailed) as failure:
            await LlamaServer(transport).start(plan_for(x86_engine, broken))
    assert failure.value.state == "model_load_failed"
    assert failure.value.fix
