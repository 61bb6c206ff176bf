"""The packets of the adb transport protocol, as a phone's adbd reads and writes them."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass

HEADER = struct.Struct("<6I")
"""command, arg0, arg1, length of the payload, checksum of the payload, command with every bit turned."""

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE = (int.from_bytes(word, "little") for word in
                                      (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE"))  # fmt: skip
STLS = int.from_bytes(b"STLS", "little")

VERSION_CHECKSUM = 0x01000000
"""Both sides put the sum of the payload's bytes into the header and check it."""
VERSION_SKIP_CHECKSUM = 0x01000001
"""The checksum field is zero and nobody looks at it."""

MAX_PAYLOAD_BYTES = 1 << 20

AUTH_TOKEN, AUTH_SIGNATURE, AUTH_PUBLIC_KEY = 1, 2, 3


class ProtocolError(Exception):
    """The peer broke the protocol; the connection cannot go on."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet. arg0 and arg1 mean the sender's and the receiver's stream ids except in CNXN and AUTH."""

    command: int
    arg0: int
    arg1: int
    payload: bytes = b""


def checksum(payload: bytes) -> int:
    """The old checksum: the sum of the bytes, 32 bits of it."""
    return sum(payload) & 0xFFFFFFFF


def encode(packet: Packet, *, with_checksum: bool) -> bytes:
    """The packet as it goes over the wire."""
    check = checksum(packet.payload) if with_checksum else 0
    header = HEADER.pack(
        packet.command, packet.arg0, packet.arg1, len(packet.payload), check, packet.command ^ 0xFFFFFFFF
    )
    return header + packet.payload


async def read_packet(reader: asyncio.StreamReader, *, with_checksum: bool) -> Packet:
    """The next packet. Raises asyncio.IncompleteReadError at the end and ProtocolError for what is not a packet."""
    command, arg0, arg1, length, check, magic = HEADER.unpack(await reader.readexactly(HEADER.size))
    if magic != command ^ 0xFFFFFFFF:
        raise ProtocolError(f"bad magic {magic:#x} for command {command:#x}")
    if length > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"payload of {length} bytes is too large")
    payload = await reader.readexactly(length) if length else b""
    # A host that starts with the newer version leaves the sum out from its very first packet on.
    if with_checksum and check != checksum(payload) and check != 0:
        raise ProtocolError("the checksum of a payload is wrong")
    return Packet(command, arg0, arg1, payload)
