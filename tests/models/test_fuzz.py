"""The fuzz of `tools/fuzz_gguf.py`, small enough for every run and whole for the long ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fixtures.tools import REPOSITORY


def fuzz(count: int, seed: int) -> str:
    """The tool in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, str(REPOSITORY / "tools" / "fuzz_gguf.py"), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_thousand_mutated_headers_are_read_or_refused() -> None:
    assert "2000 headers, seed 7" in fuzz(2000, 7)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_hundred_thousand_mutated_headers_are_read_or_refused_in_64_mb() -> None:
    assert ", 0 other outcomes" in fuzz(100_000, 1)
