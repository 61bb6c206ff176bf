"""Runs commands in a phone of this process, without adb between, for tests of what the phone shows."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from entity_tui.sim.phone import Phone
from entity_tui.sim.profile import load_image


@asynccontextmanager
async def running(profile: str = "cmf-phone-1", **options: Any) -> AsyncIterator[Phone]:
    """A booted phone; gone at the end of the block."""
    phone = Phone(load_image(profile), **options)
    try:
        await phone.start()
        yield phone
    finally:
        await phone.stop()


async def sh(phone: Phone, command: str) -> tuple[int, str]:
    """Exit code and output (both streams) of a command in the phone."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    phone.freshen()
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        running_command = await phone.enclosure.spawn(
            ["/system/bin/sh", "-c", command], phone.environment(), (null, theirs.fileno(), theirs.fileno())
        )
    finally:
        theirs.close()
        os.close(null)
    output = b""
    while piece := await asyncio.get_running_loop().sock_recv(ours, 1 << 16):
        output += piece
    ours.close()
    return await running_command.done, output.decode("utf-8", "replace")
