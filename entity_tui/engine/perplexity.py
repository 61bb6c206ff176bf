"""Perplexity measured on the device itself: a detached job that outlives the link, followed chunk by chunk."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from entity_tui.checksum import file_sha256
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.command_lines import engine_env, launched, perplexity_argv
from entity_tui.engine.log_lines import parse_log
from entity_tui.errors import EntityError, UsageError, Where
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.base import Job, LinkLost, RemoteFileError, Transport

_CHUNK = re.compile(r"\[(\d+)\](nan|inf|\d+(?:\.\d+)?),")
_FINAL = re.compile(r"Final estimate: PPL = (\d+(?:\.\d+)?) \+/- (\d+(?:\.\d+)?)")
_NEED = re.compile(r"you need at least (\d+) tokens")
_HAVE = re.compile(r"tokenizes to only (\d+) tokens")
_POLL_S = 0.5
_LARGEST_OUTPUT_BYTES = 16 << 20


class PerplexityFailed(EntityError):
    """The job ended without a final estimate; the engine's own words are in the detail."""

    where = Where.WORKLOAD


@dataclass(frozen=True, slots=True)
class PerplexityPlan:
    """One measurement; two plans with one key are the same job. The thread count is fixed for all of it."""

    engine_label: str
    program: str
    directory: str
    model_path: str
    model_bytes: int
    text_sha256: str
    chunks: int
    context_tokens: int
    threads: int
    mask: str = ""

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits over everything above."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class PerplexityResult:
    """The running estimate after each chunk, and the final one; `variant` is from the loader's own line."""

    plan: PerplexityPlan
    series: tuple[float, ...]
    final: float | None = None
    error: float | None = None
    variant: str = ""
    simulated: bool = False
    attached: bool = False
    """True when a job that was already running, or had ended, was picked up."""


def parse_output(stdout: str, stderr: str) -> tuple[tuple[float, ...], float | None, float | None]:
    """(running estimates in order, final estimate, its error) from the two outputs of llama-perplexity.

    A chunk whose number is out of order or whose estimate is no number ends the series.
    """
    series: list[float] = []
    for number, value in _CHUNK.findall(stdout):
        if int(number) != len(series) + 1 or value in ("nan", "inf"):
            break
        series.append(float(value))
    found = _FINAL.search(stderr) or _FINAL.search(stdout)
    return tuple(series), float(found[1]) if found else None, float(found[2]) if found else None


def make_plan(
    engine: EngineBuild, model: ModelFile, text: Path, *, chunks: int, context_tokens: int, threads: int, mask: str = ""
) -> PerplexityPlan:
    """The plan of one measurement. Raises UsageError when this engine has no llama-perplexity."""
    program = engine.program("llama-perplexity")
    if program is None:
        raise UsageError(
            "This engine has no llama-perplexity.",
            detail=engine.directory,
            fix="Install the whole release archive: entity-tui engine install ARCHIVE.",
        )
    return PerplexityPlan(
        engine_label=engine.label,
        program=program,
        directory=engine.directory,
        model_path=model.path,
        model_bytes=model.size_bytes,
        text_sha256=file_sha256(text),
        chunks=chunks,
        context_tokens=context_tokens,
        threads=threads,
        mask=mask,
    )


class PerplexityJob:
    """One plan on one device. `run` starts it, or picks up the one that is there, and follows it to its end."""

    def __init__(self, transport: Transport, plan: PerplexityPlan) -> None:
        self.transport = transport
        self.plan = plan
        self.folder = f"{transport.root}/perplexity/{plan.key}"

    async def run(self, text: Path, *, on_chunk: Callable[[int, float], None] | None = None) -> PerplexityResult:
        """The result. Cancelling leaves the job running on the device; the next `run` of this plan picks it up.

        Raises PerplexityFailed, or the link's errors; after LinkLost call it again.
        """
        job, attached = await self._found(), True
        if job is None:
            job, attached = await self._start(text), False
        seen = 0
        while True:
            alive = await self.transport.alive(job)
            result = await self._read()
            for number, value in enumerate(result.series[seen:], seen + 1):
                if on_chunk is not None:
                    on_chunk(number, value)
            seen = len(result.series)
            if result.final is not None:
                return replace(result, attached=attached)
            if not alive:
                raise await self._why()
            await asyncio.sleep(_POLL_S)

    async def remove(self) -> None:
        """Remove the job's folder from the device."""
        await self.transport.script('rm -rf -- "$1"', args=(self.folder,))

    async def stop(self) -> bool:
        """End the job if it runs; False when it does not."""
        job = await self._found()
        return job is not None and await self.transport.signal(job, 15)

    async def _start(self, text: Path) -> Job:
        await self.transport.script('rm -rf -- "$1"; mkdir -p "$1"', args=(self.folder,))
        remote = f"{self.folder}/text"
        await self.transport.push(text, remote)
        plan = self.plan
        argv = perplexity_argv(
            plan.program,
            plan.model_path,
            remote,
            chunks=plan.chunks,
            threads=plan.threads,
            n_ctx=plan.context_tokens,
            flags=("-dev", "none", "-lv", "4"),  # level 4 is where the loader names its CPU variant
        )
        job = await self.transport.spawn(
            launched(argv, engine_env(plan.directory), plan.mask),
            directory=plan.directory,
            stdout=f"{self.folder}/out",
            stderr=f"{self.folder}/err",
        )
        state = json.dumps({"boot_id": job.boot_id, "pid": job.pid, "start": job.start_time_ticks})
        await self.transport.script('printf "%s\\n" "$2" >"$1/state"', args=(self.folder, state))
        return job

    async def _found(self) -> Job | None:
        """The job of this plan when it runs or has ended with a result; None when it must be started."""
        try:
            state = json.loads(await self.transport.read(f"{self.folder}/state", limit=4096))
            job = Job(str(state["boot_id"]), int(state["pid"]), int(state["start"]))
        except (RemoteFileError, ValueError, KeyError, TypeError):
            return None
        if await self.transport.alive(job) or (await self._read()).final is not None:
            return job
        return None

    async def _text(self, name: str) -> str:
        try:
            content = await self.transport.read(f"{self.folder}/{name}", limit=_LARGEST_OUTPUT_BYTES)
        except LinkLost:
            raise
        except RemoteFileError:
            return ""
        return content.decode("utf-8", "replace")

    async def _read(self) -> PerplexityResult:
        words = await self._text("err")
        series, final, error = parse_output(await self._text("out"), words)
        return PerplexityResult(
            self.plan, series, final, error, parse_log(words).variant, simulated=self.transport.simulated
        )

    async def _why(self) -> PerplexityFailed:
        words = await self._text("err")
        need, have = _NEED.search(words), _HAVE.search(words)
        if need:
            count = have[1] if have else "fewer"
            return PerplexityFailed(
                "The text is too short.",
                detail=f"{count} tokens, {need[1]} are needed for a context of {self.plan.context_tokens}",
                fix="Give a longer text, or a smaller --context.",
            )
        return PerplexityFailed(
            "The engine ended without a result.",
            detail=words.strip()[-400:],
            fix="entity-tui engine check says whether the engine runs here.",
        )
