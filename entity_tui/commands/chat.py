"""`entity-tui chat`: one reply streamed to stdout, or a conversation line by line in any terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from entity_tui import config
from entity_tui.commands.options import ask_trust, device_options, run_async
from entity_tui.errors import EntityError, UsageError
from entity_tui.printable import printable

if TYPE_CHECKING:
    from entity_tui.chat.conversation import Message
    from entity_tui.chat.prepare import ChatSettings, Prepared
    from entity_tui.chat.store import ConversationStore
    from entity_tui.chat.talk import Talk
    from entity_tui.engine.server import LlamaServer

LINE_HELP = """\
/again   another answer to the last question      /save    keep the KV state on the device
/system  set the system prompt                    /export  write Markdown beside you
/list    conversations     /open N  continue one  /name T  rename this one
/quit    leave; the server on the device is ended unless --keep"""


@click.command()
@click.argument("text", required=False)
@device_options
@click.option("--engine", default="", metavar="PATH", help="Engine folder, when the device has several.")
@click.option("--model", default="", metavar="NAME", help="Model file on the device.")
@click.option("--session", "session_name", metavar="NAME", help="Continue the conversation of this title, or start it.")
@click.option("--system", default=None, help="System prompt.")
@click.option("--context", type=click.IntRange(256, 131072), default=None, help="Context window; automatic without.")
@click.option("--threads", type=click.IntRange(1, 64), default=None, help="Decode threads; automatic without.")
@click.option("--placement", type=click.Choice(["auto", "perf_cores", "scheduler", "little_only"]), default="auto")
@click.option("--efficiency", is_flag=True, help="Two decode threads and a doubled thermal guard.")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.30, show_default=True)
@click.option("--top-k", type=click.IntRange(0, 1000), default=40, show_default=True)
@click.option("--top-p", type=click.FloatRange(0, 1), default=0.95, show_default=True)
@click.option("--min-p", type=click.FloatRange(0, 1), default=0.05, show_default=True)
@click.option("--repeat-penalty", type=click.FloatRange(0.5, 2), default=1.1, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1, 8192), default=1024, show_default=True)
@click.option("--seed", type=int, default=-1, help="-1 takes a fresh one each time.")
@click.option("--image", type=click.Path(), help="Refused: see the message.")
@click.option("--json", "as_json", is_flag=True, help="One object with the reply and its cost.")
@click.option("--keep", is_flag=True, help="Leave the server running on the device.")
@click.option("--list", "listing", is_flag=True, help="List the conversations that are kept here.")
def command(**options: Any) -> None:
    """Talk to a model that runs on the device. Without TEXT: a conversation, line by line."""
    if options["image"]:
        raise UsageError(
            "images cannot be sent", fix="this version starts text models only (no projector file is pushed or loaded)"
        )
    if options["listing"]:
        _list()
        return
    text = options["text"]
    if text == "-" or (text is None and not sys.stdin.isatty()):
        text = sys.stdin.read()
    if text is not None and not text.strip():
        raise UsageError("there is nothing to say", fix='entity-tui chat "…" or pipe a text into it')
    run_async(_one(text, options) if text is not None else _lines(options))


def _store() -> ConversationStore:
    from entity_tui.chat.store import ConversationStore

    return ConversationStore(config.data_folder() / "conversations.db")


def _list() -> None:
    store = _store()
    for row in store.listed():
        click.echo(f"{row.number:4}  {row.updated_utc[:16]}  {row.turns:3} turns  {printable(row.title)}")
    store.close()


def _settings(options: dict[str, Any]) -> ChatSettings:
    from entity_tui.chat.prepare import ChatSettings

    return ChatSettings(
        engine=options["engine"],
        model=options["model"],
        context_tokens=options["context"] or 0,
        threads=options["threads"] or 0,
        placement=options["placement"],
        efficiency=options["efficiency"],
    )


@asynccontextmanager
async def _talking(options: dict[str, Any]) -> AsyncIterator[tuple[Talk, LlamaServer, Prepared]]:
    """A server on the device and the conversation with it; the server is ended at the end unless it is kept."""
    from entity_tui.chat.generate import Sampling
    from entity_tui.chat.guard import GuardSettings
    from entity_tui.chat.prepare import prepare
    from entity_tui.chat.talk import Talk
    from entity_tui.connect import connect_device
    from entity_tui.device.facts import read_facts
    from entity_tui.engine.server import LlamaServer
    from entity_tui.experiments.probe import probe

    async with connect_device(options["device"], speed=options["speed"], trust=ask_trust) as transport:
        facts = read_facts(await probe(transport))
        prepared = await prepare(transport, facts, _settings(options))
        store = _store()
        name = options["session_name"]
        conversation = store.find(name) if name else None
        if conversation is None:
            conversation = store.create(
                title=name or "", system=options["system"] or "", model_name=prepared.model.name
            )
        elif options["system"] is not None:
            conversation = store.set_system(conversation, options["system"])
        server = LlamaServer(transport)
        try:
            status = await server.start(prepared.plan, on_step=_step)
            variant = status.log.variant or "not named"
            simulated = "  simulated device" if transport.simulated else ""
            click.echo(
                f"{printable(prepared.model.name)}  {variant}  {prepared.placement}  "
                f"context {status.context_tokens}{simulated}",
                err=True,
            )
            talk = Talk(
                server,
                store,
                conversation,
                sampling=Sampling(
                    options["temperature"],
                    options["top_k"],
                    options["top_p"],
                    options["min_p"],
                    options["repeat_penalty"],
                    max_tokens=options["max_tokens"],
                    seed=options["seed"],
                ),
                guard=GuardSettings(efficiency=options["efficiency"]),
                thermal_status=lambda: facts.thermal.status,
                placement=prepared.placement,
            )
            yield talk, server, prepared
        finally:
            if options["keep"]:
                await server.detach()
            else:
                await server.stop()
            store.close()


def _step(words: str, seconds: float) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{words}, {seconds:.1f} s   ", nl=False, err=True)


async def _one(text: str, options: dict[str, Any]) -> None:
    """One reply: its text to stdout as it comes, its cost to stderr."""
    async with _talking(options) as (talk, _, _prepared):
        message = await _say(talk, text, quiet=options["as_json"])
        if options["as_json"]:
            click.echo(json.dumps(_object(talk, message), indent=1, ensure_ascii=False))


def _object(talk: Talk, message: Message) -> dict[str, Any]:
    cost = message.cost
    return {
        "conversation": talk.conversation.number,
        "title": talk.conversation.title,
        "reply": message.text,
        "reasoning": message.reasoning,
        "truncated": message.truncated,
        "simulated": talk.server.transport.simulated,
        "cost": None
        if cost is None
        else {
            **asdict(cost),
            "decode_tok_s": cost.decode_tok_s,
            "prompt_tok_s": cost.prompt_tok_s,
            "energy_j_per_token": cost.energy_j_per_token,
        },
    }


async def _say(talk: Talk, text: str | None, *, quiet: bool = False) -> Message:
    """Ask (or, with None, answer again) and stream the reply; ctrl+c stops it and keeps what was shown."""
    import contextlib
    import signal

    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    def stop() -> None:
        stopping.append(asyncio.ensure_future(talk.stop()))

    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, stop)
    shown = 0
    try:
        said = talk.again() if text is None else talk.ask(text)
        async for part in said:
            fresh, shown = part.message.text[shown:], len(part.message.text)
            if fresh and not quiet:
                click.echo(printable(fresh, keep_newlines=True), nl=False)
            if part.fitted.dropped_tokens and shown == len(fresh) and fresh:
                click.echo(f"[{part.fitted.dropped_tokens} tokens of the oldest turns were left out]", err=True)
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stopping, return_exceptions=True)
    message = talk.conversation.messages[-1]
    if not quiet:
        click.echo("")
    click.echo(_cost_line(message), err=True)
    return message


def _cost_line(message: Message) -> str:
    cost = message.cost
    if cost is None:
        return ""
    from entity_tui.chat.export import cost_words

    parts = [f"{cost.generated_tokens} tok", *cost_words(cost)]
    if cost.prompt_tokens is not None:
        parts.append(f"prompt {cost.prompt_tokens} read, {cost.cached_tokens} reused")
    if cost.context_size:
        parts.append(f"context {cost.context_used}/{cost.context_size}")
    parts.append(cost.finish)
    return "[" + "  ".join(parts) + "]"


async def _lines(options: dict[str, Any]) -> None:
    """A conversation in a terminal that needs nothing but lines."""
    async with _talking(options) as (talk, server, _prepared):
        click.echo("Write a line and press enter; /help lists what else there is, ctrl+d leaves.", err=True)
        while True:
            try:
                line = await asyncio.to_thread(input, "> ")
            except EOFError:
                return
            if not line.strip():
                continue
            try:
                if line.startswith("/"):
                    if not await _slash(line, talk, server):
                        return
                else:
                    await _say(talk, line)
            except EntityError as error:
                click.echo(f"✖ {error}", err=True)


async def _slash(line: str, talk: Talk, server: LlamaServer) -> bool:
    """One of the slash commands; False leaves."""
    from pathlib import Path

    from entity_tui.chat.export import to_markdown
    from entity_tui.chat.slots import Slots

    word, _, rest = line[1:].partition(" ")
    if word == "quit":
        return False
    if word == "again":
        await _say(talk, None)
    elif word == "system":
        talk.conversation = talk.store.set_system(talk.conversation, rest)
    elif word == "name" and rest:
        talk.conversation = talk.store.rename(talk.conversation, rest)
    elif word == "list":
        for row in talk.store.listed(rest):
            click.echo(f"{row.number:4}  {printable(row.title)}", err=True)
    elif word == "open" and rest.isdigit():
        talk.conversation = talk.store.load(int(rest))
        outcome = await Slots(server).restore(talk.conversation.number, talk.conversation.system)
        words = f"state restored, {outcome.tokens} tokens" if outcome.done else f"will be read again: {outcome.reason}"
        click.echo(f"{printable(talk.conversation.title)}: {words}", err=True)
    elif word == "save":
        outcome = await Slots(server).save(talk.conversation.number, talk.conversation.system)
        click.echo(f"kept, {outcome.size_bytes / 1e6:.1f} MB" if outcome.done else outcome.reason, err=True)
    elif word == "export":
        path = Path(f"conversation-{talk.conversation.number}.md")
        path.write_text(to_markdown(talk.conversation), encoding="utf-8")
        click.echo(str(path.resolve()), err=True)
    else:
        click.echo(LINE_HELP, err=True)
    return True
