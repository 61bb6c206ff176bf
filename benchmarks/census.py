"""How long the census of a 4 GB model on a phone takes over adb, and how many bytes cross the link.

    python -m benchmarks.census

A simulated phone behind a real adb server holds a sparse file whose header is as large as that of a model with a
vocabulary of 128 000; it is counted 5 times over adb; one read of the same bytes stands beside it.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from entity_tui.engine.model_files import count_model
from entity_tui.models.on_device import ModelFile
from entity_tui.sim.launch import demo_phone
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect
from entity_tui.transport.adb_server import AdbServer

ROUNDS = 5
SIZE_BYTES = 4_000_000_000
RATIO_LIMIT = 10.0


def big_header() -> bytes:
    """Keys of a Llama-3.2-like model: 128 000 tokens, 280 000 merges, one scalar array of the vocabulary's length."""
    from tests.models.gguf_text import ARRAY, I32, STRING, llama_like

    file = llama_like()
    file.keys = [key for key in file.keys if not key[0].startswith("tokenizer.ggml")]
    file.keys += [
        ("tokenizer.ggml.tokens", ARRAY, (STRING, [f"token{n:06d}" for n in range(128_000)])),
        ("tokenizer.ggml.token_type", ARRAY, (I32, [1] * 128_000)),
        ("tokenizer.ggml.merges", ARRAY, (STRING, [f"a{n % 997} b{n % 991}" for n in range(280_000)])),
    ]
    return file.bytes()


async def measure() -> float:
    """Print seconds and bytes; the ratio to the plain read is returned."""
    header = big_header()
    with tempfile.TemporaryDirectory() as home:
        async with AdbServer(home=Path(home)) as server, demo_phone("cmf-phone-1") as phone:
            await connect(server.address, phone.address)
            async with AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True) as adb:
                path = f"{adb.root}/models/four-gb.gguf"
                place = Path(home) / "header.gguf"
                place.write_bytes(header)
                await adb.push(place, path)
                grown = await adb.run(["truncate", "-s", str(SIZE_BYTES), path])
                assert grown.ok, grown.error_text
                times = []
                for _ in range(ROUNDS):
                    began = time.perf_counter()
                    counted = await count_model(adb, [ModelFile(path, SIZE_BYTES, place.name)])
                    times.append(time.perf_counter() - began)
                assert counted.census is not None, counted.error
                began = time.perf_counter()
                await adb.read(path, limit=counted.census.read_bytes)
                plain_s = time.perf_counter() - began
    print(f"header {counted.census.header_bytes / 1e6:.2f} MB of a file of {SIZE_BYTES / 1e9:.0f} GB")
    print(f"census over adb: median {statistics.median(times):.3f} s, {counted.census.read_bytes / 1e6:.2f} MB read")
    ratio = statistics.median(times) / plain_s
    print(f"the same bytes in one read: {plain_s:.3f} s, ratio {ratio:.1f} (at most {RATIO_LIMIT:.0f})")
    return ratio


def main() -> int:
    """Run the benchmark; 1 when the ratio is over its limit."""
    return 1 if asyncio.run(measure()) > RATIO_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
