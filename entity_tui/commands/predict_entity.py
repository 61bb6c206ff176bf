"""`predict --method entity`: ENTITY's published predictor under its own name, from its readings or from a chip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from entity_tui.commands.columns import aligned
from entity_tui.commands.model_tables import rate
from entity_tui.commands.options import print_json, read_snapshot_file
from entity_tui.errors import UsageError
from entity_tui.models.catalog import CatalogEntry, find_chip
from entity_tui.models.entity_probe import Assessment, Readings, Subject, assess, pick, readings_of_chip
from entity_tui.models.recommend import Workload


def readings_from(
    chip: str | None,
    snapshot: Path | None,
    free_bytes: int | None,
    bandwidth: float | None,
    score: float | None,
    isa: str,
) -> Readings:
    """The predictor's inputs: given readings, or those a measured chip would have shown. Raises UsageError."""
    words = {word.strip().lower() for word in isa.split(",") if word.strip()}
    if unknown := words - {"dotprod", "i8mm"}:
        raise UsageError(f"--isa knows dotprod and i8mm, not {', '.join(sorted(unknown))}.")
    free = free_bytes or 0
    if bandwidth is not None and score is not None:
        return Readings(bandwidth, score, "dotprod" in words, "i8mm" in words, free)
    if (bandwidth is None) != (score is None):
        raise UsageError("--bandwidth and --score belong together", fix="give both, or --chip")
    if snapshot is not None:
        from entity_tui.device.facts import read_facts

        facts = read_facts(read_snapshot_file(snapshot))
        chip = facts.identity.soc_code or facts.identity.soc
        free = free_bytes or facts.memory.available_bytes or 0
    found = find_chip(chip or "")
    if found is None:
        raise UsageError(
            "ENTITY's predictor needs its readings or a measured chip.",
            detail=f"{chip!r} is not in the dataset" if chip else "",
            fix="Give --bandwidth and --score, or --chip.",
        )
    reading, compute = readings_of_chip(found.decode_gb_s, found.prefill_b_tok_s, dotprod=found.dotprod)
    return Readings(reading, compute, found.dotprod, found.i8mm, free)


def predict_entity(
    entries: Sequence[CatalogEntry],
    chip: str | None,
    snapshot: Path | None,
    free_bytes: int | None,
    bandwidth: float | None,
    score: float | None,
    isa: str,
    workload: str | None,
    *,
    as_json: bool,
) -> None:
    """Print ENTITY's estimates, verdicts, reasons and picks."""
    from entity_tui.commands.predict import WORKLOADS, print_picks

    readings = readings_from(chip, snapshot, free_bytes, bandwidth, score, isa)
    subjects = [Subject(entry.id, entry.params_b, entry.quant, entry.size_bytes) for entry in entries]
    rows = [assess(subject, readings) for subject in subjects]
    picks: dict[str, Any] = {}
    for name in [workload] if workload else WORKLOADS:
        best, second = pick(rows, Workload(WORKLOADS[name]))
        picks[name] = {"pick": best, "runner_up": second}
    if as_json:
        print_json({"method": "entity", "models": [_json(row) for row in rows], "recommended": picks})
        return
    lines = [["model", "~decode", "~prompt", "~ttft", "fit", "reason"]]
    lines += [
        [
            row.subject.id,
            rate(row.decode_tok_s, predicted=True),
            rate(row.prefill_tok_s, predicted=True),
            f"~{row.ttft_s:.1f} s",
            row.fit,
            row.reason,
        ]
        for row in rows
    ]
    for line in aligned(lines, frozenset({1, 2, 3})):
        click.echo(line)
    print_picks(picks)
    click.echo("basis: ENTITY's predictor, anchored on one phone (Dimensity 7300); sizes it calls GB are GiB", err=True)


def _json(row: Assessment) -> dict[str, Any]:
    return {
        "model": row.subject.id,
        "decode_tok_s": round(row.decode_tok_s, 6),
        "prefill_tok_s": round(row.prefill_tok_s, 6),
        "ttft_s": round(row.ttft_s, 6),
        "fit": row.fit,
        "reason": row.reason,
    }
