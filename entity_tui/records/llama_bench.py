"""llama-bench's own output (jsonl, json, csv), read into our rows and written from them as jsonl."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from entity_tui.engine.bench_output import OK, BenchResult, parse_bench
from entity_tui.errors import UsageError
from entity_tui.records.entity_bench import quant_of
from entity_tui.records.imported import Imported, session_id_of
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row, Usability, metric_row

FIELDS_FILE = "llama_bench_fields.json"
COMBINED = "prompt_and_decode_tok_s"
"""llama-bench's -pg test: prompt and generation under one clock, which is neither of the two rates."""

NS = 1e9


def looks_like_llama_bench(text: str) -> bool:
    """True when the text holds at least one whole result of llama-bench."""
    return bool(parse_bench(text).results)


def read_llama_bench(text: str, origin: str = "") -> Imported:
    """Read an output: every repetition is a row, every distinct command line an arm.

    Repetitions follow each other inside one process, so they are no blocks and no verdict can come from them. Raises
    UsageError when the output is cut or holds no result: no number is taken from half a file.
    """
    output = parse_bench(text)
    if output.state != OK:
        raise UsageError(
            "this is not a whole llama-bench output",
            detail=f"{output.state}: {output.detail}",
            fix="run llama-bench again with -o jsonl",
        )
    first = output.results[0]
    model = first.model_filename.replace("\\", "/").rsplit("/", 1)[-1]
    info = RunInfo(
        session_id=session_id_of("llama-bench", text),
        started_utc=first.test_time_utc.replace("Z", "+00:00"),
        kind="bench",
        experiment="llama-bench",
        state="done",
        device_name=str((first.fields or {}).get("cpu_info", "")),
        transport="imported",
        model_name=model.removesuffix(".gguf") or first.model_type,
        model_quant=quant_of(model) or quant_of(first.model_type),
        engine="llama.cpp",
        engine_build=build_of(first),
        source=f"llama-bench {origin}".strip(),
    )
    names = arm_names(output.results)
    rows: list[Row] = []
    fields: dict[str, Mapping[str, Any]] = {}
    for position, (name, result) in enumerate(zip(names, output.results, strict=True), start=1):
        rows += _rows(info, name, result, position)
        fields.setdefault(f"{name}/{_phase(result)}/{result.n_depth}/{position}", result.fields or {})
    text_of_fields = json.dumps(fields, ensure_ascii=False, indent=1) + "\n"
    notes = ("Repetitions of one process are no blocks: medians only, no verdict.",)
    return Imported(replace(info, note=notes[0]), tuple(rows), {FIELDS_FILE: text_of_fields}, notes)


def build_of(result: BenchResult) -> str:
    """`b10154 (e88b11dc9)`, or what of it is printed."""
    number = f"b{result.build_number}" if result.build_number else ""
    commit = f"({result.build_commit})" if result.build_commit and result.build_commit != "unknown" else ""
    return f"{number} {commit}".strip()


NOT_AN_AXIS = (
    "build_",
    "model_",
    "avg_",
    "stddev_",
    "samples_",
    "test_time",
    "n_prompt",
    "n_gen",
    "n_depth",
    "n_threads",
)
"""Beginnings of the field names that never tell two arms apart; every other field that differs does."""

SHORT = {"n_threads": "t", "cpu_mask": "mask", "type_k": "ctk", "type_v": "ctv", "n_batch": "b", "n_ubatch": "ub"}


def arm_names(results: Sequence[BenchResult]) -> list[str]:
    """One name per result, `t4` or `t4 mask=0xf0 ctk=q8_0`: threads, then whatever else differs in this output."""
    fields = [result.fields or {} for result in results]
    every = dict.fromkeys(name for item in fields for name in item if not name.startswith(NOT_AN_AXIS))
    differing = [name for name in every if len({str(item.get(name, "")) for item in fields}) > 1]
    models = {result.model_filename for result in results}
    names = []
    for result, item in zip(results, fields, strict=True):
        parts = [f"t{result.n_threads}" if result.n_threads is not None else "t?"]
        parts += [f"{SHORT.get(name, name)}={item.get(name, '')}" for name in differing]
        if len(models) > 1:
            parts.append(result.model_filename.rsplit("/", 1)[-1].removesuffix(".gguf"))
        names.append(" ".join(parts))
    return names


def _phase(result: BenchResult) -> str:
    if result.n_prompt and result.n_gen:
        return "cell"
    return "prefill" if result.n_prompt else "decode"


def _rows(info: RunInfo, arm: str, result: BenchResult, position: int) -> list[Row]:
    phase = _phase(result)
    metric = {"prefill": Metric.PROMPT_TOK_S, "decode": Metric.DECODE_TOK_S}.get(phase, COMBINED)
    mask = result.cpu_mask.removeprefix("0x").lower()
    base = Row(
        session_id=info.session_id,
        metric=metric,
        transport="imported",
        experiment=info.experiment,
        instrument="llama-bench",
        role=Role.MEASURE,
        arm=arm,
        position=position,
        attempt=1,
        phase=phase,
        unit="tok/s",
        better="higher",
        wall_start_utc=info.started_utc or None,
        engine=info.engine,
        engine_build=build_of(result) or None,
        model_name=info.model_name or None,
        model_quant=info.model_quant or None,
        n_prompt=result.n_prompt,
        n_gen=result.n_gen,
        n_depth=result.n_depth,
        load_mode=result.load_mode or None,
        threads_requested=result.n_threads,
        mask_requested=mask if mask.strip("0") else None,
        usability=Usability.TAINTED,
        state_detail="imported: no gate, no mask readback",
    )
    if result.aggregate_only:
        detail = f"{base.state_detail}; aggregate_only"
        return [metric_row(replace(base, state_detail=detail), metric, result.rate_tok_s, **_tok_s())]
    return [
        metric_row(
            replace(base, raw_ref=f"#{number}", n_tokens=result.tokens, duration_s=sample / NS),
            metric,
            result.tokens * NS / sample,
            **_tok_s(),
        )
        for number, sample in enumerate(result.samples_ns, start=1)
        if sample > 0
    ]


def _tok_s() -> dict[str, str]:
    return {"unit": "tok/s", "better": "higher"}


def write_llama_bench(rows: Sequence[Row], fields: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The rows as llama-bench's jsonl: one line per arm, phase and depth, with samples and their mean.

    `fields` are those an import stored; anything we never knew is filled from them. Warm-up, void rows and values
    without a duration are left out; rows of several cells of an arm become samples of one line.
    """
    groups: dict[tuple[str, str, int, int], list[Row]] = {}
    for row in rows:
        usable = row.countable and row.n_tokens and row.duration_s and row.phase in ("prefill", "decode", "cell")
        aggregate = row.countable and row.value and row.duration_s is None and row.unit == "tok/s" and fields
        if row.unit == "tok/s" and (usable or aggregate):
            imported = row.position or 0 if fields else 0
            groups.setdefault((row.arm or "", row.phase or "", row.n_depth or 0, imported), []).append(row)
    lines = []
    for (arm, phase, depth, position), mine in groups.items():
        stored = (fields or {}).get(f"{arm}/{phase}/{depth}/{position}", {})
        lines.append(json.dumps({**_line(mine, phase), **stored}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _line(rows: Sequence[Row], phase: str) -> dict[str, Any]:
    first = rows[0]
    samples_ns = [round((row.duration_s or 0.0) * NS) for row in rows if row.duration_s]
    rates = [row.value or 0.0 for row in rows]
    number, _, commit = (first.engine_build or "").partition(" ")
    return {
        "build_commit": commit.strip("()") or "unknown",
        "build_number": int(number[1:]) if number[1:].isdigit() else 0,
        "model_filename": f"{(first.model_name or 'model').removesuffix('.gguf')}.gguf",
        "model_type": first.model_quant or "",
        "n_threads": first.threads_requested or 0,
        "cpu_mask": f"0x{first.mask_applied or first.mask_requested or '0'}",
        "n_prompt": (first.n_prompt or 0) if phase != "decode" else 0,
        "n_gen": (first.n_gen or 0) if phase != "prefill" else 0,
        "n_depth": first.n_depth or 0,
        "test_time": (first.wall_start_utc or "").replace("+00:00", "Z"),
        "avg_ns": round(statistics.fmean(samples_ns)) if samples_ns else 0,
        "stddev_ns": round(statistics.stdev(samples_ns)) if len(samples_ns) > 1 else 0,
        "avg_ts": round(statistics.fmean(rates), 6),
        "stddev_ts": round(statistics.stdev(rates), 6) if len(rates) > 1 else 0.0,
        "samples_ns": samples_ns,
        "samples_ts": [round(rate, 6) for rate in rates],
    }
