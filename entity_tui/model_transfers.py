"""Models on their way in the background: pushes, downloads and deletions, each with progress, speed and an end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from entity_tui import config
from entity_tui.errors import EntityError, UsageError
from entity_tui.transport.base import DeviceState, LinkLost, TransportError

if TYPE_CHECKING:
    from entity_tui.models.catalog import CatalogEntry
    from entity_tui.session import Session
    from entity_tui.transport.base import Transport

_WAIT_S = 0.5
_LINK_TRIES = 20
"""Cuts in a row without a byte in between before a transfer is given up."""


class TransferState(StrEnum):
    """Where a transfer is."""

    RUNNING = "running"
    WAITING = "waiting for the phone"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class TransferView:
    """One transfer as a screen shows it. `bytes_per_s` is over the whole transfer so far."""

    number: int
    kind: str
    """`push`, `download` or `delete`."""
    name: str
    done_bytes: int = 0
    total_bytes: int = 0
    bytes_per_s: float = 0.0
    state: TransferState = TransferState.RUNNING
    words: str = ""
    """What happened, or what to do, in a sentence."""

    @property
    def running(self) -> bool:
        """True while it is not over."""
        return self.state in (TransferState.RUNNING, TransferState.WAITING)


class ModelTransfers:
    """Transfers of one session, newest last. All methods belong to the session's event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._views: dict[int, TransferView] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)

    @property
    def views(self) -> tuple[TransferView, ...]:
        """Every transfer of this session."""
        return tuple(self._views.values())

    def push(self, path: Path) -> TransferView:
        """Push a GGUF of this computer to the device. Raises UsageError or GgufError for a file that is none."""
        from entity_tui.engine.model_files import local_header

        path = path.expanduser()
        if not path.is_file():
            raise UsageError(f"There is no file {path}.")
        local_header(path)
        self._device()

        async def work(transport: Transport, progress: Callable[[int, int], None]) -> str:
            done = await transport.push(path, f"{transport.root}/models/{path.name}", progress=progress)
            return f"{done.sent_bytes / 1e6:.0f} MB sent, sha256 checked on the device"

        return self._begin("push", path.name, path.stat().st_size, self._over_link(work))

    def download(self, entry: CatalogEntry) -> TransferView:
        """Download a catalog entry to this computer."""
        from entity_tui.engine.download import Wanted, download

        wanted = Wanted(entry.url, entry.file_name, entry.size_bytes, entry.sha256)

        async def work(number: int) -> str:
            done = await download(wanted, config.data_folder() / "models", progress=self._progress(number))
            return f"{done.path} ({'size and sha256' if done.checked else 'size'} checked)"

        return self._begin("download", entry.file_name, entry.size_bytes, work)

    def delete(self, path: str) -> TransferView:
        """Delete a model from the device. Raises UsageError for a file outside our own models folder."""
        transport = self._device()
        if not path.startswith(f"{transport.root}/models/") or "/../" in path:
            raise UsageError(f"{path} is not ours to delete.", fix="Remove it by hand.")

        async def work(transport: Transport, progress: Callable[[int, int], None]) -> str:
            done = await transport.run(["rm", "-f", "--", path])
            if not done.ok:
                raise EntityError("The device did not delete it.", detail=done.error_text.strip()[-200:])
            return "deleted"

        return self._begin("delete", path.rsplit("/", 1)[-1], 0, self._over_link(work))

    def stop(self, number: int) -> None:
        """Stop a transfer; what was moved is kept and the next one goes on from there."""
        if task := self._tasks.get(number):
            task.cancel()

    async def close(self) -> None:
        """Stop everything and wait for it."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _device(self) -> Transport:
        if self._session.transport is None:
            raise UsageError("No device is connected.", fix="d chooses one.")
        if self._session.busy:
            raise UsageError("A run is in flight; moving a model now would disturb it.", fix="Wait for its end.")
        return self._session.transport

    def _begin(self, kind: str, name: str, total: int, work: Callable[[int], Awaitable[str]]) -> TransferView:
        number = next(self._numbers)
        self._views[number] = TransferView(number, kind, name, total_bytes=total)
        task = asyncio.get_running_loop().create_task(self._run(number, work))
        task.add_done_callback(lambda _: self._ended(number))
        self._tasks[number] = task
        return self._views[number]

    def _ended(self, number: int) -> None:
        """Also of a task that was cancelled before its first step."""
        self._tasks.pop(number, None)
        if self._views[number].running:
            self._change(number, state=TransferState.STOPPED, words="stopped; the part is kept")
            self._session.log.add("models", f"{self._views[number].name}: stopped; the part is kept")

    async def _run(self, number: int, work: Callable[[int], Awaitable[str]]) -> None:
        log = self._session.log
        view = self._views[number]
        try:
            words = await work(number)
        except (EntityError, OSError) as error:
            self._change(number, state=TransferState.FAILED, words=str(error))
            log.error("models", f"{view.kind} of {view.name}: {error}")
        else:
            self._change(number, state=TransferState.DONE, words=words)
            log.add("models", f"{view.kind} of {view.name}: {words}")
            if view.kind != "download":
                with contextlib.suppress(TransportError):
                    await self._session.search()

    def _progress(self, number: int) -> Callable[[int, int], None]:
        began: list[tuple[float, int]] = []

        def show(done: int, total: int) -> None:
            now = time.monotonic()
            if not began:
                began.append((now, done))
            spent = now - began[0][0]
            speed = (done - began[0][1]) / spent if spent > 0 else 0.0
            self._change(number, done_bytes=done, total_bytes=total, bytes_per_s=speed, state=TransferState.RUNNING)

        return show

    def _over_link(
        self, work: Callable[[Transport, Callable[[int, int], None]], Awaitable[str]]
    ) -> Callable[[int], Awaitable[str]]:
        """`work` until it is through: after a cut it waits for the phone and goes on where it was."""

        async def through(number: int) -> str:
            tries, reached = 0, 0
            while True:
                try:
                    assert self._session.transport is not None
                    return await work(self._session.transport, self._progress(number))
                except LinkLost:
                    tries = 0 if self._views[number].done_bytes > reached else tries + 1
                    reached = self._views[number].done_bytes
                    if tries >= _LINK_TRIES:
                        raise
                self._change(number, state=TransferState.WAITING, words="goes on by itself when the phone is back")
                await self._until_ready()

        return through

    async def _until_ready(self) -> None:
        while True:
            await asyncio.sleep(_WAIT_S)
            if self._session.transport is not None and self._session.view.state is DeviceState.READY:
                return

    def _change(self, number: int, **changes: object) -> None:
        self._views[number] = replace(self._views[number], **changes)  # type: ignore[arg-type]
