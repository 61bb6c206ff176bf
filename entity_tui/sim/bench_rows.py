"""What the stand-in llama-bench prints: one result in each of the formats of build 11434."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from entity_tui.sim.bench_args import BenchTest

FLASH = {"auto": -1, "on": 1, "off": 0, "1": 1, "0": 0}
BUILD_NUMBER = 11434
BUILD_COMMIT = "simulated"


@dataclass(frozen=True, slots=True)
class BenchModel:
    """What a result tells of the model."""

    description: str
    size_bytes: int
    parameters: int


def row(
    test: BenchTest, model: BenchModel, cpu_info: str, started: datetime, samples_ns: Sequence[int]
) -> dict[str, Any]:
    """One result by field name, in the order llama-bench writes them. `samples_ns` has one span a repetition."""
    tokens = test.n_prompt + test.n_gen
    speeds = [tokens / (span / 1e9) for span in samples_ns]
    return {
        "build_commit": BUILD_COMMIT,
        "build_number": BUILD_NUMBER,
        "cpu_info": cpu_info,
        "gpu_info": "",
        "backends": "CPU",
        "model_filename": test.model,
        "model_type": model.description,
        "model_size": model.size_bytes,
        "model_n_params": model.parameters,
        "n_batch": test.n_batch,
        "n_ubatch": test.n_ubatch,
        "n_threads": test.n_threads,
        "cpu_mask": test.cpu_mask,
        "cpu_strict": bool(test.cpu_strict),
        "poll": test.poll,
        "type_k": test.type_k,
        "type_v": test.type_v,
        "n_gpu_layers": test.n_gpu_layers,
        "n_cpu_moe": 0,
        "split_mode": "layer",
        "main_gpu": 0,
        "no_kv_offload": False,
        "flash_attn": FLASH.get(test.flash_attn, -1),
        "devices": test.devices,
        "tensor_split": "0.00",
        "tensor_buft_overrides": "none",
        "load_mode": test.load_mode,
        "lazy_mode": "auto",
        "embeddings": False,
        "no_op_offload": 0,
        "no_host": False,
        "repack": bool(test.repack),
        "fit_target": 0,
        "fit_min_ctx": 0,
        "n_prompt": test.n_prompt,
        "n_gen": test.n_gen,
        "n_depth": test.n_depth,
        "test_time": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "avg_ns": round(statistics.fmean(samples_ns)),
        "stddev_ns": round(statistics.stdev(samples_ns)) if len(samples_ns) > 1 else 0,
        "avg_ts": round(statistics.fmean(speeds), 6),
        "stddev_ts": round(statistics.stdev(speeds), 6) if len(speeds) > 1 else 0.0,
        "samples_ns": list(samples_ns),
        "samples_ts": [float(f"{speed:.6g}") for speed in speeds],
    }


def head(output: str, fields: Mapping[str, Any]) -> list[str]:
    """What stands before the first result."""
    if output == "json":
        return ["["]
    if output == "csv":
        return [",".join(key for key in fields if not key.startswith("samples"))]
    if output == "md":
        columns = ("model", "size", "params", "backend", "threads", "test", "t/s")
        return ["| " + " | ".join(columns) + " |", "| --- | ---: | ---: | --- | ---: | ---: | ---: |"]
    return []


def line(output: str, fields: Mapping[str, Any], *, first: bool) -> list[str]:
    """One result."""
    if output == "jsonl":
        return [json.dumps(fields)]
    if output == "json":
        pairs = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()]
        return [*([] if first else ["  ,"]), "  {", *[pair + "," for pair in pairs[:-1]], pairs[-1], "  }"]
    plain = {key: int(value) if isinstance(value, bool) else value for key, value in fields.items()}
    if output == "csv":
        return [",".join(f'"{value}"' for key, value in plain.items() if not key.startswith("samples"))]
    if output == "md":
        cells = (
            fields["model_type"],
            f"{fields['model_size'] / 2**20:.2f} MiB",
            f"{fields['model_n_params'] / 1e6:.2f} M",
            "CPU",
            str(fields["n_threads"]),
            f"pp{fields['n_prompt']}" if fields["n_prompt"] else f"tg{fields['n_gen']}",
            f"{fields['avg_ts']:.2f} ± {fields['stddev_ts']:.2f}",
        )
        return ["| " + " | ".join(cells) + " |"]
    columns = ", ".join(key for key in plain if not key.startswith("samples"))
    values = ", ".join(f"'{value}'" for key, value in plain.items() if not key.startswith("samples"))
    return [f"INSERT INTO llama_bench ({columns}) VALUES ({values});"]


def foot(output: str) -> list[str]:
    """What stands after the last result."""
    if output == "json":
        return ["]"]
    if output == "md":
        return ["", f"build: {BUILD_COMMIT} ({BUILD_NUMBER})"]
    return []
