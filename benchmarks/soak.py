"""`make soak`: hours on a phone that keeps dropping, in 24 minutes: memory and the number of tasks must stay flat.

A session watches a demo phone at twenty times its speed over a real adb server. Every ten to forty seconds it drops
its link, freezes or reboots; the session comes back by itself. Memory and tasks of the second half are compared with
the first half, the first two minutes left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from entity_tui.errors import EntityError
from entity_tui.session import Session
from entity_tui.sim.launch import DemoPhone, demo_phone
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import DeviceState

GROWTH_BUDGET_MB = 8.0
TASKS_BUDGET = 3
WARM_S = 120.0
FAULTS = (("drop", "1"), ("drop", "3"), ("drop", "8"), ("freeze",), ("reboot", "2"))


@dataclass(frozen=True, slots=True)
class Look:
    """One look at this process."""

    at_s: float
    resident_mb: float
    tasks: int
    ticks: int


def resident_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def trouble(phone: DemoPhone, chance: random.Random, counts: dict[str, int]) -> None:
    """Do something to the phone every now and then."""
    while True:
        await asyncio.sleep(chance.uniform(10, 40))
        fault = chance.choice(FAULTS)
        try:
            await phone.ctl(*fault)
            if fault[0] == "freeze":
                await asyncio.sleep(5)
                await phone.ctl("thaw")
            counts[fault[0]] = counts.get(fault[0], 0) + 1
        except (EntityError, TimeoutError):
            counts["refused"] = counts.get("refused", 0) + 1


async def soak(seconds: float, seed: int) -> int:
    """Watch for so long; print what grew."""
    counts: dict[str, int] = {}
    looks: list[Look] = []
    away = 0
    async with AdbServer() as server, demo_phone("cmf-phone-1", speed=20.0) as phone:
        os.environ["ANDROID_ADB_SERVER_PORT"] = str(server.port)
        session = Session()
        await session.connect(f"adb:{phone.address}")
        troubling = asyncio.create_task(trouble(phone, random.Random(seed), counts))
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            await asyncio.sleep(5)
            at = time.monotonic() - began
            away += session.view.state is not DeviceState.READY
            looks.append(Look(at, resident_mb(), len(asyncio.all_tasks()), session.telemetry.sequence))
        troubling.cancel()
        stored = session.telemetry.sequence
        await session.close()
    return report(looks, counts, away, stored, seconds)


def report(looks: list[Look], counts: dict[str, int], away: int, stored: int, seconds: float) -> int:
    """Compare the halves and print."""
    steady = [look for look in looks if look.at_s >= min(WARM_S, seconds / 3)]
    first, second = steady[: len(steady) // 2], steady[len(steady) // 2 :]
    growth = statistics.median(x.resident_mb for x in second) - statistics.median(x.resident_mb for x in first)
    tasks = statistics.median(x.tasks for x in second) - statistics.median(x.tasks for x in first)
    faults = ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
    print(f"{seconds / 60:.0f} minutes at 20x, {stored} ticks stored, away at {away} of {len(looks)} looks")
    print(f"  faults: {faults}")
    print(f"  resident {steady[0].resident_mb:.1f} MB at first, {steady[-1].resident_mb:.1f} MB at last")
    print(f"  second half against first: memory {growth:+.1f} MB (budget {GROWTH_BUDGET_MB}), tasks {tasks:+.0f}")
    return 0 if growth <= GROWTH_BUDGET_MB and tasks <= TASKS_BUDGET else 1


def main() -> int:
    """Soak and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=4711)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ENTITY_TUI_DATA"] = os.environ["ENTITY_TUI_CONFIG"] = folder
        return asyncio.run(soak(chosen.minutes * 60, chosen.seed))


if __name__ == "__main__":
    sys.exit(main())
