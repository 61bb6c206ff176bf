"""The adb program as tests use it: one server, one phone."""

from __future__ import annotations

import asyncio

from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb_server import AdbServer


class Client:
    """The adb program, talking to one phone through one server."""

    def __init__(self, program: str, server: AdbServer, phone: DemoPhone) -> None:
        self.program, self.server, self.phone = program, server, phone

    async def __call__(self, *words: str, serial: bool = True) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of `adb WORDS`."""
        argv = [self.program, "-P", str(self.server.port), *(("-s", self.phone.address) if serial else ()), *words]
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")

    async def connect(self) -> str:
        """Connect the server to the phone, afresh; returns the server's words."""
        await self("disconnect", self.phone.address, serial=False)
        _, out, err = await self("connect", self.phone.address, serial=False)
        return (out + err).strip()

    async def state(self) -> str:
        """The state the server lists the phone in; empty when it is not listed."""
        _, out, _ = await self("devices", serial=False)
        rows = [line.split("\t") for line in out.splitlines() if line.startswith(self.phone.address)]
        return rows[0][1] if rows else ""
