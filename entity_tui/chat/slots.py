"""Saved KV state of a conversation: kept beside a description of what it is, refused when anything differs.

llama-server checks almost nothing: a cut file kills it, a flipped byte is not seen, a file of another quantisation is
taken silently. So each state has a sidecar with its size, its sha256 and the fingerprint of what made it, and nothing
reaches the server that does not match.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from typing import Any

from entity_tui.digits import whole
from entity_tui.engine.server import LlamaServer, ServerFailed
from entity_tui.transport.base import RemoteFileError, Transport

MAX_BYTES = 256 << 20
"""ENTITY's limit; a larger state is not kept, and the reason is said."""

HASH = r"""
# $1 file: its size and sha256, with whatever tool there is.
[ -f "$1" ] || exit 2
wc -c < "$1"
for tool in sha256sum "toybox sha256sum" "busybox sha256sum" "shasum -a 256"; do
  $tool "$1" 2>/dev/null && exit 0
done
exit 3
"""


@dataclass(frozen=True, slots=True)
class SlotFile:
    """What a saved state is, as its sidecar says."""

    size_bytes: int
    sha256: str
    fingerprint: str
    """Of the model file, the engine build and the cache types."""
    system_sha256: str
    tokens: int
    context_tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How saving or restoring went: `done`, or the reason it was not; wall time of the whole, link included."""

    done: bool
    reason: str
    tokens: int = 0
    size_bytes: int = 0
    wall_ms: float = 0.0
    restart_needed: bool = False
    """After any failed restore the server must be restarted: bad state may spoil later answers."""


def slot_name(conversation: int) -> str:
    """The file name of a conversation's state: ours alone, no text of a user or device in it."""
    return f"c{conversation}.bin"


def text_digest(text: str) -> str:
    """sha256 of a system prompt, so that the sidecar holds no words of the user."""
    return hashlib.sha256(text.encode()).hexdigest()


class Slots:
    """The saved states below the server's folder."""

    def __init__(self, server: LlamaServer) -> None:
        self.server = server
        self.folder = f"{server.folder}/slots"

    @property
    def _transport(self) -> Transport:
        return self.server.transport

    async def save(self, conversation: int, system: str) -> Outcome:
        """Keep the slot's state: temporary name, size against what the server wrote, sidecar, rename."""
        began = time.monotonic()
        status = self.server.status
        if status is None:
            return Outcome(False, "no server runs")
        fresh = f"new-{slot_name(conversation)}"
        answer = await self._act("save", fresh)
        if isinstance(answer, str):
            return Outcome(False, answer)
        written = int(answer.get("n_written", 0))
        if written > MAX_BYTES:
            await self._remove(fresh)
            return Outcome(False, f"the state is {written / 1e6:.0f} MB, more than {MAX_BYTES >> 20} MiB are not kept")
        measured = await self._measure(fresh)
        if measured is None or measured[0] != written:
            await self._remove(fresh)
            return Outcome(False, "the file on the device is not what the server wrote")
        side = SlotFile(
            measured[0],
            measured[1],
            status.plan.cache_fingerprint,
            text_digest(system),
            int(answer.get("n_saved", 0)),
            status.context_tokens,
        )
        done = await self._transport.script(
            'cd "$1" && echo "$3" > "$2.json.new" && mv -f "new-$2" "$2" && mv -f "$2.json.new" "$2.json"',
            args=(self.folder, slot_name(conversation), json.dumps(asdict(side))),
        )
        if not done.ok:
            await self._remove(fresh)
            return Outcome(False, f"could not keep it: {done.error_text.strip()[:120]}")
        return Outcome(True, "", side.tokens, written, (time.monotonic() - began) * 1000)

    async def restore(self, conversation: int, system: str) -> Outcome:
        """Bring a state back, if it is exactly what this server can take. A refusal harms nothing."""
        began = time.monotonic()
        name = slot_name(conversation)
        status = self.server.status
        if status is None:
            return Outcome(False, "no server runs")
        side = await self._sidecar(name)
        if side is None:
            return Outcome(False, "nothing is saved for this conversation")
        if side.fingerprint != status.plan.cache_fingerprint:
            return Outcome(False, "saved with another model, engine build or cache type")
        if side.system_sha256 != text_digest(system):
            return Outcome(False, "the system prompt was changed since")
        if side.tokens > status.context_tokens - 4:
            return Outcome(False, f"{side.tokens} tokens do not fit the window of {status.context_tokens}")
        measured = await self._measure(name)
        if measured is None:
            return Outcome(False, "the saved file cannot be read")
        if measured[0] != side.size_bytes:
            return Outcome(False, f"the file is cut: {measured[0]} of {side.size_bytes} bytes")
        if measured[1] != side.sha256:
            return Outcome(False, "the file was changed since it was saved (sha256 differs)")
        answer = await self._act("restore", name)
        if isinstance(answer, str):
            return Outcome(False, answer, restart_needed=True)
        wall_ms = (time.monotonic() - began) * 1000
        return Outcome(True, "", int(answer.get("n_restored", 0)), side.size_bytes, wall_ms)

    async def forget(self, conversation: int) -> None:
        """Remove a conversation's state and its sidecar."""
        name = slot_name(conversation)
        await self._transport.script('rm -f "$1/$2" "$1/$2.json"', args=(self.folder, name))

    async def _sidecar(self, name: str) -> SlotFile | None:
        try:
            row = json.loads(await self._transport.read(f"{self.folder}/{name}.json", limit=65536))
            return SlotFile(**row)
        except (RemoteFileError, ValueError, TypeError):
            return None

    async def _measure(self, name: str) -> tuple[int, str] | None:
        """(bytes, sha256) of a file as the device has it."""
        found = await self._transport.script(HASH, args=(f"{self.folder}/{name}",), timeout_s=120.0)
        words = found.text.split()
        size = whole(words[0]) if found.ok and len(words) >= 2 else None
        return None if size is None else (size, words[1].lower())

    async def _remove(self, name: str) -> None:
        await self._transport.script('rm -f "$1/$2"', args=(self.folder, name))

    async def _act(self, action: str, name: str) -> dict[str, Any] | str:
        """The server's answer, or its refusal in words."""
        import httpx

        try:
            answer = await self.server.client.post(
                "/slots/0", params={"action": action}, json={"filename": name}, timeout=120.0
            )
        except (httpx.HTTPError, ServerFailed) as error:
            return f"the server ended while it tried to {action}: {error}"
        if answer.status_code != 200:
            return f"the server refused to {action}: {answer.text[:200]}"
        body = answer.json()
        return body if isinstance(body, dict) else {}
