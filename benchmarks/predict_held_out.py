"""Predict one model's speed from another's on this computer, with real files and a real engine.

    python -m benchmarks.predict_held_out ENGINE_FOLDER MODEL.gguf [CPU]

Makes further quantisations of the model with the engine's own tool, measures all of them with llama-bench on one
thread pinned to one CPU (repetitions interleaved, so that drift hits all alike), then predicts each from the others:
predicted, measured, error. The arm is ours (one thread); its figures say nothing about a phone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from entity_tui.engine.model_files import local_census
from entity_tui.models.census import Census
from entity_tui.models.predict import OwnRun, fit_machine, held_out

QUANTS = ("Q4_0", "Q8_0", "Q6_K")
ROUNDS = 5


def quantise(engine: Path, source: Path, quant: str, folder: Path) -> Path:
    """A quantisation of `source` made with the engine's llama-quantize."""
    target = folder / f"{source.stem.split('.')[0]}.{quant}.gguf"
    command = [str(engine / "llama-quantize"), "--allow-requantize", str(source), str(target), quant]
    subprocess.run(command, check=True, capture_output=True)
    return target


def measure(engine: Path, model: Path, cpu: int) -> tuple[float, float]:
    """(prompt tok/s, generated tok/s), one repetition each, one thread on one CPU."""
    command = ["taskset", "-c", str(cpu), str(engine / "llama-bench"), "-m", str(model)]
    command += ["-p", "128", "-n", "32", "-t", "1", "-r", "1", "-o", "jsonl"]
    environment = {**os.environ, "GGML_NO_BACKTRACE": "1", "LD_LIBRARY_PATH": str(engine)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    prompt, generated = (json.loads(line)["avg_ts"] for line in done.stdout.splitlines())
    return prompt, generated


def run_of(model: Path, census: Census, results: list[tuple[float, float]]) -> OwnRun:
    """The medians of one model as an own run."""
    return OwnRun(
        model=model.name,
        bytes_per_token=census.per_token_bytes,
        params_b=census.parameters / 1e9,
        quant=census.main_type,
        decode_tok_s=statistics.median(decode for _, decode in results),
        prefill_tok_s=statistics.median(prompt for prompt, _ in results),
        runs=len(results),
        settings="1 thread, pinned",
    )


def main(arguments: list[str]) -> int:
    """Print one line per model: measured, predicted from the others, error."""
    if len(arguments) < 2:
        print("usage: python -m benchmarks.predict_held_out ENGINE_FOLDER MODEL.gguf [CPU]", file=sys.stderr)
        return 2
    engine, source = Path(arguments[0]), Path(arguments[1])
    cpu = int(arguments[2]) if len(arguments) > 2 else 1
    with tempfile.TemporaryDirectory() as place:
        models = [source, *(quantise(engine, source, quant, Path(place)) for quant in QUANTS)]
        counted = {model: local_census(model) for model in models}
        results: dict[Path, list[tuple[float, float]]] = {model: [] for model in models}
        for _ in range(ROUNDS):
            for model in models:
                results[model].append(measure(engine, model, cpu))
        runs = [run_of(model, counted[model], results[model]) for model in models]
    machine = fit_machine(runs)
    assert machine is not None
    print(f"{machine.words}; decode constants differ by {machine.spread_pct:.0f} %")
    print(f"{'held out':<42} {'bytes/token':>12} {'predicted':>10} {'measured':>10} {'error':>8}")
    for run in runs:
        held = held_out(runs, run.model)
        assert held is not None
        print(
            f"{run.model:<42} {run.bytes_per_token / 1e6:>9.1f} MB {held.predicted_decode_tok_s:>10.1f} "
            f"{held.measured_decode_tok_s:>10.1f} {held.decode_error_pct:>+7.1f}%"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
