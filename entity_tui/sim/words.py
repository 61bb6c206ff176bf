"""The words of `entity-tui sim ctl`: everything that can happen to a phone, on request."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable

from entity_tui.errors import UsageError
from entity_tui.sim.enclosure import EnclosureKind
from entity_tui.sim.phone import Phone

HELP = {
    "status": "what the phone is and does, as JSON",
    "drop [S]": "cut the connection; refuse new ones for S seconds",
    "freeze": "stop answering while the connection stays up",
    "thaw": "go on answering",
    "slow MS": "answer MS milliseconds later; 0 is quick again",
    "reboot [S]": "end everything, be off for S seconds, come back with another boot id",
    "offline-core N": "take a core away",
    "online-core N": "give it back",
    "fill-disk": "leave no byte of the data partition",
    "free-disk": "give the space back",
    "charge on|off": "plug the charger in or out",
    "thermal-status N|auto": "force Android's thermal status",
    "heat C": "set the body's temperature",
    "load SHARE [CPUS]": "keep cores busy with other work; 0 ends it",
    "unauthorize": "forget every key and ask again",
    "authorize": "tap Allow on the phone's screen",
    "off": "end the phone",
}


class Words:
    """Understands one request for one phone."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self.ended = asyncio.Event()
        self._jobs: set[asyncio.Task[None]] = set()

    async def __call__(self, words: list[str]) -> str:
        """Do what the words say and return one line about it. Raises UsageError for words that mean nothing."""
        if not words:
            raise UsageError("say what should happen", fix="; ".join(HELP))
        name, arguments = words[0], words[1:]
        handlers: dict[str, Callable[[list[str]], Awaitable[str]]] = {
            "status": self.status,
            "drop": self.drop,
            "freeze": self.freeze,
            "thaw": self.thaw,
            "slow": self.slow,
            "reboot": self.reboot,
            "offline-core": self.offline_core,
            "online-core": self.online_core,
            "fill-disk": self.fill_disk,
            "free-disk": self.free_disk,
            "charge": self.charge,
            "thermal-status": self.thermal_status,
            "heat": self.heat,
            "load": self.load,
            "unauthorize": self.unauthorize,
            "authorize": self.authorize,
            "off": self.off,
        }
        if name not in handlers:
            raise UsageError(f"unknown word {name!r}", fix=f"one of: {'; '.join(HELP)}")
        try:
            return await handlers[name](arguments)
        except (ValueError, IndexError) as error:
            usage = next(line for line in HELP if line.split()[0] == name)
            raise UsageError(f"usage: {usage}", detail=str(error)) from error

    def _later(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def status(self, _: list[str]) -> str:
        """Everything a test may want to know."""
        phone, body = self.phone, self.phone.body
        return json.dumps(
            {
                "profile": phone.image.name,
                "address": phone.adbd.address,
                "simulated": True,
                "clock_factor": phone.speed,
                "uptime_s": round(phone.clock.uptime_s(), 3),
                "boot_id": phone.live.boot_id,
                "enclosure": phone.enclosure.kind.value,
                "refused_enclosures": list(phone.enclosure.refusals),
                "shell": phone.programs.shell,
                "tools": phone.programs.tools,
                "links": len(phone.adbd.links),
                "jobs": len(phone.workload.benches) + phone.workload.engines,
                "processes": len(phone.view.pids()),
                "chip_c": round(body.chip_c, 2),
                "body_c": round(body.body_c, 2),
                "power_w": round(body.power_w, 3),
                "thermal_status": body.status(),
                "level_pct": round(body.level_pct(), 2),
                "charging": body.charging,
                "offline": sorted(body.offline),
                "now_khz": body.now_khz,
                "cap_khz": body.cap_khz,
                "unauthorized": phone.adbd.faults.unauthorized,
            }
        )

    async def drop(self, arguments: list[str]) -> str:
        """Cut every link."""
        seconds = float(arguments[0]) if arguments else 0.0
        faults = self.phone.adbd.faults
        faults.refused_until_s = asyncio.get_running_loop().time() + seconds
        faults.freeze(False)
        count = len(self.phone.adbd.links)
        self.phone.adbd.drop()
        return f"dropped {count} link(s)" + (f"; away for {seconds:g} s" if seconds else "")

    async def freeze(self, _: list[str]) -> str:
        """The link stays up and nobody answers."""
        self.phone.adbd.faults.freeze(True)
        return "frozen"

    async def thaw(self, _: list[str]) -> str:
        """Answers again, what waited included."""
        self.phone.adbd.faults.freeze(False)
        return "thawed"

    async def slow(self, arguments: list[str]) -> str:
        """Every packet of the phone is late."""
        self.phone.adbd.faults.delay_s = max(0.0, float(arguments[0])) / 1000
        return f"every answer is {float(arguments[0]):g} ms late"

    async def reboot(self, arguments: list[str]) -> str:
        """Off and on again; the answer comes at once."""
        seconds = float(arguments[0]) if arguments else 1.5
        self._later(self.phone.reboot(off_s=seconds))
        return f"rebooting; back in {seconds:g} s"

    async def offline_core(self, arguments: list[str]) -> str:
        """Hotplug a core out; the last one stays."""
        cpu, body = int(arguments[0]), self.phone.body
        if cpu not in self.phone.image.silicon.cpus:
            raise ValueError(f"there is no core {cpu}")
        if set(self.phone.image.silicon.cpus) <= body.offline | {cpu}:
            raise ValueError("one core has to stay")
        body.offline.add(cpu)
        self.phone.live.refresh(self.phone.clock.uptime_s())
        return f"core {cpu} is offline"

    async def online_core(self, arguments: list[str]) -> str:
        """Hotplug it in again."""
        self.phone.body.offline.discard(int(arguments[0]))
        self.phone.live.refresh(self.phone.clock.uptime_s())
        return f"core {int(arguments[0])} is online"

    async def fill_disk(self, _: list[str]) -> str:
        """Shrink the data partition to what is used."""
        if self.phone.enclosure.kind is EnclosureKind.PREFIX:
            raise UsageError("without namespaces the phone's disk is this computer's: it cannot be filled")
        row = os.statvfs(f"{self.phone.inside}/data")
        used = (row.f_blocks - row.f_bfree) * row.f_frsize
        await self.phone.enclosure.data_size(f"size={used}")
        return f"the data partition is full at {used} bytes"

    async def free_disk(self, _: list[str]) -> str:
        """Back to the size it was delivered with."""
        await self.phone.enclosure.data_size("size=8g")
        return "the data partition has room again"

    async def charge(self, arguments: list[str]) -> str:
        """The charger."""
        on = {"on": True, "off": False}.get(arguments[0])
        if on is None:
            raise ValueError("on or off")
        self.phone.body.plugged = self.phone.body.charging = on
        return "charging" if on else "on battery"

    async def thermal_status(self, arguments: list[str]) -> str:
        """0 to 6, or what the skin's temperature says."""
        word = arguments[0]
        if word != "auto" and int(word) not in range(7):
            raise ValueError("0 to 6, or auto")
        self.phone.body.forced_status = None if word == "auto" else int(word)
        return f"thermal status {self.phone.body.status()}"

    async def heat(self, arguments: list[str]) -> str:
        """The body and the chip take this temperature, and go on from there."""
        self.phone.body.body_c = self.phone.body.chip_c = float(arguments[0])
        return f"the phone has {float(arguments[0]):g} °C"

    async def load(self, arguments: list[str]) -> str:
        """Other work on some cores (all without a list)."""
        share = min(1.0, max(0.0, float(arguments[0])))
        cpus = [int(part) for part in arguments[1].split(",")] if len(arguments) > 1 else self.phone.image.silicon.cpus
        self.phone.workload.foreign = {cpu: share for cpu in cpus if share}
        return f"other work keeps {len(cpus) if share else 0} core(s) {share:.0%} busy"

    async def unauthorize(self, _: list[str]) -> str:
        """The user of the phone revoked every key."""
        adbd = self.phone.adbd
        adbd.must_authorize = adbd.faults.unauthorized = True
        adbd.accepted_keys.clear()
        adbd.user_said_yes.clear()
        adbd.drop()
        return "no computer is allowed any more"

    async def authorize(self, _: list[str]) -> str:
        """The user of the phone taps Allow."""
        adbd = self.phone.adbd
        adbd.faults.unauthorized = False
        adbd.user_said_yes.set()
        return "allowed"

    async def off(self, _: list[str]) -> str:
        """End the phone's process."""
        self.ended.set()
        return "off"
