"""llama-bench's Markdown tables, as people paste them into issues: means with a spread, never repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from entity_tui.errors import UsageError
from entity_tui.records.entity_bench import quant_of
from entity_tui.records.imported import Imported, session_id_of
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.schema import Metric, Role, Row, Usability, metric_row

_RATE = re.compile(r"(?P<mean>\d+(?:\.\d+)?)(?:\s*±\s*(?P<sd>\d+(?:\.\d+)?))?\s*$")
_TEST = re.compile(r"(?:pp(?P<prompt>\d+))?\+?(?:tg(?P<gen>\d+))?(?:\s*@\s*d(?P<depth>\d+))?\s*$")
_BUILD = re.compile(r"^build:\s*(?P<commit>\S+)\s*\((?P<number>\d+)\)", re.MULTILINE)
NOT_AN_ARM = frozenset({"model", "size", "params", "backend", "test", "t/s"})


def looks_like_markdown(text: str) -> bool:
    """True when a line is the head of such a table."""
    return any(_is_head(line) for line in text.splitlines())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _is_head(line: str) -> bool:
    cells = _cells(line)
    return line.lstrip().startswith("|") and cells[0] == "model" and cells[-1] == "t/s"


def _lines(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every table line by column, with the heading that stood above its table."""
    head: list[str] = []
    title = ""
    for line in text.splitlines():
        if _is_head(line):
            head = _cells(line)
        elif head and line.lstrip().startswith("|"):
            cells = _cells(line)
            if len(cells) == len(head) and not set(line) <= set("|-: "):
                yield title, dict(zip(head, cells, strict=True))
        elif line.strip().startswith("="):
            head, title = [], line.strip(" =")


def read_llama_bench_md(text: str, origin: str = "") -> Imported:
    """Read every table of a text. A heading of `=` signs above a table names its arms. UsageError without a result."""
    session_id = session_id_of("llama-bench-md", text)
    build = _BUILD.search(text)
    rows: list[Row] = []
    base = Row(
        session_id=session_id,
        metric=Metric.DECODE_TOK_S,
        transport="imported",
        experiment="llama-bench",
        instrument="llama-bench",
        role=Role.MEASURE,
        attempt=1,
        engine="llama.cpp",
        engine_build=f"b{build['number']} ({build['commit']})" if build else None,
        usability=Usability.TAINTED,
    )
    for position, (title, line) in enumerate(_lines(text), start=1):
        row = _row(replace(base, position=position), title, line)
        if row is not None:
            rows.append(row)
    if not rows:
        raise UsageError("this is not a llama-bench table", fix="import the output of llama-bench -o jsonl")
    first = rows[0]
    note = "Means of a Markdown table: no repetitions, so neither medians nor a verdict."
    info = RunInfo(
        session_id=session_id,
        started_utc="",
        experiment="llama-bench",
        state="done",
        transport="imported",
        model_name=first.model_name or "",
        model_quant=first.model_quant or "",
        engine="llama.cpp",
        engine_build=first.engine_build or "",
        source=f"llama-bench {origin}".strip(),
        note=note,
    )
    return Imported(info, tuple(rows), {}, (note,))


def _row(base: Row, title: str, line: Mapping[str, str]) -> Row | None:
    rate, test = _RATE.match(line["t/s"]), _TEST.match(line.get("test", ""))
    if rate is None or test is None or not (test["prompt"] or test["gen"]):
        return None
    threads = line.get("threads", "")
    parts = [title] if title else []
    parts += [f"t{threads}"] if threads.isdecimal() else []
    parts += [f"{name}={value}" for name, value in line.items() if name not in NOT_AN_ARM and name != "threads"]
    prompt, generated = int(test["prompt"] or 0), int(test["gen"] or 0)
    phase = "cell" if prompt and generated else "prefill" if prompt else "decode"
    metric = {"prefill": Metric.PROMPT_TOK_S, "decode": Metric.DECODE_TOK_S}.get(phase, "prompt_and_decode_tok_s")
    spread = f", ± {rate['sd']} as printed" if rate["sd"] else ""
    row = replace(
        base,
        arm=" ".join(parts) or line.get("backend", ""),
        phase=phase,
        model_name=line["model"],
        model_quant=quant_of(line["model"]) or None,
        n_prompt=prompt,
        n_gen=generated,
        n_depth=int(test["depth"] or 0),
        threads_requested=int(threads) if threads.isdecimal() else None,
        state_detail=f"imported: aggregate_only{spread}",
    )
    return metric_row(row, metric, float(rate["mean"]), unit="tok/s", better="higher")
