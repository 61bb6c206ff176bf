"""What our adb link costs (`python -m benchmarks.transport`): against `adb push` and against a bare socket.

A real adb server and a demo phone on this computer. Everything alternates, so that other work on the machine meets both
sides alike; absolute figures stand beside every ratio:
  push      megabytes a second of a push without its verification against the adb program's own (at least 0.95)
  command   one `true`, against a socket that speaks the same protocol and does nothing else
  probe     the whole probe, against the same script over a bare socket
  line      a line to a long-lived shell and back, against the same over a bare socket
Exit 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from entity_tui.experiments.probe import probe
from entity_tui.sim.launch import demo_phone
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Completed
from entity_tui.transport.channel import LineStream
from entity_tui.transport.device_text import quote

PUSH_RATIO = 0.95
Work = Callable[[], Awaitable[object]]


class BareSocket:
    """The adb protocol with nothing around it: no deadline, no state, no way to end what it started."""

    def __init__(self, link: AdbTransport) -> None:
        self._link = link

    async def open(self, command: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A `shell,v2,raw:` service."""
        reader, writer = await asyncio.open_connection(self._link.server.host, self._link.server.port, limit=1 << 20)
        for request in (f"host:transport:{self._link.serial}", f"shell,v2,raw:{command}"):
            data = request.encode()
            writer.write(b"%04x" % len(data) + data)
            assert await reader.readexactly(4) == b"OKAY"
        return reader, writer

    async def run(self, command: str) -> bytes:
        """A command to its end; its standard output."""
        reader, writer = await self.open(command)
        writer.write(struct.pack("<BI", 4, 0))
        out = b""
        while True:
            kind, size = struct.unpack("<BI", await reader.readexactly(5))
            data = await reader.readexactly(size)
            if kind == 1:
                out += data
            elif kind == 3:
                writer.close()
                return out


class Overheard(AdbTransport):
    """Keeps the last script that was run, so that a bare socket can run the same."""

    heard = ""

    async def script(self, text: str, *, args: object = (), timeout_s: float = 30.0) -> Completed:
        """Run it and remember it."""
        words = tuple(args)  # type: ignore[arg-type]
        self.heard = (f"set -- {quote(words)}\n" if words else "") + text
        return await super().script(text, args=words, timeout_s=timeout_s)


async def timed(work: Work) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def pairs(ours: Work, other: Work, count: int) -> tuple[list[float], list[float]]:
    """Alternating times of both, each once before it counts."""
    await ours()
    await other()
    mine, theirs = [], []
    for index in range(count):
        for work, times in ((ours, mine), (other, theirs)) if index % 2 else ((other, theirs), (ours, mine)):
            times.append(await timed(work))
    return mine, theirs


async def push(link: AdbTransport, server: AdbServer, adb: str, folder: Path, size: int, count: int) -> float:
    """Our push without verification against the adb program's: how much of its speed we reach."""
    file = folder / "model.bin"
    file.write_bytes(os.urandom(size))
    spent: list[float] = []

    async def ours() -> None:
        await link.run(["rm", "-f", f"{link.root}/ours.bin"])
        spent.append((await link.push(file, f"{link.root}/ours.bin", verify=False)).duration_s)

    async def raw() -> None:
        argv = [adb, "-s", link.serial, "push", str(file), f"{link.root}/raw.bin"]
        process = await asyncio.create_subprocess_exec(
            *argv, env=server.environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0

    await link.run(["mkdir", "-p", link.root])
    _, theirs = await pairs(ours, raw, count)
    # Each pair met the same load of the machine; the median of their ratios is what is compared with the limit.
    mine_s, raw_s = statistics.median(spent[1:]), statistics.median(theirs)
    ratio = statistics.median(raw / mine for mine, raw in zip(spent[1:], theirs, strict=True))
    print(
        f"push      ours {size / mine_s / 1e6:7.1f} MB/s   adb push {size / raw_s / 1e6:7.1f} MB/s   ratio {ratio:5.2f}"
    )
    return ratio


def report(name: str, mine: list[float], theirs: list[float]) -> None:
    """One line: medians in ms and their ratio."""
    a, b = statistics.median(mine) * 1000, statistics.median(theirs) * 1000
    print(f"{name:9} ours {a:7.2f} ms     bare socket {b:7.2f} ms     ratio {a / b:5.2f}")


async def latencies(link: Overheard, count: int) -> None:
    """Command, probe and line against the bare socket."""
    bare = BareSocket(link)
    report("command", *await pairs(lambda: link.run(["true"]), lambda: bare.run("exec true"), count))
    await probe(link)
    text = link.heard
    report("probe", *await pairs(lambda: link.script(text), lambda: bare.run(text), max(5, count // 20)))
    echo = 'while read -r w; do echo "$w"; done'
    reader, writer = await bare.open(echo)

    async def bare_line() -> None:
        writer.write(struct.pack("<BI", 0, 3) + b"hi\n")
        _, size = struct.unpack("<BI", await reader.readexactly(5))
        await reader.readexactly(size)

    async with link.stream(["sh", "-c", echo]) as lines:
        assert isinstance(lines, LineStream)

        async def our_line() -> None:
            await lines.send(b"hi\n")
            await anext(lines)

        report("line", *await pairs(our_line, bare_line, count * 2))
    writer.close()


async def measure(adb: str, size: int, count: int) -> float:
    """Everything with one adb program."""
    with tempfile.TemporaryDirectory() as folder:
        async with AdbServer(adb) as server, demo_phone("cmf-phone-1", speed=1.0) as phone:
            await connect(server.address, phone.address)
            async with Overheard(phone.address, "127.0.0.1", server.port, simulated=True) as link:
                await latencies(link, count)
                return await push(link, server, adb, Path(folder), size, 7)


def main() -> int:
    """Measure with the adb program in PATH and with the one adbutils brings."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--size-mb", type=int, default=600)
    options.add_argument("--count", type=int, default=200)
    given = options.parse_args()
    import shutil

    import adbutils

    bundled = Path(adbutils.__file__).parent / "binaries" / "adb"
    programs = [path for path in (shutil.which("adb"), str(bundled)) if path and Path(path).exists()]
    ratios = []
    for program in programs:
        print(f"{program if program == str(bundled) else 'adb in PATH'}:".replace(str(bundled), "adb of adbutils"))
        ratios.append(asyncio.run(measure(program, given.size_mb * 1_000_000, given.count)))
    missed = [ratio for ratio in ratios if ratio < PUSH_RATIO]
    print(f"push: {'missed' if missed else 'kept'} the limit of {PUSH_RATIO}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
