"""Command lines of llama.cpp's programs as a phone needs them; one place, so that a screen and a plan never differ."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

SAFE_ENV: Mapping[str, str] = MappingProxyType({"GGML_NO_BACKTRACE": "1"})
"""An engine that aborts would otherwise start a debugger, which hangs a phone's shell."""

REMOVED_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "--mmap": "-lm mmap",
        "--no-mmap": "-lm none",
        "--mlock": "-lm mlock",
        "-mmp": "-lm",
    }
)
"""Flags older guides name, which a current build refuses, and what replaced them."""


def library_path(directory: str) -> str:
    """LD_LIBRARY_PATH for an engine folder: itself, and `lib` beside a `bin` (builds installed without RUNPATH)."""
    folder = directory.rstrip("/")
    beside = f":{folder.removesuffix('/bin')}/lib" if folder.endswith("/bin") else ""
    return folder + beside


def engine_env(directory: str, extra: Mapping[str, str] = MappingProxyType({})) -> tuple[tuple[str, str], ...]:
    """The environment of every launch, sorted by name; `extra` wins. No LLAMA_ARG_* of the user gets in."""
    merged = {**SAFE_ENV, "LD_LIBRARY_PATH": library_path(directory), **extra}
    return tuple(sorted(merged.items()))


def launched(argv: Sequence[str], env: Iterable[tuple[str, str]], mask: str | None = "") -> list[str]:
    """The command as the device runs it: its environment set, pinned to `mask` where there is one."""
    pin = ["taskset", mask] if mask else []
    return ["env", *(f"{name}={value}" for name, value in env), *pin, *argv]


def bench_argv(
    program: str,
    model: str,
    *,
    n_prompt: int,
    n_gen: int,
    threads: int,
    repetitions: int = 1,
    n_depth: int = 0,
    load_mode: str = "",
    flags: Sequence[str] = (),
    warmup: bool = True,
) -> tuple[str, ...]:
    """llama-bench for one test, one JSON line a test on stdout. `flags` come last and so override.

    `n_prompt` 0 or `n_gen` 0 leaves that phase out; both 0 is a ValueError, because the program would run its default.
    """
    if n_prompt <= 0 and n_gen <= 0:
        raise ValueError("a bench launch needs a prompt or tokens to generate")
    argv = [program, "-m", model, "-p", str(n_prompt), "-n", str(n_gen), "-t", str(threads), "-r", str(repetitions)]
    if n_depth:
        argv += ["-d", str(n_depth)]
    if load_mode:
        argv += ["-lm", load_mode]
    if not warmup:
        argv.append("--no-warmup")
    return (*argv, "-o", "jsonl", *flags)


def completion_argv(
    program: str, model: str, prompt: str, *, n_gen: int, threads: int, n_ctx: int = 2048, flags: Sequence[str] = ()
) -> tuple[str, ...]:
    """llama-completion, greedy and seeded, text alone on stdout: what an equivalence test compares byte for byte."""
    argv = [program, "-m", model, "-p", prompt, "-n", str(n_gen), "-t", str(threads), "-c", str(n_ctx)]
    return (*argv, "-no-cnv", "--temp", "0", "--seed", "42", "--no-display-prompt", "--no-warmup", *flags)


def perplexity_argv(
    program: str, model: str, text_path: str, *, chunks: int, threads: int, n_ctx: int = 512, flags: Sequence[str] = ()
) -> tuple[str, ...]:
    """llama-perplexity over the first `chunks` chunks of a text file on the device."""
    argv = [program, "-m", model, "-f", text_path, "--chunks", str(chunks), "-t", str(threads), "-c", str(n_ctx)]
    return (*argv, *flags)


def shell_line(argv: Sequence[str], *, mask: str = "", env: Sequence[tuple[str, str]] = ()) -> str:
    """The launch as a line a user can paste into the phone's shell."""
    words = [f"{name}={shlex.quote(value)}" for name, value in env]
    if mask:
        words += ["taskset", mask]
    return " ".join([*words, *(shlex.quote(word) for word in argv)])


def removed_flag(flags: Sequence[str]) -> tuple[str, str] | None:
    """The first flag a current build no longer knows, with its replacement; None when all are current."""
    for flag in flags:
        if flag in REMOVED_FLAGS:
            return flag, REMOVED_FLAGS[flag]
    return None
