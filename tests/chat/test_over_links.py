"""Talking to a real model over real adb and real SSH, through lost links and dying servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from entity_tui.chat.conversation import Message
from entity_tui.chat.events import Finish, Piece
from entity_tui.chat.generate import Sampling
from entity_tui.chat.prepare import ChatSettings, prepare
from entity_tui.chat.store import ConversationStore
from entity_tui.chat.talk import Talk
from entity_tui.device.facts import read_facts
from entity_tui.engine.server import LlamaServer
from entity_tui.experiments.probe import probe
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Transport
from entity_tui.transport.ssh import SshTransport
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.ssh import SshServer
from tests.fixtures.tools import until

pytestmark = pytest.mark.long

GREEDY = Sampling(temperature=0.0, max_tokens=24)
STORY = "Write a long story about a lighthouse."


@asynccontextmanager
async def talking(
    transport: Transport, folder: Path, sampling: Sampling, engine: str, model: str
) -> AsyncIterator[Talk]:
    """A server on the device and an empty conversation with it; the server is ended afterwards."""
    facts = read_facts(await probe(transport))
    settings = ChatSettings(engine=engine, model=model, context_tokens=512, threads=1, placement="scheduler")
    prepared = await prepare(transport, facts, settings)
    server, store = LlamaServer(transport), ConversationStore(folder / "chat.db")
    await server.start(prepared.plan)
    try:
        yield Talk(server, store, store.create(model_name=prepared.model.name), sampling=sampling)
    finally:
        await server.stop()
        store.close()


@pytest.fixture
async def phone(phones: PhoneFactory, x86_engine: Path) -> DemoPhone:
    """A demo phone in real time with a real engine in it."""
    return await phones("cmf-phone-1", speed=1.0, engine=x86_engine)


@pytest.fixture
async def link(phone: DemoPhone, adb_server: AdbServer, smollm2: Path) -> AsyncIterator[AdbTransport]:
    """The phone over the real adb server, with the small model pushed to it."""
    transport = AdbTransport(phone.address, "127.0.0.1", adb_server.port, simulated=True)
    async with transport:
        await transport.push(smollm2, f"{transport.root}/models/{smollm2.name}")
        yield transport


async def reply_of(talk: Talk, text: str) -> Message:
    async for _ in talk.ask(text):
        pass
    return talk.conversation.messages[-1]


async def test_a_real_reply_comes_over_real_adb(link: AdbTransport, smollm2: Path, tmp_path: Path) -> None:
    async with talking(link, tmp_path, GREEDY, "", smollm2.name) as talk:
        message = await reply_of(talk, "What is the capital of France?")
    assert "Paris" in message.text
    assert message.cost is not None
    assert message.cost.simulated
    assert message.cost.variant


async def test_a_real_reply_comes_over_real_ssh(
    ssh_server: SshServer, x86_engine: Path, smollm2: Path, tmp_path: Path
) -> None:
    trust = tmp_path / "known_hosts"
    trust.write_text(ssh_server.host_key_line + "\n", encoding="utf-8")
    transport = SshTransport(
        ssh_server.destination,
        root=str(tmp_path / "device" / "entity"),
        config=[],
        client_keys=[ssh_server.client_key],
        trust_file=trust,
    )
    async with transport:
        there = f"{transport.root}/models/{smollm2.name}"
        await transport.run(["mkdir", "-p", f"{transport.root}/models", f"{transport.root}/engines"])
        await transport.run(["ln", "-s", str(smollm2), there])
        await transport.run(["cp", "-r", str(x86_engine), f"{transport.root}/engines/llama-b11434"])
        async with talking(transport, tmp_path, GREEDY, "", smollm2.name) as talk:
            message = await reply_of(talk, "What is the capital of France?")
    assert "Paris" in message.text


async def test_a_reply_survives_a_cut_link_with_nothing_lost_or_twice(
    link: AdbTransport, phone: DemoPhone, smollm2: Path, tmp_path: Path
) -> None:
    sampling = Sampling(temperature=0.0, max_tokens=300)
    async with talking(link, tmp_path, sampling, "", smollm2.name) as talk:
        whole = (await reply_of(talk, STORY)).text
        talk.conversation = talk.store.create()
        pieces = 0
        async for said in talk.ask(STORY):
            pieces += isinstance(said.event, Piece)
            if pieces == 20:
                await phone.ctl("drop", "1")
                pieces += 1
        message = talk.conversation.messages[-1]
    assert message.text == whole
    assert message.cost is not None
    assert message.cost.finish in (Finish.STOP, Finish.LENGTH)


async def test_a_killed_server_keeps_what_was_shown_and_the_talk_goes_on(
    link: AdbTransport, smollm2: Path, tmp_path: Path
) -> None:
    sampling = Sampling(temperature=0.0, max_tokens=400)
    async with talking(link, tmp_path, sampling, "", smollm2.name) as talk:
        assert talk.server.status is not None
        plan, job, pieces = talk.server.status.plan, talk.server.status.job, 0
        async for said in talk.ask(STORY):
            pieces += isinstance(said.event, Piece)
            if pieces == 10:
                await link.signal(job, 9)
                pieces += 1
        cut = talk.conversation.messages[-1]
        assert cut.text
        assert cut.cost is not None
        assert cut.cost.finish == Finish.LOST
        assert "killed" in (talk.last_detail or "")
        await talk.server.start(plan)
        talk.sampling = GREEDY
        again = await reply_of(talk, "What is the capital of France?")
    assert again.text
    assert again.cost is not None
    assert again.cost.finish != Finish.LOST


async def test_a_laptop_that_dies_in_mid_reply_loses_nothing_shown(
    link: AdbTransport, smollm2: Path, tmp_path: Path
) -> None:
    sampling = Sampling(temperature=0.0, max_tokens=400)
    async with talking(link, tmp_path, sampling, "", smollm2.name) as talk:
        shown: list[str] = []

        async def listen() -> None:
            async for said in talk.ask(STORY):
                shown.append(said.message.text)

        task = asyncio.create_task(listen())
        await until(lambda: len(shown) > 30)
        # As at a kill: nobody closes anything; another process opens the same file.
        kept = ConversationStore(tmp_path / "chat.db").load(talk.conversation.number).messages[-1].text
        assert kept
        assert shown[-1].startswith(kept)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        final = talk.store.load(talk.conversation.number).messages[-1]
    assert final.truncated
    assert final.text == shown[-1]
