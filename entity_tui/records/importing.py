"""Recognises whose results a file or folder holds, by its content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from entity_tui.errors import UsageError
from entity_tui.records.entity_bench import is_entity_bench, quant_of, read_entity_bench
from entity_tui.records.export import parse_tidy_csv
from entity_tui.records.files import read_text
from entity_tui.records.imported import Imported
from entity_tui.records.littletai import Translate, is_littletai, read_littletai
from entity_tui.records.llama_bench import looks_like_llama_bench, read_llama_bench
from entity_tui.records.llama_bench_md import looks_like_markdown, read_llama_bench_md
from entity_tui.records.run_directory import SESSION_NAME, RunInfo
from entity_tui.records.schema import Row

LARGEST_BYTES = 500_000_000


def read_foreign(path: Path, translate: Translate) -> Iterable[Imported]:
    """The runs of a file or folder. UsageError for one that is nobody's, RecordError for one that cannot be read."""
    if path.is_dir():
        inside = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and is_littletai(folder)]
        if not is_littletai(path) and inside:
            return tuple(read_littletai(folder, translate) for folder in inside)
        if not is_littletai(path):
            raise UsageError(f"{path} is not a run folder of a known tool", fix="name a LITTLETai run folder")
        return (read_littletai(path, translate),)
    if path.stat().st_size > LARGEST_BYTES:
        raise UsageError(f"{path} is too large to be a result", detail=f"{path.stat().st_size} bytes")
    text = read_text(path)
    if is_entity_bench(text):
        return (read_entity_bench(text, path.name),)
    if text.removeprefix("\ufeff").startswith("schema_version,session_id,"):
        return tuple(own_runs(parse_tidy_csv(text)))
    if looks_like_llama_bench(text):
        return (read_llama_bench(text, path.name),)
    if looks_like_markdown(text):
        return (read_llama_bench_md(text, path.name),)
    raise UsageError(
        f"{path} is in no format that can be imported",
        fix="ENTITY Bench CSV, LITTLETai run folder, llama-bench output, or our own CSV",
    )


def own_runs(rows: tuple[Row, ...]) -> list[Imported]:
    """The runs of our own tidy CSV, which may hold several. UsageError for a session id that cannot be a folder."""
    by_session: dict[str, list[Row]] = {}
    for row in rows:
        by_session.setdefault(row.session_id, []).append(row)
    return [Imported(_info(session_id, mine), tuple(mine)) for session_id, mine in by_session.items()]


def _info(session_id: str, rows: list[Row]) -> RunInfo:
    if not SESSION_NAME.match(session_id):
        raise UsageError("the file holds a session id that cannot be a folder", detail=session_id)
    first = rows[0]
    name = first.model_name or ""
    return RunInfo(
        session_id=session_id,
        started_utc=min((row.wall_start_utc for row in rows if row.wall_start_utc), default=""),
        kind=first.experiment if first.experiment in ("placement", "compare", "chat") else "bench",
        experiment=first.experiment or "",
        state="done",
        device_id_hash=first.device_id_hash or "",
        os_build=first.os_build or "",
        transport=first.transport or "",
        simulated=first.simulated,
        clock_factor=first.clock_factor or 1.0,
        model_name=name,
        model_quant=first.model_quant or quant_of(name),
        model_sha256=first.model_sha256 or "",
        engine=first.engine or "",
        engine_build=first.engine_build or "",
        source="tidy csv",
    )
