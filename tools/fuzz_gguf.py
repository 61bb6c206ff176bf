"""Feed mutated GGUF headers to the reader: every outcome is a header or a GgufError, and memory stays small.

    python tools/fuzz_gguf.py [COUNT] [SEED] [FILE.gguf ...]

Prints how many were read and refused, the time, and the peak memory of this process; ends with 1 on any other outcome.
Named files lend their headers as further seeds.
"""

from __future__ import annotations

import random
import resource
import struct
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEAK_LIMIT_MB = 64.0
INTERESTING = (0, 1, 2, 3, 7, 8, 9, 13, 31, 32, 63, 64, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32)
INTERESTING_WIDE = (*INTERESTING, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def seeds(files: list[str]) -> list[bytes]:
    """Headers of all versions and byte orders, and the first 64 KiB of each named file."""
    sys.path.insert(0, str(ROOT))
    from tests.models.gguf_text import llama_like

    made = [llama_like(version=v, big_endian=b).bytes() for v in (1, 2, 3) for b in (False, True)]
    for name in files:
        with open(name, "rb") as content:
            made.append(content.read(1 << 16))
    return made


def mutate(data: bytes, source: random.Random) -> bytes:
    """One to eight edits: bit flips, interesting numbers, cuts, doubled and moved pieces."""
    raw = bytearray(data)
    for _ in range(source.randint(1, 8)):
        place = source.randrange(max(1, min(len(raw), 4096)))
        kind = source.randrange(6)
        if kind == 0 and raw:
            raw[place % len(raw)] ^= 1 << source.randrange(8)
        elif kind == 1:
            raw[place : place + 4] = struct.pack("<I", source.choice(INTERESTING) & 0xFFFFFFFF)
        elif kind == 2:
            raw[place : place + 8] = struct.pack("<Q", source.choice(INTERESTING_WIDE) & (2**64 - 1))
        elif kind == 3:
            del raw[place : place + source.randint(1, 64)]
        elif kind == 4:
            raw[place:place] = raw[place : place + source.randint(1, 64)]
        elif source.random() < 0.1:
            del raw[source.randrange(len(raw) + 1) :]
    return bytes(raw)


def cases(count: int, seed: int, files: list[str]) -> Iterator[tuple[bytes, int]]:
    """(bytes, stated size): mostly the true size, sometimes a far larger one, as a hostile device would state."""
    source = random.Random(seed)
    known = seeds(files)
    for _ in range(count):
        data = mutate(source.choice(known), source)
        yield data, len(data) if source.random() < 0.8 else len(data) + source.choice((1, 4096, 2**32, 2**40))


def piece(data: bytes, offset: int, count: int) -> bytes:
    """The bytes a file would give."""
    return data[offset : offset + count]


def peak_memory_mb() -> float:
    """Peak resident memory of this program. VmHWM starts anew with it; ru_maxrss would keep its parent's."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def main(arguments: list[str]) -> int:
    """Run the fuzz; 0 when every outcome was one of the two and memory stayed below the limit."""
    from entity_tui.models.census import census
    from entity_tui.models.header import read_header
    from entity_tui.models.window import GgufError

    count = int(arguments[0]) if arguments else 100_000
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    read = refused = 0
    slowest = 0.0
    began = time.perf_counter()
    for number, (data, size) in enumerate(cases(count, seed, arguments[2:])):
        start = time.perf_counter()
        try:
            census(read_header(partial(piece, data), size))
            read += 1
        except GgufError:
            refused += 1
        except Exception as error:  # the border of this tool: any other failure is what it looks for
            print(f"case {number} of seed {seed}: {type(error).__name__}: {error}")
            return 1
        slowest = max(slowest, time.perf_counter() - start)
    took = time.perf_counter() - began
    peak_mb = peak_memory_mb()
    print(f"{count} headers, seed {seed}: {read} read, {refused} refused, 0 other outcomes")
    print(f"{took:.1f} s, slowest {slowest * 1000:.1f} ms, peak memory {peak_mb:.1f} MB (limit {PEAK_LIMIT_MB:.0f})")
    return 0 if peak_mb < PEAK_LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
