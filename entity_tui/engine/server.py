"""The life of one llama-server on a device: started detached, watched until it answers, used again, ended by its id."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from entity_tui.digits import whole
from entity_tui.engine.server_log import StartLog, explain_failure, read_start_log
from entity_tui.engine.server_plan import ServerPlan, server_argv
from entity_tui.errors import EntityError, Where
from entity_tui.transport.base import Job, LinkLost, RemoteFileError, Transport, TransportError

if TYPE_CHECKING:
    import httpx

READY_TIMEOUT_S = 300.0
"""A big model on a slow phone's storage takes minutes; progress is visible all the while."""

POLL_S = 0.1

PREPARE = r"""
# $1 folder, $2 key: make the folders, put the key where only this user reads it, end nothing.
umask 077
mkdir -p "$1/slots" || exit 1
rm -f "$1/server.err" "$1/server.out"
echo "$2" > "$1/key" || exit 1
"""

MASKS = r"""
# $1 pid: the mask of every thread, as the kernel has it.
for t in /proc/"$1"/task/*; do
  while read -r k v; do
    case $k in Cpus_allowed_list:) echo "$v" ;; esac
  done 2>/dev/null < "$t/status"
done
exit 0
"""


MEMORY = r"""
# $1 pid: resident memory in kB, what only this process has and what is the file's.
while read -r k v _; do
  case $k in RssAnon:) a=$v ;; RssFile:) f=$v ;; esac
done 2>/dev/null < "/proc/$1/status"
echo "${a:--} ${f:--}"
"""


class ServerFailed(EntityError):
    """The server did not start or has ended; `state` is a word of the states table."""

    where = Where.WORKLOAD

    def __init__(self, title: str, *, state: str, detail: str = "", fix: str = "") -> None:
        super().__init__(title, detail=detail, fix=fix)
        self.state = state


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A running server as it told and the kernel showed it."""

    job: Job
    port: int
    """Its loopback port on the device."""
    key: str
    plan: ServerPlan
    log: StartLog
    context_tokens: int
    """What it really allocated, from /props."""
    model_path: str
    build: str
    thread_masks: tuple[str, ...] = ()
    """`Cpus_allowed_list` of every thread; empty where it cannot be read."""
    reused: bool = False
    started_s: float = 0.0
    """Seconds from launch to the first answer."""


def loopback_client(port: int, key: str, *, read_s: float | None = None) -> httpx.AsyncClient:
    """An HTTP client for a llama-server behind a loopback port of this computer; `read_s` None waits for ever."""
    import httpx

    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"Authorization": f"Bearer {key}"},
        # Proxies of the environment must never see what goes to a loopback port.
        trust_env=False,
        timeout=httpx.Timeout(30.0, read=read_s),
        # A kept connection may be closed by the far side just as it is used again; a fresh one costs little.
        limits=httpx.Limits(max_keepalive_connections=0),
    )


class LlamaServer:
    """A llama-server on the device of `transport`. One per device: starting a second plan ends the first.

    Use `start`, then `client()` for an HTTP client that reaches it; `stop` ends it. Leaving without `stop` keeps it
    running, and the next `start` with the same plan uses it again.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.folder = f"{transport.root}/server"
        self.status: ServerStatus | None = None
        self._stack = AsyncExitStack()
        self._client: httpx.AsyncClient | None = None
        self.local_port = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.detach()

    async def start(self, plan: ServerPlan, *, on_step: Callable[[str, float], None] | None = None) -> ServerStatus:
        """Bring up `plan`, or find it running. `on_step(words, seconds)` tells what it is doing.

        Raises ServerFailed with a sentence for each way it can go wrong, and the transport's errors.
        """
        running = await self._find()
        if running is not None:
            job, port, key, fingerprint = running
            if fingerprint == plan.fingerprint and await self._answers(job, port, key, plan):
                return await self._ready(job, port, key, plan, reused=True, started_s=0.0)
            await self._end(job)
        began = time.monotonic()
        key = secrets.token_hex(24)
        prepared = await self.transport.script(PREPARE, args=(self.folder, key))
        if not prepared.ok:
            raise ServerFailed(
                "The server's folder cannot be written on the device.",
                state="storage_full",
                detail=prepared.error_text.strip(),
                fix="Free some space, or see entity-tui doctor for what this link may write.",
            )
        job = await self.transport.spawn(
            server_argv(plan, folder=self.folder),
            directory=plan.directory,
            stdout=f"{self.folder}/server.out",
            stderr=f"{self.folder}/server.err",
        )
        port = await self._wait_until_listening(job, began, on_step)
        await self._remember(job, port, plan)
        return await self._ready(job, port, key, plan, reused=False, started_s=time.monotonic() - began)

    async def log_text(self) -> str:
        """Everything the server logged so far."""
        try:
            return (await self.transport.read(f"{self.folder}/server.err")).decode("utf-8", "replace")
        except RemoteFileError:
            return ""

    async def _wait_until_listening(self, job: Job, began: float, on_step: Callable[[str, float], None] | None) -> int:
        """The port, once the log says it listens. The port answers before the model is loaded; the log does not."""
        while True:
            text = await self.log_text()
            log = read_start_log(text)
            if log.port is not None:
                return log.port
            elapsed = time.monotonic() - began
            if on_step is not None:
                on_step(log.step, elapsed)
            if not await self.transport.alive(job):
                text = await self.log_text()
                if (late := read_start_log(text).port) is not None and await self.transport.alive(job):
                    return late
                raise self._failure(text, None)
            if elapsed > READY_TIMEOUT_S:
                await self._end(job)
                raise ServerFailed(
                    f"The server was not ready after {READY_TIMEOUT_S:.0f} s.",
                    state="timeout",
                    detail=log.step,
                    fix="Try a smaller model, or look at its log: entity-tui serve --log.",
                )
            await asyncio.sleep(POLL_S)

    def _failure(self, text: str, exit_code: int | None) -> ServerFailed:
        why = explain_failure(text, exit_code)
        return ServerFailed(why.title, state=why.state, detail=why.evidence, fix=why.fix)

    async def _ready(
        self, job: Job, port: int, key: str, plan: ServerPlan, *, reused: bool, started_s: float
    ) -> ServerStatus:
        client = await self.client_for(port, key)
        props = await self._get(client, "/props")
        if props.get("model_path") not in (plan.model_path, None):
            raise ServerFailed(
                "Another model answers on this port.",
                state="config_mismatch",
                detail=str(props.get("model_path")),
                fix="entity-tui clean --device ... ends what we left; then start again.",
            )
        settings = props.get("default_generation_settings")
        context = settings.get("n_ctx") if isinstance(settings, dict) else None
        log = read_start_log(await self.log_text())
        masks = await self.transport.script(MASKS, args=(str(job.pid),))
        self.status = ServerStatus(
            job=job,
            port=port,
            key=key,
            plan=plan,
            log=log,
            context_tokens=int(context or log.context_tokens or plan.context_tokens),
            model_path=plan.model_path,
            build=str(props.get("build_info", "")),
            thread_masks=tuple(masks.text.split()),
            reused=reused,
            started_s=started_s,
        )
        return self.status

    async def client_for(self, port: int, key: str) -> httpx.AsyncClient:
        """An HTTP client through a loopback forward; both end with `detach`."""
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        forward: AbstractAsyncContextManager[int] = self.transport.forward(port)
        self.local_port = await self._stack.enter_async_context(forward)
        self._client = await self._stack.enter_async_context(loopback_client(self.local_port, key))
        return self._client

    @property
    def client(self) -> httpx.AsyncClient:
        """The client of the running server. Raises ServerFailed when there is none."""
        if self._client is None:
            raise ServerFailed("No server runs on the device.", state="workload_error", fix="Start the chat again.")
        return self._client

    async def reconnect(self) -> None:
        """Make the forward and the client again after the link came back."""
        if self.status is not None:
            await self.client_for(self.status.port, self.status.key)

    async def _get(self, client: httpx.AsyncClient, path: str) -> dict[str, Any]:
        import httpx

        try:
            answer = await client.get(path, timeout=10.0)
        except httpx.HTTPError as error:
            raise LinkLost("The server does not answer.", detail=str(error) or type(error).__name__) from error
        if answer.status_code != 200:
            raise ServerFailed(
                f"The server refused {path}.", state="workload_error", detail=answer.text[:300], fix="Start it again."
            )
        body = answer.json()
        return body if isinstance(body, dict) else {}

    async def _answers(self, job: Job, port: int, key: str, plan: ServerPlan) -> bool:
        """True when the server we once started is alive and healthy."""
        if not await self.transport.alive(job):
            return False
        try:
            client = await self.client_for(port, key)
            await self._get(client, "/health")
            props = await self._get(client, "/props")
        except (TransportError, ServerFailed):
            return False
        return props.get("model_path") == plan.model_path

    async def _remember(self, job: Job, port: int, plan: ServerPlan) -> None:
        state = {
            "boot_id": job.boot_id,
            "pid": job.pid,
            "start_time_ticks": job.start_time_ticks,
            "port": port,
            "fingerprint": plan.fingerprint,
        }
        await self.transport.script('echo "$2" > "$1/state"', args=(self.folder, json.dumps(state)))

    async def _find(self) -> tuple[Job, int, str, str] | None:
        """What a former start left: job, port, key and fingerprint; None when nothing readable is there."""
        try:
            state = json.loads(await self.transport.read(f"{self.folder}/state", limit=65536))
            key = (await self.transport.read(f"{self.folder}/key", limit=4096)).decode("ascii", "replace").strip()
            job = Job(str(state["boot_id"]), int(state["pid"]), int(state["start_time_ticks"]))
            return job, int(state["port"]), key, str(state["fingerprint"])
        except (RemoteFileError, ValueError, KeyError, TypeError):
            return None

    async def _end(self, job: Job) -> None:
        """SIGTERM, then SIGKILL; only that very process."""
        for number, patience_s in ((15, 5.0), (9, 5.0)):
            if not await self.transport.signal(job, number):
                return
            until = time.monotonic() + patience_s
            while time.monotonic() < until:
                if not await self.transport.alive(job):
                    return
                await asyncio.sleep(POLL_S)

    async def stop(self) -> bool:
        """End the server and remove its key and state; False when none ran. Saved slots stay."""
        job = self.status.job if self.status is not None else None
        if job is None:
            found = await self._find()
            job = found[0] if found is not None else None
        await self.detach()
        ran = False
        if job is not None and await self.transport.alive(job):
            ran = True
            await self._end(job)
        await self.transport.script('rm -f "$1/state" "$1/key" "$1/server.out"', args=(self.folder,))
        return ran

    async def detach(self) -> None:
        """Close the client and the forward; the server goes on."""
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self._client = None
        self.status = None

    async def thread_masks(self) -> tuple[str, ...]:
        """`Cpus_allowed_list` of every thread of the server, read from the kernel now; empty where it cannot be."""
        if self.status is None:
            return ()
        found = await self.transport.script(MASKS, args=(str(self.status.job.pid),))
        return tuple(found.text.split())

    async def memory(self) -> tuple[int | None, int | None]:
        """(anonymous, file-backed) resident bytes of the server, None where the kernel does not say.

        Anonymous memory is what the phone must keep: KV cache, buffers, repacked weights. File pages can be dropped.
        """
        if self.status is None:
            return None, None
        words = (await self.transport.script(MEMORY, args=(str(self.status.job.pid),))).text.split()
        found = [None if (size := whole(word)) is None else size * 1024 for word in words[:2]]
        return (found[0], found[1]) if len(found) == 2 else (None, None)

    async def why_ended(self) -> ServerFailed | None:
        """The reason when the server is gone, None while it lives."""
        if self.status is None or await self.transport.alive(self.status.job):
            return None
        return self._failure(await self.log_text(), None)
