"""The command line of the stand-in llama-bench: the flags of build 11434, lists and defaults as there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any


class BadArgument(Exception):
    """An argument llama-bench turns down; the text is what it prints after `error: `."""


LISTS = {
    "-m": "model",
    "--model": "model",
    "-p": "n_prompt",
    "--n-prompt": "n_prompt",
    "-n": "n_gen",
    "--n-gen": "n_gen",
    "-d": "n_depth",
    "--n-depth": "n_depth",
    "-b": "n_batch",
    "--batch-size": "n_batch",
    "-ub": "n_ubatch",
    "--ubatch-size": "n_ubatch",
    "-ctk": "type_k",
    "--cache-type-k": "type_k",
    "-ctv": "type_v",
    "--cache-type-v": "type_v",
    "-t": "n_threads",
    "--threads": "n_threads",
    "-C": "cpu_mask",
    "--cpu-mask": "cpu_mask",
    "--cpu-strict": "cpu_strict",
    "--poll": "poll",
    "-ngl": "n_gpu_layers",
    "--n-gpu-layers": "n_gpu_layers",
    "-fa": "flash_attn",
    "--flash-attn": "flash_attn",
    "-dev": "devices",
    "--device": "devices",
    "-lm": "load_mode",
    "--load-mode": "load_mode",
    "--repack": "repack",
    "-pg": "pg",
}
SCALARS = {"-r": "repetitions", "--repetitions": "repetitions", "-o": "output", "--output": "output",
           "-oe": "output_err", "--output-err": "output_err", "--prio": "prio", "--delay": "delay"}  # fmt: skip
SWITCHES = {"--progress": "progress", "--no-warmup": "no_warmup", "-v": "verbose", "--verbose": "verbose",
            "--list-devices": "list_devices", "--version": "version", "-h": "help", "--help": "help"}  # fmt: skip
NUMBERS = frozenset(
    ["n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads", "poll", "n_gpu_layers", "repack", "cpu_strict"]
)
FORMATS = ("csv", "json", "jsonl", "md", "sql")


@dataclass(slots=True)
class BenchOptions:
    """Everything the command line said; lists hold what will be combined."""

    model: list[str] = field(default_factory=lambda: ["models/7B/ggml-model-q4_0.gguf"])
    n_prompt: list[int] = field(default_factory=lambda: [512])
    n_gen: list[int] = field(default_factory=lambda: [128])
    pg: list[str] = field(default_factory=list)
    n_depth: list[int] = field(default_factory=lambda: [0])
    n_batch: list[int] = field(default_factory=lambda: [2048])
    n_ubatch: list[int] = field(default_factory=lambda: [512])
    type_k: list[str] = field(default_factory=lambda: ["f16"])
    type_v: list[str] = field(default_factory=lambda: ["f16"])
    n_threads: list[int] = field(default_factory=list)
    cpu_mask: list[str] = field(default_factory=lambda: ["0x0"])
    cpu_strict: list[int] = field(default_factory=lambda: [0])
    poll: list[int] = field(default_factory=lambda: [50])
    n_gpu_layers: list[int] = field(default_factory=lambda: [-1])
    flash_attn: list[str] = field(default_factory=lambda: ["auto"])
    devices: list[str] = field(default_factory=lambda: ["auto"])
    load_mode: list[str] = field(default_factory=lambda: ["auto"])
    repack: list[int] = field(default_factory=lambda: [1])
    repetitions: int = 5
    output: str = "md"
    output_err: str = "none"
    prio: int = 0
    delay: int = 0
    progress: bool = False
    no_warmup: bool = False
    verbose: bool = False
    list_devices: bool = False
    version: bool = False
    help: bool = False


@dataclass(frozen=True, slots=True)
class BenchTest:
    """One test: a prompt of `n_prompt`, or `n_gen` generated tokens, or both, behind `n_depth` tokens."""

    model: str
    n_prompt: int
    n_gen: int
    n_depth: int
    n_batch: int
    n_ubatch: int
    type_k: str
    type_v: str
    n_threads: int
    cpu_mask: str
    cpu_strict: int
    poll: int
    n_gpu_layers: int
    flash_attn: str
    devices: str
    load_mode: str
    repack: int

    @property
    def label(self) -> str:
        """`pp512`, `tg128`, with the depth behind it."""
        name = f"pp{self.n_prompt}" if self.n_prompt else ""
        name += f"{'+' if name and self.n_gen else ''}tg{self.n_gen}" if self.n_gen else ""
        return name + (f" @ d{self.n_depth}" if self.n_depth else "")


def parse(argv: Sequence[str]) -> BenchOptions:
    """Read the arguments after the program's name. Raises BadArgument."""
    options, rest = BenchOptions(), list(argv)
    while rest:
        flag = rest.pop(0)
        if flag in SWITCHES:
            setattr(options, SWITCHES[flag], True)
        elif flag in LISTS or flag in SCALARS:
            if not rest:
                raise BadArgument(f"invalid parameter for argument: {flag}")
            _set(options, flag, rest.pop(0))
        else:
            raise BadArgument(f"invalid parameter for argument: {flag}")
    return options


def _set(options: BenchOptions, flag: str, value: str) -> None:
    try:
        if flag in SCALARS:
            name = SCALARS[flag]
            setattr(options, name, value if name.startswith("output") else int(value))
        elif LISTS[flag] in NUMBERS:
            setattr(options, LISTS[flag], [number for part in value.split(",") for number in _range(part)])
        elif LISTS[flag] == "pg":
            options.pg.append(value)
        else:
            setattr(options, LISTS[flag], value.split(","))
    except ValueError as error:
        raise BadArgument(f"invalid parameter for argument: {flag}") from error
    if options.output not in FORMATS:
        raise BadArgument(f"invalid parameter for argument: {flag}")


def _range(text: str) -> list[int]:
    """`4`, `2-6`, `2-8+2` or `1-8*2`."""
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text)
    first, dash, rest = body.partition("-")
    if not dash:
        return [sign * int(body)]
    last, step, times = rest, 1, 1
    if "+" in rest:
        last, _, amount = rest.partition("+")
        step = int(amount)
    elif "*" in rest:
        last, _, amount = rest.partition("*")
        step, times = 0, int(amount)
    numbers: list[int] = []
    number = int(first)
    while number <= int(last) and len(numbers) < 1000:
        numbers.append(number)
        following = number * times + step
        if following <= number:
            break
        number = following
    return numbers


def tests(options: BenchOptions, default_threads: int) -> list[BenchTest]:
    """Every test in llama-bench's order: the prompts, the generations, the pairs of each combination."""
    shapes = [(length, 0) for length in options.n_prompt if length > 0]
    shapes += [(0, length) for length in options.n_gen if length > 0]
    shapes += [(int(pair.split(",")[0]), int(pair.split(",")[1])) for pair in options.pg]
    dimensions: dict[str, list[Any]] = {
        "model": options.model,
        "n_gpu_layers": options.n_gpu_layers,
        "load_mode": options.load_mode,
        "devices": options.devices,
        "flash_attn": options.flash_attn,
        "repack": options.repack,
        "n_batch": options.n_batch,
        "n_ubatch": options.n_ubatch,
        "type_k": options.type_k,
        "type_v": options.type_v,
        "n_threads": options.n_threads or [default_threads],
        "cpu_mask": options.cpu_mask,
        "cpu_strict": options.cpu_strict,
        "poll": options.poll,
        "n_depth": options.n_depth,
    }
    return [
        BenchTest(n_prompt=prompt, n_gen=gen, **dict(zip(dimensions, values, strict=True)))
        for values in product(*dimensions.values())
        for prompt, gen in shapes
    ]
