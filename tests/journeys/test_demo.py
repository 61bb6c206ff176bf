"""The story `make demo` tells, as a user without a phone lives it: headless, and talking on the demo phone."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.tools import missing

pytestmark = pytest.mark.long


def entity(*words: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    argv = [sys.executable, "-m", "entity_tui", *words]
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout_s)


@pytest.fixture
def demo(private_home: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh user's folders with the small model fetched; the demo phone that is left is ended afterwards."""
    try:
        import xllamacpp  # noqa: F401
    except ImportError:
        missing("the package xllamacpp is not installed")
    data = private_home / "data"
    monkeypatch.setenv("ENTITY_TUI_DATA", str(data))
    (data / "models").mkdir(parents=True)
    (data / "models" / smollm2.name).symlink_to(smollm2)
    yield data
    for note in (private_home / "runtime").glob("entity-tui-*/phone-*.json"):
        os.kill(json.loads(note.read_text(encoding="utf-8"))["pid"], signal.SIGTERM)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_tour_tells_the_whole_story_without_a_terminal(demo: Path, tmp_path: Path) -> None:
    done = entity("tour", "--csv-folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "4 × Cortex-A78" in done.stdout
    assert "predicted android_armv8.2_2" in done.stdout
    phone, here = rows_of(tmp_path / "tour-demo-phone.csv"), rows_of(tmp_path / "tour-this-computer.csv")
    assert {row["arm"] for row in phone} >= {"naive", "threads_only", "optimized", "efficiency"}
    assert {row["simulated"] for row in phone} == {"1"}
    assert {row["simulated"] for row in here} == {"0"}
    assert any(row["metric"] == "decode_tok_s" and row["value"] for row in here)


def test_a_real_model_answers_on_the_demo_phone(demo: Path) -> None:
    words = ("chat", "--device", "demo", "--json", "--temperature", "0", "--max-tokens", "16", "--context", "512")
    done = entity(*words, "What is the capital of France?")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "Paris" in said["reply"]
    assert said["simulated"]


def test_a_laptop_that_dies_mid_run_collects_the_same_rows_later(demo: Path, tmp_path: Path) -> None:
    words = ("bench", "--device", "demo", "--speed", "20", "--runs", "1", "--seed", "4711", "--yes")
    argv = [sys.executable, "-m", "entity_tui", *words]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[2/5]"):
            break
    process.kill()
    process.communicate()
    out = tmp_path / "out.csv"
    done = entity(*words, "--csv", str(out))
    assert done.returncode == 0, done.stderr
    assert "on the device: attach" in done.stderr or "on the device: collect" in done.stderr
    cells = [(row["arm"], row["block"], row["phase"], row["metric"]) for row in rows_of(out)]
    assert len(cells) == len(set(cells))
    fresh = tmp_path / "fresh.csv"
    again = entity(*words, "--csv", str(fresh))
    assert again.returncode == 0, again.stderr
    key = ("block", "position", "arm", "role", "phase", "metric")
    assert [[row[name] for name in key] for row in rows_of(out)] == [
        [row[name] for name in key] for row in rows_of(fresh)
    ]
