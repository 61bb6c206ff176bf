"""KV restore: what does a saved conversation save? Reading it again against restoring it, by the wall, by length."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from entity_tui.engine.server import LlamaServer
from entity_tui.engine.server_plan import ServerPlan
from entity_tui.errors import EntityError, UsageError, Where
from entity_tui.experiments.build import Setting
from entity_tui.experiments.equivalence import study_text
from entity_tui.experiments.launches import mask_text
from entity_tui.silicon.widths import widths
from entity_tui.transport.base import Transport

EXPERIMENT = "kv-restore"
LENGTHS = (128, 512, 1024, 2048)
FILE = "entity-kv-restore.bin"
TIMEOUT_S = 600.0


class RestoreFailed(EntityError):
    """The server refused a save or a restore, or ran out of context; its own words are in `detail`."""

    where = Where.WORKLOAD


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """One history length. Times are wall seconds of this computer, the link included; nothing is an engine counter.

    `restored_s` covers the restore and one token behind it; `evaluated` is how many tokens the server still had to
    read after it: 1 when everything came back.
    """

    tokens: int
    reprimed_s: float
    saved_s: float
    restored_s: float
    size_bytes: int
    evaluated: int

    @property
    def bytes_per_token(self) -> float:
        """Size of the saved state over the tokens in it."""
        return self.size_bytes / self.tokens

    @property
    def speedup(self) -> float:
        """How many times faster a restore is than reading the history again."""
        return self.reprimed_s / self.restored_s


def server_plan(setting: Setting, lengths: Sequence[int]) -> ServerPlan:
    """The server this is measured on: automatic widths on the fast cores, room for the longest history.

    UsageError when the engine has no llama-server.
    """
    engine = setting.engine
    if not engine.server:
        raise UsageError("this engine has no llama-server", fix="use a whole release of llama.cpp")
    found = widths(setting.facts.topology)
    return ServerPlan(
        executable=engine.server,
        engine=f"{engine.name} {engine.build}",
        model_path=setting.model.path,
        model_size_bytes=setting.model.size_bytes,
        context_tokens=max(lengths) + 64,
        decode_threads=found.decode,
        prefill_threads=found.prefill,
        mask=mask_text(frozenset(found.pin_cpus)) or "" if setting.can_pin else "",
    )


async def measure_restore(
    transport: Transport,
    setting: Setting,
    *,
    lengths: Sequence[int] = LENGTHS,
    on_point: Callable[[RestorePoint], None] = lambda point: None,
) -> tuple[RestorePoint, ...]:
    """Measure every length on one server. Raises RestoreFailed, and what starting a server can raise."""
    plan = server_plan(setting, lengths)
    points: list[RestorePoint] = []
    server = LlamaServer(transport)
    await server.start(plan)
    try:
        ids = await _ids(server, max(lengths))
        for length in lengths:
            points.append(await _point(server, ids[:length]))
            on_point(points[-1])
    finally:
        await server.stop()
    return tuple(points)


async def _ids(server: LlamaServer, count: int) -> list[int]:
    answer = await server.client.post("/tokenize", json={"content": study_text(3 * count)}, timeout=TIMEOUT_S)
    ids: list[int] = answer.json()["tokens"]
    if len(ids) < count:
        raise RestoreFailed("the text is too short for this length", detail=f"{len(ids)} of {count} tokens")
    return ids


async def _one_token(server: LlamaServer, ids: list[int]) -> tuple[float, int]:
    """(wall seconds of one token behind this history, tokens the server had to read for it)."""
    body = {"prompt": ids, "n_predict": 1, "temperature": 0, "id_slot": 0, "cache_prompt": True}
    began = time.monotonic()
    answer = await server.client.post("/completion", json=body, timeout=TIMEOUT_S)
    seconds = time.monotonic() - began
    found = answer.json()
    if answer.status_code != 200 or "timings" not in found:
        raise RestoreFailed("the server did not answer a prompt", detail=str(found)[:300])
    return seconds, int(found["timings"]["prompt_n"])


async def _slot(server: LlamaServer, action: str) -> tuple[float, dict[str, int]]:
    body = {} if action == "erase" else {"filename": FILE}
    began = time.monotonic()
    answer = await server.client.post("/slots/0", params={"action": action}, json=body, timeout=TIMEOUT_S)
    found = answer.json()
    if answer.status_code != 200:
        raise RestoreFailed(f"the server refused to {action} a slot", detail=str(found)[:300])
    return time.monotonic() - began, found


async def _point(server: LlamaServer, ids: list[int]) -> RestorePoint:
    await _slot(server, "erase")
    reprimed, _ = await _one_token(server, ids)
    saved, answer = await _slot(server, "save")
    await _slot(server, "erase")
    restored, _ = await _slot(server, "restore")
    token, evaluated = await _one_token(server, ids)
    return RestorePoint(len(ids), reprimed, saved, restored + token, int(answer["n_written"]), evaluated)


def sentence(points: Sequence[RestorePoint]) -> str:
    """What a saved conversation saves, in one sentence."""
    if not points:
        return "Nothing was measured."
    last = points[-1]
    if last.evaluated > 1:
        return f"A restore did not bring everything back: {last.evaluated} of {last.tokens} tokens were read again."
    return (
        f"At {last.tokens} tokens a restore takes {last.restored_s:.2f} s and reading again {last.reprimed_s:.2f} s, "
        f"×{last.speedup:.0f}; the file has {last.size_bytes / 1e6:.1f} MB, "
        f"{last.bytes_per_token / 1000:.1f} kB a token."
    )
