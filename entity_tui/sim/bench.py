"""The stand-in llama-bench: the phases a real one goes through, at the pace the phone's silicon allows just then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from entity_tui.sim import bench_rows
from entity_tui.sim.bench_args import BadArgument, BenchOptions, BenchTest, parse, tests
from entity_tui.sim.bench_rows import BenchModel
from entity_tui.sim.cpu_text import cpus_of_mask
from entity_tui.sim.physics import Load
from entity_tui.sim.silicon import SimSilicon
from entity_tui.sim.speed import Pace, Work, jitter, pace

LOAD_GB_PER_S = 1.6
KV_BYTES_PER_TOKEN = 32_768.0
"""Keys and values of one token of the stand-in model in f16: 2 x 16 layers x 8 heads x 64 x 2 bytes."""
SCORE = {"asimddp": 2, "fp16": 4, "sve": 8, "i8mm": 16, "sve2": 32, "sme": 64}
VARIANT_NEEDS = {
    "armv8.0_1": "",
    "armv8.2_1": "asimddp",
    "armv8.2_2": "asimddp fp16",
    "armv8.2_3": "asimddp fp16 sve",
    "armv8.6_1": "asimddp fp16 sve i8mm",
    "armv8.6_2": "asimddp fp16 sve i8mm sve2",
    "armv9.2_1": "asimddp fp16 sve i8mm sme",
    "armv9.2_2": "asimddp fp16 sve i8mm sve2 sme",
    "android_armv8.0_1": "",
    "android_armv8.2_1": "asimddp",
    "android_armv8.2_2": "asimddp fp16",
    "android_armv8.6_1": "asimddp fp16 i8mm",
    "android_armv9.0_1": "asimddp fp16 i8mm sve2",
    "android_armv9.2_1": "asimddp fp16 sve i8mm sme",
    "android_armv9.2_2": "asimddp fp16 sve i8mm sve2 sme",
}
"""The needs that upstream compiles into each library's score function."""


def loaded_variant(tags: Sequence[str], features: frozenset[str]) -> str | None:
    """The variant a loader would take among those present: all needs met, then the highest score; None for none."""
    has = set(features)
    if {"fphp", "asimdhp"} <= has:
        has.add("fp16")
    scored = [
        (1 + sum(SCORE[need] for need in VARIANT_NEEDS[tag].split()), tag)
        for tag in tags
        if tag in VARIANT_NEEDS and set(VARIANT_NEEDS[tag].split()) <= has
    ]
    return max(scored)[1] if scored else None


@dataclass(slots=True)
class Phase:
    """A stretch of uniform work: `tokens` tokens of a prompt or of generation, or just `seconds` of loading."""

    kind: str
    tokens: int = 0
    seconds: float = 0.0
    depth: int = 0
    factor: float = 1.0
    """How much slower than the model says this repetition is."""
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the phone tells a run at each step."""

    allowed: tuple[int, ...]
    """The cores this process may run on."""
    online: tuple[int, ...]
    now_khz: Mapping[str, int]
    foreign: Mapping[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class BenchRun:
    """One stand-in process. `advance` lets time pass; lines come out through `say` ("o" stdout, "e" stderr)."""

    silicon: SimSilicon
    argv: Sequence[str]
    folder: str
    """The executable's own folder on the phone, where its libraries are looked for."""
    variants: Sequence[str]
    read_model: Callable[[str], BenchModel | None]
    say: Callable[[str, str], None]
    random: Random
    default_threads: int = 8
    exit_code: int | None = None
    threads: int = 1
    """Threads at work just now."""
    load: Load = field(default_factory=Load)
    cpus: tuple[int, ...] = ()
    _script: Iterator[Phase] | None = None
    _phase: Phase | None = None
    _left: float = 0.0
    _work: Work = field(default_factory=lambda: Work(1.0, 1.0))
    _mask: tuple[int, ...] = ()
    _depth: int = 0
    """Tokens of the prefix that is kept in memory between tests."""

    def advance(self, span_s: float, around: Surroundings) -> None:
        """Do `span_s` seconds of the phone's time worth of work; sets `exit_code` when the run is over."""
        if self._script is None:
            self._script = self._play()
            self._next()
        while span_s > 1e-12 and self.exit_code is None:
            span_s = self._work_on(span_s, around)

    def _next(self) -> None:
        assert self._script is not None
        self._phase = next(self._script, None)
        if self._phase is not None:
            self._left = float(self._phase.tokens) if self._phase.tokens else self._phase.seconds

    def _work_on(self, span_s: float, around: Surroundings) -> float:
        """Spend time on the present phase; returns what is left of the span."""
        phase = self._phase
        if phase is None:
            self.load, self.cpus = Load(), ()
            return 0.0
        if phase.kind in ("load", "delay"):
            self.cpus = around.allowed[:1]
            busy = dict.fromkeys(self.cpus, 0.9) if phase.kind == "load" else {}
            self.load = Load(busy, {}, LOAD_GB_PER_S if phase.kind == "load" else 0.0)
            need_s = self._left
        else:
            step = self._pace(phase, around)
            self.load, self.cpus = step.load, step.cpus
            if phase.spent_s == 0.0:
                phase.factor = jitter(self.random, step.noise)
            per_token_s = step.seconds_per_token * phase.factor
            need_s = self._left * per_token_s
        used_s = min(span_s, need_s)
        phase.spent_s += used_s
        if used_s >= need_s - 1e-12:
            self._next()
        else:
            self._left -= used_s if phase.tokens == 0 else used_s / per_token_s
        return span_s - used_s

    def _pace(self, phase: Phase, around: Surroundings) -> Pace:
        allowed = tuple(cpu for cpu in around.allowed if cpu in self._mask) if self._mask else around.allowed
        work = Work(self._work.bytes_per_token + phase.depth * KV_BYTES_PER_TOKEN, self._work.flop_per_token)
        return pace(
            self.silicon,
            work,
            threads=self.threads,
            allowed=allowed or around.allowed,
            online=around.online,
            now_khz=around.now_khz,
            prompt=phase.kind == "prompt",
            foreign=around.foreign,
        )

    def _end(self, code: int) -> None:
        self.exit_code = code

    def _play(self) -> Iterator[Phase]:
        """The whole run as a sequence of phases; whoever takes the next one has finished the last."""
        tag = loaded_variant(self.variants, self.silicon.features)
        if tag is not None:
            self.say("e", f"load_backend: loaded CPU backend from {self.folder}/libggml-cpu-{tag}.so")
        try:
            options = parse(self.argv)
        except BadArgument as error:
            self.say("e", f"error: {error}")
            self.say("o", "usage: llama-bench [options]")
            return self._end(1)
        if options.help or options.version or options.list_devices:
            return self._inform(options)
        if tag is None:
            self.say("e", "llama_bench: error: CPU backend is not loaded")
            return self._end(1)
        if options.prio > 0:
            self.say("e", "llama_bench: error: failed to set process priority")
            return self._end(1)
        yield from self._all_tests(options)
        return None

    def _inform(self, options: BenchOptions) -> None:
        if options.list_devices:
            self.say("o", "Available devices:")
            self.say("o", "  (none)")
        else:
            self.say("o", "usage: llama-bench [options]" if options.help else "version: 11434 (simulated)")
        self._end(0)

    def _all_tests(self, options: BenchOptions) -> Iterator[Phase]:
        rows = tests(options, self.default_threads)
        loaded, done, first = "", 0, True
        for number, test in enumerate(rows, 1):
            model = self.read_model(test.model)
            if model is None:
                self._missing(test.model)
                return self._end(1)
            if not self._take_mask(test):
                return self._end(1)
            self.threads = max(1, test.n_threads)
            self._work = Work(float(model.size_bytes), 2.0 * model.parameters)
            if loaded != test.model:
                yield Phase("load", seconds=model.size_bytes / 1e9 / LOAD_GB_PER_S + 0.15)
                loaded = test.model
            if options.delay:
                yield Phase("delay", seconds=float(options.delay))
            started = datetime.now(UTC)
            samples_ns: list[int] = []
            yield from self._one_test(options, test, f"llama-bench: benchmark {number}/{len(rows)}:", samples_ns)
            fields = bench_rows.row(test, model, "CPU", started, samples_ns)
            if done == 0:
                self._lines(bench_rows.head(options.output, fields))
            self._lines(bench_rows.line(options.output, fields, first=first))
            first, done = False, done + 1
        self._lines(bench_rows.foot(options.output))
        return self._end(0)

    def _one_test(self, options: BenchOptions, test: BenchTest, prefix: str, samples_ns: list[int]) -> Iterator[Phase]:
        word = "generation" if test.n_gen and not test.n_prompt else "prompt"

        def progress(text: str) -> None:
            if options.progress:
                self.say("e", f"{prefix} {text}")

        progress("starting")
        if not options.no_warmup:
            progress(f"warmup {word} run")
            yield Phase("prompt", tokens=test.n_prompt) if test.n_prompt else Phase("decode", tokens=1)
        for repetition in range(options.repetitions):
            if test.n_depth:
                cached = " (cached)" if self._depth == test.n_depth else ""
                progress(f"depth run {repetition + 1}/{options.repetitions}{cached}")
                if not cached:
                    yield Phase("prompt", tokens=test.n_depth)
                    self._depth = test.n_depth
            progress(f"{word} run {repetition + 1}/{options.repetitions}")
            spent_s = 0.0
            for kind, tokens in (("prompt", test.n_prompt), ("decode", test.n_gen)):
                if tokens:
                    phase = Phase(kind, tokens=tokens, depth=test.n_depth)
                    yield phase
                    spent_s += phase.spent_s
            samples_ns.append(max(1, round(spent_s * 1e9)))

    def _take_mask(self, test: BenchTest) -> bool:
        """Read -C; False when it is no mask. One that names only absent cores warns and changes nothing."""
        try:
            cpus = cpus_of_mask(test.cpu_mask.removeprefix("0x").removeprefix("0X"))
        except ValueError:
            self.say("e", f"llama_bench: failed to parse cpu-mask: {test.cpu_mask}")
            return False
        self._mask = tuple(cpu for cpu in cpus if cpu in self.silicon.cpus)
        if cpus and not self._mask:
            self.say("e", "warn: failed to set affinity mask 0x7c5e0f2b40 : Invalid argument (22)")
        return True

    def _missing(self, path: str) -> None:
        self.say("e", f"gguf_init_from_file: failed to open GGUF file '{path}' (No such file or directory)")
        self.say("e", f"llama_model_load: error loading model: llama_model_loader: failed to load model from {path}")
        self.say("e", "llama_model_load_from_file_impl: failed to load model")
        self.say("e", f"llama_bench: error: failed to load model '{path}'")

    def _lines(self, lines: Sequence[str]) -> None:
        for text in lines:
            self.say("o", text)
