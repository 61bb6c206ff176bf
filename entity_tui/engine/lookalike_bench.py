"""A `llama-bench` made of xllamacpp: the same flags (a subset), the same jsonl fields, real measurements."""

from __future__ import annotations

import http.client
import json
import random
import secrets
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from entity_tui.engine.lookalike import (
    Flag,
    FlagError,
    LoadSettings,
    apply_mask,
    number_list,
    package_version,
    parse_flags,
    parse_hex_mask,
    start_server,
    whole_number,
)

FLAGS: Mapping[str, Flag] = {
    **dict.fromkeys(("-m", "--model"), Flag("model")),
    **dict.fromkeys(("-p", "--n-prompt"), Flag("n_prompt")),
    **dict.fromkeys(("-n", "--n-gen"), Flag("n_gen")),
    **dict.fromkeys(("-d", "--n-depth"), Flag("n_depth")),
    **dict.fromkeys(("-r", "--repetitions"), Flag("repetitions")),
    **dict.fromkeys(("-t", "--threads"), Flag("threads")),
    **dict.fromkeys(("-C", "--cpu-mask"), Flag("cpu_mask")),
    **dict.fromkeys(("-b", "--batch-size"), Flag("batch")),
    **dict.fromkeys(("-ub", "--ubatch-size"), Flag("ubatch")),
    **dict.fromkeys(("-ctk", "--cache-type-k"), Flag("type_k")),
    **dict.fromkeys(("-ctv", "--cache-type-v"), Flag("type_v")),
    **dict.fromkeys(("-fa", "--flash-attn"), Flag("flash_attention")),
    **dict.fromkeys(("-lm", "--load-mode"), Flag("load_mode")),
    **dict.fromkeys(("-ngl", "--n-gpu-layers"), Flag("gpu_layers")),
    **dict.fromkeys(("-dev", "--device"), Flag("device")),
    **dict.fromkeys(("-o", "--output"), Flag("output")),
    "--cpu-strict": Flag("cpu_strict"),
    "--poll": Flag("poll"),
    "--prio": Flag("prio"),
    "--delay": Flag("delay"),
    "--repack": Flag("repack"),
    "--progress": Flag("progress", takes_value=False),
    "--no-warmup": Flag("warmup", takes_value=False, constant="0"),
    "--offline": Flag("offline", takes_value=False),
    "-v": Flag("verbose", takes_value=False),
    "--verbose": Flag("verbose", takes_value=False),
    "--version": Flag("version", takes_value=False),
}
DEFAULTS = {
    **{"model": "", "n_prompt": "512", "n_gen": "128", "n_depth": "0", "repetitions": "5", "threads": "1"},
    **{"cpu_mask": "0x0", "batch": "2048", "ubatch": "512", "type_k": "f16", "type_v": "f16"},
    **{"flash_attention": "auto", "load_mode": "auto", "gpu_layers": "0", "device": "none", "output": "jsonl"},
    **{"cpu_strict": "0", "poll": "50", "prio": "0", "delay": "0", "repack": "1", "progress": "0", "warmup": "1"},
    **{"offline": "0", "verbose": "0", "version": "0"},
}


@dataclass(frozen=True, slots=True)
class Test:
    """One line of output: `n_prompt` tokens of prompt or `n_gen` generated ones, after `n_depth` others."""

    threads: int
    n_prompt: int
    n_gen: int
    n_depth: int


def plan_tests(values: Mapping[str, str]) -> tuple[Test, ...]:
    """llama-bench's order: per thread count and depth, one test per -p above 0, then one per -n above 0."""
    tests: list[Test] = []
    for threads in number_list(values, "threads"):
        for depth in number_list(values, "n_depth"):
            tests += [Test(threads, count, 0, depth) for count in number_list(values, "n_prompt") if count > 0]
            tests += [Test(threads, 0, count, depth) for count in number_list(values, "n_gen") if count > 0]
    if any(test.threads < 1 or test.n_depth < 0 for test in tests):
        raise FlagError("error: invalid parameter for argument: -t or -d")
    return tuple(tests)


def _tokens(count: int, seed: int) -> list[int]:
    """`count` token ids below 1000: every vocabulary has those, and llama-bench too feeds tokens without meaning."""
    source = random.Random(seed)
    return [source.randrange(10, 1000) for _ in range(count)]


class Bench:
    """One loaded model and the tests that run on it."""

    def __init__(self, server: Any, api_key: str) -> None:
        self._server = server
        self._api_key = api_key

    def model_numbers(self) -> tuple[int, int]:
        """(size in bytes, number of parameters) as the engine itself states them."""
        address = urlsplit(self._server.listening_address)
        link = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port or 80, timeout=10)
        try:
            link.request("GET", "/v1/models", headers={"Authorization": f"Bearer {self._api_key}"})
            meta = json.loads(link.getresponse().read())["data"][0]["meta"]
        finally:
            link.close()
        return int(meta["size"]), int(meta["n_params"])

    def _complete(self, prompt: list[int], predict: int, *, cached: bool) -> dict[str, Any]:
        answer = self._server.handle_completions(
            {"prompt": prompt, "n_predict": predict, "ignore_eos": True, "cache_prompt": cached, "temperature": 0.0}
        )
        if not isinstance(answer, dict) or "timings" not in answer:
            raise RuntimeError(f"the engine did not answer: {str(answer)[:300]}")
        timings: dict[str, Any] = answer["timings"]
        return timings

    def once(self, test: Test, seed: int) -> int:
        """One repetition, in nanoseconds, by the engine's own clock of that phase. Raises RuntimeError."""
        depth = _tokens(test.n_depth, seed)
        if depth:
            self._complete(depth, 1, cached=True)
        if test.n_prompt:
            timings = self._complete(depth + _tokens(test.n_prompt, seed + 1), 1, cached=bool(depth))
            done, spent_ms = int(timings["prompt_n"]), float(timings["prompt_ms"])
            wanted = test.n_prompt
        else:
            timings = self._complete([*depth, *_tokens(1, seed + 2)], test.n_gen + 1, cached=bool(depth))
            done, spent_ms = int(timings["predicted_n"]) - 1, float(timings["predicted_ms"])
            wanted = test.n_gen
        if done != wanted:
            raise RuntimeError(f"asked for {wanted} tokens, the engine made {done}")
        return round(spent_ms * 1e6)


def result_fields(values: Mapping[str, str], test: Test, model: tuple[int, int], started: str) -> dict[str, Any]:
    """The fields of one jsonl line that are known before anything ran, in llama-bench's order."""
    size_bytes, parameters = model
    return {
        "build_commit": "unknown",
        # The package states no build of llama.cpp; a number here would be read as one.
        "build_number": 0,
        "cpu_info": "CPU",
        "gpu_info": "",
        "backends": "CPU",
        "engine": "xllamacpp",
        "engine_version": package_version(),
        "model_filename": values["model"],
        "model_type": "",
        "model_size": size_bytes,
        "model_n_params": parameters,
        "n_batch": whole_number(values, "batch"),
        "n_ubatch": whole_number(values, "ubatch"),
        "n_threads": test.threads,
        "cpu_mask": values["cpu_mask"],
        "cpu_strict": values["cpu_strict"] == "1",
        "poll": whole_number(values, "poll"),
        "type_k": values["type_k"],
        "type_v": values["type_v"],
        "n_gpu_layers": 0,
        "devices": "none",
        "load_mode": values["load_mode"],
        "repack": values["repack"] != "0",
        "n_prompt": test.n_prompt,
        "n_gen": test.n_gen,
        "n_depth": test.n_depth,
        "test_time": started,
    }


def sample_fields(test: Test, samples_ns: Sequence[int]) -> dict[str, Any]:
    """Mean and sample deviation over the repetitions, then the repetitions themselves."""
    tokens = test.n_prompt or test.n_gen
    rates = [tokens * 1e9 / nanoseconds for nanoseconds in samples_ns]
    several = len(rates) > 1
    return {
        "avg_ns": round(statistics.fmean(samples_ns)),
        "stddev_ns": round(statistics.stdev(samples_ns)) if several else 0,
        "avg_ts": round(statistics.fmean(rates), 6),
        "stddev_ts": round(statistics.stdev(rates), 6) if several else 0.0,
        "samples_ns": list(samples_ns),
        "samples_ts": [round(rate, 4) for rate in rates],
    }


def run_tests(values: Mapping[str, str], tests: Sequence[Test], say: Callable[[str], None]) -> None:
    """Load the model once per thread count, run the tests, write one line of jsonl as each of them ends."""
    repetitions = max(1, whole_number(values, "repetitions"))
    bench: Bench | None = None
    threads = 0
    for number, test in enumerate(tests, 1):
        if bench is None or test.threads != threads:
            threads, key = test.threads, secrets.token_hex(16)
            bench = Bench(start_server(_settings(values, tests, threads, key)), key)
            model = bench.model_numbers()
        mark, phase = f"benchmark {number}/{len(tests)}", "prompt" if test.n_prompt else "generation"
        say(f"{mark}: starting")
        time.sleep(max(0, whole_number(values, "delay")))
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if values["warmup"] == "1":
            say(f"{mark}: warmup {phase} run")
            bench.once(test if test.n_prompt else Test(test.threads, 0, 1, test.n_depth), 7)
        samples: list[int] = []
        for turn in range(repetitions):
            say(f"{mark}: {phase} run {turn + 1}/{repetitions}")
            samples.append(bench.once(test, 1000 * (turn + 1)))
        line = {**result_fields(values, test, model, started), **sample_fields(test, samples)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _settings(values: Mapping[str, str], tests: Sequence[Test], threads: int, key: str) -> LoadSettings:
    longest = max(test.n_depth + max(test.n_prompt, test.n_gen) for test in tests)
    return LoadSettings(
        model=values["model"],
        context_tokens=longest + 16,
        threads=threads,
        threads_batch=threads,
        batch=whole_number(values, "batch"),
        ubatch=whole_number(values, "ubatch"),
        type_k=values["type_k"],
        type_v=values["type_v"],
        flash_attention=values["flash_attention"],
        load_mode=values["load_mode"],
        repack=values["repack"] != "0",
        api_keys=(key,),
        verbosity=4 if values["verbose"] == "1" else 1,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run as a program; 0 done, 1 with the reason on stderr, as llama-bench."""
    try:
        values = parse_flags(sys.argv[1:] if argv is None else argv, FLAGS, DEFAULTS)
        if values["version"] == "1":
            sys.stderr.write(f"version: xllamacpp {package_version()}\n")
            return 0
        if values["output"] not in ("jsonl", "json"):
            raise FlagError(f"error: invalid parameter for argument: -o {values['output']} (only jsonl is made here)")
        tests = plan_tests(values)
        apply_mask(parse_hex_mask(values["cpu_mask"]))
        try:
            with open(values["model"], "rb"):
                pass
        except OSError as error:
            sys.stderr.write(f"gguf_init_from_file: failed to open GGUF file '{values['model']}' ({error.strerror})\n")
            raise FlagError(f"llama_bench: error: failed to load model '{values['model']}'") from None
        sys.stderr.write(f"llama-bench: engine xllamacpp {package_version()}, CPU variant unknown\n")

        def say(text: str) -> None:
            if values["progress"] == "1":
                sys.stderr.write(f"llama-bench: {text}\n")
                sys.stderr.flush()

        run_tests(values, tests, say)
    except FlagError as error:
        sys.stderr.write(error.title + "\n")
        return 1
    except Exception as error:  # the border of a program: an engine's own failure becomes llama-bench's exit status
        sys.stderr.write(f"llama_bench: error: {error}\n")
        return 1
    return 0
