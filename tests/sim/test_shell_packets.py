"""Packets of the shell protocol come out of a byte stream the same however it was cut on the way."""

from __future__ import annotations

import asyncio
import os
import socket
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.sim.copying import ID_STDIN, ShellPackets, packet, write_all

PACKETS = st.lists(st.tuples(st.sampled_from((ID_STDIN, ID_STDIN, 3, 4, 5)), st.binary(max_size=40)), max_size=12)


def joined(packets: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Neighbouring stdin data as one, empty data left out: how it is cut is nobody's business."""
    out: list[tuple[int, bytes]] = []
    for packet_id, data in packets:
        if packet_id == ID_STDIN and out and out[-1][0] == ID_STDIN:
            out[-1] = (ID_STDIN, out[-1][1] + data)
        elif data or packet_id != ID_STDIN:
            out.append((packet_id, data))
    return out


@given(PACKETS, st.lists(st.integers(0, 600), max_size=20))
def test_any_cut_gives_the_same_packets(packets: list[tuple[int, bytes]], cuts: list[int]) -> None:
    stream = b"".join(packet(packet_id, data) for packet_id, data in packets)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = ShellPackets()
    found = [
        (packet_id, bytes(data))
        for first, last in pairwise(edges)
        for packet_id, data in reader.feed(stream[first:last])
    ]
    assert joined(found) == joined(packets)


async def test_pieces_arrive_whole_through_a_full_pipe_and_a_gone_reader_is_told() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    pieces = [os.urandom(70_000) for _ in range(100)]
    writing = asyncio.create_task(write_all(ours.fileno(), [memoryview(piece) for piece in [b"", *pieces]]))
    got = bytearray()
    while len(got) < 7_000_000:
        got += await asyncio.to_thread(theirs.recv, 1 << 16)
    assert await writing
    assert bytes(got) == b"".join(pieces)
    theirs.close()
    assert not await write_all(ours.fileno(), [memoryview(b"x")])
    ours.close()
