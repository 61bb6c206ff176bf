"""A model of a gigabyte arrives over a bad link, whole and verified, or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from entity_tui.transport.base import LinkLost, TransportError

SIZE_BYTES = 1_000_000_000


@pytest.fixture
def gigabyte(tmp_path: Path) -> Path:
    """A file of 1 GB that does not compress to nothing: every MiB differs."""
    path = tmp_path / "model-1gb.gguf"
    block = hashlib.sha256(b"entity").digest() * (1 << 15)
    with path.open("wb") as file:
        written = 0
        while written < SIZE_BYTES:
            piece = (written.to_bytes(8, "little") + block)[: min(1 << 20, SIZE_BYTES - written)]
            written += file.write(piece)
    return path


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.links("adb", "ssh")
async def test_a_gigabyte_cut_three_times_is_resumed_and_verified(faulty: object, far: str, gigabyte: Path) -> None:
    link, wire, direct = faulty.link, faulty.wire, faulty.direct  # type: ignore[attr-defined]
    remote = f"{far}/{gigabyte.name}"
    for _ in range(3):
        wire.cut_after_up = wire.passed["up"] + 250_000_000
        with pytest.raises(TransportError) as lost:
            await link.push(gigabyte, remote)
        assert isinstance(lost.value, LinkLost)
        listed = (await direct.run(["ls", far])).text.split()
        assert gigabyte.name not in listed, "nothing half-written stands under the final name"
        await faulty.back()  # type: ignore[attr-defined]
    done = await link.push(gigabyte, remote)
    assert done.size_bytes == SIZE_BYTES
    assert done.sent_bytes < 0.45 * SIZE_BYTES, "the last quarter, not everything again"
    with gigabyte.open("rb") as file:
        assert done.sha256 == hashlib.file_digest(file, "sha256").hexdigest()
    assert (await direct.run(["ls", "-A", far])).text.split() == [gigabyte.name]
