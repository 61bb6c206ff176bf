"""What runs on a simulated phone: stand-in engines, real engines, other load; and what the stand-ins ask for."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from entity_tui.models.header import read_header
from entity_tui.models.window import GgufError
from entity_tui.sim.bench import BenchRun, Surroundings
from entity_tui.sim.bench_rows import BenchModel
from entity_tui.sim.cpu_text import cpus_of_mask
from entity_tui.sim.enclosure import Enclosure, EnclosureFailed
from entity_tui.sim.inside import list_inside, open_inside
from entity_tui.sim.physics import STEP_S, Body, Load
from entity_tui.sim.procview import ProcView
from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.speed import place

SHOW_EVERY_S = 0.03
ENGINE_NAMES = ("llama", "qemu")
FILE_TYPES = {0: "all F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 12: "Q3_K - Medium",
              14: "Q4_K - Small", 15: "Q4_K - Medium", 17: "Q5_K - Medium", 18: "Q6_K"}  # fmt: skip


@dataclass(slots=True)
class StandIn:
    """A stand-in engine and the pipe its lines go to."""

    run: BenchRun
    pipe: int


@dataclass(slots=True)
class Workload:
    """Answers the stand-ins through a pipe in the phone, and turns all that runs into load on the phone's body."""

    image: PhoneImage
    body: Body
    view: ProcView
    enclosure: Enclosure
    root: Path
    inside: str
    reboot: Callable[[str], Awaitable[None]]
    foreign: dict[int, float] = field(default_factory=dict)
    """How busy other work keeps each core, set by `ctl load`."""
    benches: dict[int, StandIn] = field(default_factory=dict)
    runs: int = 0
    engines: int = 0
    """Real engines that were at work in the last step."""
    _ask: int = -1
    _heard: bytes = b""
    _jobs: set[asyncio.Task[None]] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)
    _shown_ago_s: float = 0.0

    def listen(self) -> None:
        """Hear the stand-ins; both ends of the pipe are held, so that it never ends."""
        self._ask = os.open(self.root / "dev/entity/ask", os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._ask, self._hear)

    def close(self) -> None:
        """Let go of every pipe."""
        if self._ask >= 0:
            asyncio.get_running_loop().remove_reader(self._ask)
            os.close(self._ask)
            self._ask = -1
        self.forget_all()

    def forget_all(self) -> None:
        """Every process has gone."""
        for stand_in in self.benches.values():
            os.close(stand_in.pipe)
        self.benches.clear()
        self.view.forget_dead(())
        self._seen.clear()

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._heard += os.read(self._ask, 4096)
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            task = asyncio.create_task(self._answer(line.decode("ascii", "replace").split()))
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)

    async def _answer(self, words: list[str]) -> None:
        """One line of a stand-in; what is not one of its lines is let pass, since any program may write there."""
        with contextlib.suppress(ValueError, IndexError, OSError, EnclosureFailed):
            if self.view.tracked is not None:
                self.view.tracked.add(int(words[1]))
            if words[0] == "mask":
                await self._mask(int(words[1]), int(words[2]), words[3])
            elif words[0] == "bench":
                await self._bench(int(words[1]))
            elif words[0] == "reboot":
                await self.reboot("")

    async def _mask(self, asking: int, pid: int, text: str) -> None:
        cpus = [cpu for cpu in cpus_of_mask(text) if cpu in self.image.silicon.cpus]
        answer = "ok"
        if not set(cpus) - self.body.offline:
            answer = "Invalid argument"
        elif not self.view.alive(pid):
            answer = "No such process"
        else:
            self.view.masks[pid] = tuple(cpus)
            await self.enclosure.bind(self.view.cover(pid, full=True))
        new = self.root / f"dev/entity/.answer.{asking}"
        new.write_text(answer + "\n")
        new.chmod(0o444)
        new.replace(self.root / f"dev/entity/answer.{asking}")

    async def _bench(self, pid: int) -> None:
        words = self.view.cmdline(pid)
        pipe = os.open(self.root / f"dev/entity/bench.{pid}", os.O_RDWR | os.O_NONBLOCK)
        script = words[1] if len(words) > 1 else "llama-bench"
        here = self.view.folder_of(pid, self.root)
        folder = os.path.normpath(os.path.join(here, os.path.dirname(script)))
        names = list_inside(self.inside, folder)
        tags = [name[len("libggml-cpu-") : -3] for name in names if name.startswith("libggml-cpu-")]

        def say(stream: str, text: str) -> None:
            # A reader that stopped reading costs lines, never the phone; the pipe holds 64 KiB.
            with contextlib.suppress(BlockingIOError):
                os.write(pipe, f"{stream}{text}\n".encode("utf-8", "replace"))

        self.runs += 1
        run = BenchRun(
            silicon=self.image.silicon,
            argv=words[2:],
            folder=folder,
            variants=tags,
            read_model=lambda path: self._model(os.path.join(here, path)),
            say=say,
            random=Random(f"{self.image.name}/{self.runs}"),
            default_threads=len(self.image.silicon.cpus) - len(self.body.offline),
        )
        self.benches[pid] = StandIn(run, pipe)
        await self.enclosure.bind(self.view.cover(pid, full=True, threads=1))

    def _model(self, path: str) -> BenchModel | None:
        """What the header of a model file says; None when it is no readable model."""
        try:
            with open_inside(self.inside, path) as descriptor:
                size = os.fstat(descriptor).st_size
                header = read_header(lambda offset, count: os.pread(descriptor, count, offset), size)
        except (OSError, GgufError):
            return None
        parameters = sum(tensor.elements for tensor in header.tensors)
        kind = FILE_TYPES.get(header.number("general.file_type") or 0, "unknown")
        size_label = header.text("general.size_label") or f"{parameters / 1e9:.1f}B"
        name = f"{header.text('general.architecture') or 'unknown'} {size_label} {kind}"
        return BenchModel(name, sum(tensor.size_bytes for tensor in header.tensors), parameters)

    async def advance(self, span_s: float, real_s: float) -> None:
        """Let time pass for everything that runs, and for the phone's body under it."""
        online = tuple(cpu for cpu in self.image.silicon.cpus if cpu not in self.body.offline)
        living = self.view.pids()
        for pid in [pid for pid in self.benches if pid not in living or not self.view.alive(pid)]:
            os.close(self.benches.pop(pid).pipe)
        outer = {cpu: share for cpu, share in self.foreign.items() if cpu in online}
        memory = await self._processes(living, real_s, online, outer)
        # Work and clocks answer each other: with a compressed clock one tick is long, and is taken in small steps.
        steps = max(1, round(span_s / STEP_S))
        for _ in range(steps):
            self._step(span_s / steps, online, outer, memory)
        self._show(living, real_s)
        for pid in self.view.forget_dead(living):
            for name in ("answer", "bench"):
                (self.root / f"dev/entity/{name}.{pid}").unlink(missing_ok=True)
        self._seen &= set(living)

    def _show(self, living: list[int], real_s: float) -> None:
        """Write what /proc says of the covered processes, some times a second of this computer's time."""
        self._shown_ago_s += real_s
        if self._shown_ago_s < SHOW_EVERY_S:
            return
        self._shown_ago_s = 0.0
        for pid in living:
            covered = self.view.covered.get(pid)
            if covered is not None and covered.full:
                self.view.refresh(pid)

    def _step(self, span_s: float, online: tuple[int, ...], outer: dict[int, float], memory: float) -> None:
        """One small step of every stand-in and of the body."""
        busy, waiting = {**outer}, dict.fromkeys(online, 0.0)
        for pid, stand_in in list(self.benches.items()):
            self._advance_bench(pid, stand_in, span_s, online, {**busy})
            load = stand_in.run.load
            memory += load.memory_gb_per_s
            for cpu in online:
                busy[cpu] = busy.get(cpu, 0.0) + load.busy.get(cpu, 0.0)
                waiting[cpu] += load.waiting.get(cpu, 0.0)
        self.body.advance(span_s, Load(busy, waiting, min(memory, self.image.silicon.bandwidth_gb_per_s)))

    def _advance_bench(
        self, pid: int, stand_in: StandIn, span_s: float, online: tuple[int, ...], busy: dict[int, float]
    ) -> None:
        run = stand_in.run
        mask = tuple(cpu for cpu in self.view.mask_of(pid) if cpu in online) or online
        with contextlib.suppress(ValueError):
            run.advance(span_s, Surroundings(mask, online, self.body.now_khz, busy))
        covered = self.view.covered.get(pid)
        if covered is not None:
            covered.threads = run.threads
            covered.on_cpus = run.cpus
            covered.cpu_s += span_s * (1.0 if run.load.busy else 0.0)
        if run.exit_code is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(stand_in.pipe, f"x{run.exit_code}\n".encode())
            os.close(self.benches.pop(pid).pipe)

    async def _processes(
        self, living: list[int], real_s: float, online: tuple[int, ...], busy: dict[int, float]
    ) -> float:
        """Cover new processes, and count real engines as load; returns the memory traffic guessed for them, GB/s."""
        memory, self.engines = 0.0, 0
        for pid in living:
            if pid not in self._seen:
                self._seen.add(pid)
                await self._new(pid)
            covered = self.view.covered.get(pid)
            if covered is None or not covered.full or pid in self.benches:
                continue
            shares = sorted(self.view.busy_threads(pid, real_s), reverse=True)
            active = [share for share in shares if share > 0.05]
            if active:
                self.engines += 1
                mask = [cpu for cpu in self.view.mask_of(pid) if cpu in online] or list(online)
                cpus, _ = place(self.image.silicon, len(active), mask)
                for cpu, share in zip(cpus, active, strict=False):
                    busy[cpu] = min(1.0, busy.get(cpu, 0.0) + share)
                    memory += 2.0 * share
        return memory

    async def _new(self, pid: int) -> None:
        words = self.view.cmdline(pid)
        name = os.path.basename(words[0]).lstrip(".") if words else ""
        mask = self.view.mask_of(pid)
        full = mask != self.view.cpus or name.startswith(ENGINE_NAMES)
        with contextlib.suppress(OSError, EnclosureFailed):
            pairs = self.view.cover(pid, full=full)
            if pairs:
                await self.enclosure.bind(pairs)
