"""One self-contained page about a run: verdicts, tables, pictures, plan, and the raw files to take away."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from entity_tui.printable import printable
from entity_tui.records.export import read_csv
from entity_tui.records.external import external_results
from entity_tui.records.pictures import Picture, pictures
from entity_tui.records.reanalysis import Reanalysis, read_analysis
from entity_tui.records.run_directory import (
    DEVICE_FILE,
    JOURNAL_FILE,
    PLAN_FILE,
    ROWS_FILE,
    SAMPLES_FILE,
    RunDirectory,
    RunInfo,
)
from entity_tui.records.schema import Role, Row
from entity_tui.records.straggler_note import straggler_note
from entity_tui.records.tables import arm_table

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #8886; padding: .25rem .5rem; text-align: left; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; background: #fff; color: #000; padding: .5rem; }
figure svg { max-width: 100%; height: auto; }
.warn { border-left: 4px solid #d55e00; padding-left: .75rem; }
pre { overflow-x: auto; background: #8881; padding: .75rem; font-size: 13px; }
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The page may load nothing: what it shows is inside it."""

RAW_FILES = (ROWS_FILE, SAMPLES_FILE, PLAN_FILE, DEVICE_FILE, JOURNAL_FILE)


def report_page(run: RunDirectory, *, with_pictures: bool = True) -> tuple[str, tuple[Picture, ...]]:
    """The page's HTML and its pictures. UsageError when the run has no rows or matplotlib is missing."""
    found = read_analysis(run)
    drawn = pictures(found) if with_pictures else ()
    info = run.info()
    parts = [
        _heading(info, found),
        _section("Verdicts", _sentences((*found.tables.sentences, straggler_note(run, found)))),
        *(f"<figure>{_svg(item)}<figcaption>{_text(item.caption)}</figcaption></figure>" for item in drawn),
        _section("Arms", _table(arm_table(found.rows, found.declared.rules.planned_blocks))),
        _section("Comparisons", _csv_table(found.tables.verdicts_csv)),
        _section("Factors", _csv_table(found.tables.factors_csv)),
        _section("Every cell", _table(_cell_lines(found.rows))),
        _section("Results typed in by hand", _external(run)),
        _section("The plan", _plan(run)),
        _section("Raw files", _raw_files(run)),
    ]
    title = _text(f"{info.experiment or 'run'} on {info.device_name or 'a device'}")
    page = (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(part for part in parts if part) + "\n</body></html>\n"
    )
    return page, drawn


def _text(value: object) -> str:
    return escape(printable(str(value), keep_newlines=True))


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}" if content else ""


def _heading(info: RunInfo, found: Reanalysis) -> str:
    facts = [
        ("session", info.session_id),
        ("started", info.started_utc),
        ("ended as", info.state),
        ("device", f"{info.device_name} {info.os_build}".strip()),
        ("reached through", info.transport),
        ("model", f"{info.model_name} {info.model_quant}".strip()),
        ("model sha256", info.model_sha256),
        ("engine", f"{info.engine} {info.engine_build}".strip()),
        ("plan hash", next((row.plan_hash for row in found.rows if row.plan_hash), "") or ""),
        ("order seed", "" if found.declared.seed is None else str(found.declared.seed)),
        ("note", info.note),
    ]
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts if value)
    warning = ""
    if info.simulated:
        warning = f'<p class="warn">Simulated phone, clock ×{info.clock_factor:g}: no number here was measured.</p>'
    title = _text(found.declared.title or info.experiment or "Run")
    return f"<h1>{title}</h1>{warning}<table>{lines}</table>"


def _sentences(lines: Iterable[str]) -> str:
    found = "".join(f"<li>{_text(line)}</li>" for line in lines if line)
    return f"<ul>{found}</ul>" if found else ""


def _svg(picture: Picture) -> str:
    return picture.svg[picture.svg.index("<svg") :]


def _table(lines: Sequence[Mapping[str, str]]) -> str:
    if not lines:
        return ""
    head = "".join(f"<th>{_text(name.replace('_', ' '))}</th>" for name in lines[0])
    body = "".join(f"<tr>{''.join(_cell(value) for value in line.values())}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return f"<td>{_text(value)}</td>"
    return f'<td class="n">{_text(value)}</td>'


def _csv_table(text: str) -> str:
    return _table(read_csv(text)[1]) if text else ""


def _cell_lines(rows: Sequence[Row]) -> list[dict[str, str]]:
    columns = (
        "block",
        "position",
        "arm",
        "role",
        "attempt",
        "phase",
        "metric",
        "value",
        "unit",
        "state",
        "usability",
        "state_detail",
        "excluded_by",
        "threads_requested",
        "threads_seen",
        "mask_requested",
        "mask_applied",
        "variant_loaded",
        "gate_state",
        "temp_start_c",
        "temp_max_c",
        "charging_state",
        "power_coverage_pct",
    )
    measured = [row.cells() for row in rows if row.role != Role.AGGREGATE]
    used = [name for name in columns if any(line[name] for line in measured)]
    return [{name: line[name] for name in used} for line in measured]


def _external(run: RunDirectory) -> str:
    lines = [
        {"label": item.label, "value": f"{item.value:g}", "unit": item.unit, "source": item.source}
        for item in external_results(run)
    ]
    return "<p>Shown with their source, never analysed.</p>" + _table(lines) if lines else ""


def _plan(run: RunDirectory) -> str:
    text = run.plan_text()
    if not text:
        return ""
    shown = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    return f"<details><summary>plan.json</summary><pre>{_text(shown)}</pre></details>"


def _raw_files(run: RunDirectory) -> str:
    links = []
    for name in RAW_FILES:
        path = run.path / name
        if path.exists():
            data = base64.b64encode(path.read_bytes()).decode("ascii")
            size = path.stat().st_size
            links.append(
                f'<li><a download="{escape(name)}" href="data:application/octet-stream;base64,{data}">'
                f"{escape(name)}</a>, {size} bytes</li>"
            )
    return f"<ul>{''.join(links)}</ul>"
