"""What talking through us costs against a raw streaming request, and what a saved state saves against reading again.

Run from the repository's root: `python -m benchmarks.chat_speed`. A real llama-server with one thread on one CPU; raw
and ours alternate, the same prompt, greedy. Restoring is timed by the wall, the check of the file included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from entity_tui.chat.events import Ended, Piece
from entity_tui.chat.generate import Reply, Sampling
from entity_tui.chat.slots import Slots
from entity_tui.engine.server import LlamaServer
from entity_tui.engine.server_plan import ServerPlan
from entity_tui.transport.local import LocalTransport
from tests.fixtures.engine import engine_folder, model_file

SPEED_BUDGET = 0.99
TOKENS = 160
LENGTHS = (128, 512, 1024, 2048)


async def raw_rate(server: LlamaServer, prompt: list[int]) -> float:
    """Tokens after the first over their seconds, from a plain streaming request."""
    body = {"prompt": prompt, "n_predict": TOKENS, "stream": True, "temperature": 0, "ignore_eos": True, "id_slot": 0}
    times: list[float] = []
    async with server.client.stream("POST", "/completion", json=body) as answer:
        lines = answer.aiter_lines()
        times += [time.monotonic() async for line in lines if line[:5] == "data:" and not json.loads(line[5:])["stop"]]
    return (len(times) - 1) / (times[-1] - times[0])


class Endless(Sampling):
    """Greedy, and never the end of the text."""

    def request(self) -> dict[str, object]:
        """As ours, with the end token ignored."""
        return {**super().request(), "ignore_eos": True, "repeat_penalty": 1.0}


async def our_rate(server: LlamaServer, prompt: list[int]) -> float:
    """The same through a Reply, guard idle."""
    reply = Reply(server, prompt, Endless(temperature=0.0, max_tokens=TOKENS))
    times = [time.monotonic() async for event in reply.events() if isinstance(event, Piece)]
    return (len(times) - 1) / (times[-1] - times[0])


async def prime_s(server: LlamaServer, prompt: list[int]) -> float:
    """Seconds until a prompt that is not in the slot has been read and one token made."""
    await server.client.post("/slots/0", params={"action": "erase"}, json={})
    began = time.monotonic()
    reply = Reply(server, prompt, Sampling(temperature=0.0, max_tokens=1))
    async for event in reply.events():
        if isinstance(event, Ended):
            break
    return time.monotonic() - began


async def measure(pairs: int) -> int:
    """Start the server, measure in turns, print."""
    engine, model = engine_folder(), model_file()
    plan = ServerPlan(
        executable=str(engine / "llama-server"),
        engine="llama.cpp b11434",
        model_path=str(model),
        model_size_bytes=model.stat().st_size,
        context_tokens=4096,
        decode_threads=1,
        prefill_threads=1,
        mask="1",
    )
    async with LocalTransport() as transport:
        server = LlamaServer(transport)
        await server.start(plan)
        try:
            words = "The quick brown fox jumps over the lazy dog. " * 400
            ids = (await server.client.post("/tokenize", json={"content": words})).json()["tokens"]
            ratios = []
            for number in range(pairs):
                order = (raw_rate, our_rate) if number % 2 else (our_rate, raw_rate)
                rates = {run: await run(server, ids[:64]) for run in order}
                ratios.append(rates[our_rate] / rates[raw_rate])
            ratio = statistics.median(ratios)
            print(
                f"Chat against a raw streaming request, {pairs} pairs of {TOKENS} tokens, one thread: ratio {ratio:.3f}"
            )
            print(f"  budget {SPEED_BUDGET}; pairs {min(ratios):.3f} to {max(ratios):.3f}")
            await restore_table(server, ids)
        finally:
            await server.stop()
    return 0 if ratio >= SPEED_BUDGET else 1


async def restore_table(server: LlamaServer, ids: list[int]) -> None:
    """Reading a history again against restoring it, wall time, four lengths."""
    slots = Slots(server)
    print("Restoring a saved conversation against reading it again (wall, file checked by sha256)")
    for number, length in enumerate(LENGTHS, 1):
        primed = await prime_s(server, ids[:length])
        saved = await slots.save(number, "")
        await server.client.post("/slots/0", params={"action": "erase"}, json={})
        restored = await slots.restore(number, "")
        if not (saved.done and restored.done):
            raise SystemExit(f"{saved.reason} {restored.reason}")
        ratio = primed * 1000 / restored.wall_ms
        size = saved.size_bytes / 1e6
        times = f"read {primed:6.2f} s  restored {restored.wall_ms / 1000:6.3f} s  x{ratio:.0f}"
        print(f"  {length:5} tokens  {size:5.1f} MB  {times}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=12)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        import os

        os.environ["ENTITY_ROOT"] = str(Path(folder) / "device")
        return asyncio.run(measure(chosen.pairs))


if __name__ == "__main__":
    sys.exit(main())
