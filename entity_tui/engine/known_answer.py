"""One question with a known answer, asked of a server that is started for it and ended again."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.engine.build import EngineBuild
from entity_tui.engine.log_lines import KleidiAi, parse_log
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.engine.server_plan import ServerPlan
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.base import Transport

PROMPT = "The capital of France is"
EXPECTED = "Paris"
_TOKENS = 12
_TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model went on with, and whether that is right."""

    text: str
    expected: str
    right: bool
    variant: str | None
    kleidiai: KleidiAi
    """What the server's own log said of KleidiAI while it loaded this model."""


async def ask_known_answer(transport: Transport, engine: EngineBuild, model: ModelFile) -> Answer:
    """Start a llama-server on one thread, ask greedily, end it. Raises ServerFailed or the link's errors.

    It has a folder of its own, so that a server somebody chats with is left alone.
    """
    executable = engine.program("llama-server")
    if executable is None:
        raise ServerFailed("This engine has no llama-server.", state="workload_error")
    plan = ServerPlan(
        executable=executable,
        engine=engine.label,
        model_path=model.path,
        model_size_bytes=model.size_bytes,
        context_tokens=256,
        decode_threads=1,
        prefill_threads=1,
    )
    async with LlamaServer(transport) as server:
        server.folder = f"{transport.root}/check"
        try:
            status = await server.start(plan)
            body = {"prompt": PROMPT, "n_predict": _TOKENS, "temperature": 0.0, "seed": 1}
            reply = await server.client.post("/completion", json=body, timeout=_TIMEOUT_S)
            if reply.status_code != 200:
                raise ServerFailed("The server refused the question.", state="workload_error", detail=reply.text[:300])
            text = str(reply.json().get("content", "")).strip()
            kleidiai = parse_log(await server.log_text()).kleidiai
            return Answer(text, EXPECTED, EXPECTED.lower() in text.lower(), status.log.variant, kleidiai)
        finally:
            await server.stop()
            await transport.script('rm -rf -- "$1"', args=(server.folder,))
