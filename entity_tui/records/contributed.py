"""The contributed dataset as two tables, one line a run and one line an arm, read into values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entity_tui.analysis.dataset import ContributedArm, ContributedRun
from entity_tui.analysis.silicon_constants import ModelSize
from entity_tui.errors import UsageError
from entity_tui.records.export import read_csv
from entity_tui.records.files import read_text


def read_contributed(runs_csv: Path, arms_csv: Path) -> tuple[ContributedRun, ...]:
    """The runs with their arms, by id. RecordError for a file that cannot be opened, UsageError for a bad cell."""
    _, run_lines = read_csv(read_text(runs_csv))
    _, arm_lines = read_csv(read_text(arms_csv))
    try:
        arms: dict[int, list[ContributedArm]] = {}
        for line in arm_lines:
            arms.setdefault(int(line["run_id"]), []).append(_arm(line))
        runs = [_run(line, tuple(arms.get(int(line["id"]), ()))) for line in run_lines]
    except (KeyError, ValueError) as error:
        raise UsageError("the contributed tables cannot be read", detail=str(error)) from error
    return tuple(sorted(runs, key=lambda run: run.run_id))


def read_model_sizes(catalog_csv: Path) -> Mapping[str, ModelSize]:
    """Sizes by file name without its ending, from a catalog table."""
    _, lines = read_csv(read_text(catalog_csv))
    return {
        line["file_name"].removesuffix(".gguf"): ModelSize(int(line["size_bytes"]), float(line["params_b"]))
        for line in lines
    }


def _number(text: str) -> float | None:
    return float(text) if text else None


def _arm(line: Mapping[str, str]) -> ContributedArm:
    return ContributedArm(
        arm=line["arm"],
        threads=int(line["threads"]),
        pinned=line["pinned"] == "true",
        slow_cluster=line["slow_cluster"] == "true",
        passes=int(line["passes"]),
        decode_tok_s=_number(line["decode_tok_s"]),
        decode_sd=_number(line["decode_sd"]),
        prompt_tok_s=_number(line["prompt_tok_s"]),
        prompt_sd=_number(line["prompt_sd"]),
        ttft_ms=_number(line["ttft_ms"]),
        watts=_number(line["watts"]),
        tok_per_w=_number(line["tok_per_w"]),
    )


def _run(line: Mapping[str, str], arms: tuple[ContributedArm, ...]) -> ContributedRun:
    return ContributedRun(
        run_id=int(line["id"]),
        received_at_utc=line["received_at_utc"],
        device_model=line["device_model"],
        soc=line["soc"],
        cpu_flags=tuple(line["cpu_flags"].split()),
        max_freqs_mhz=tuple(int(freq) for freq in line["max_freqs_mhz"].split()),
        fast_cores=int(line["fast_cores"]),
        model_file=line["model_file"],
        quantization=line["quantization"],
        kleidiai_label=line["kleidiai_accelerated"] == "true",
        runs_per_arm=int(line["runs_per_arm"]),
        charging=line["charging"] == "true",
        power_valid=line["power_valid"] == "true",
        arms=arms,
    )
