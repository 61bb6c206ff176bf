"""Prints how many machines were read and how many agree, below the test run."""

from __future__ import annotations

from collections import Counter

import pytest

COUNTS: Counter[str] = Counter()


@pytest.fixture
def counts() -> Counter[str]:
    """The run's counters, shown at its end."""
    return COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The counts of the run."""
    if COUNTS:
        terminalreporter.write_sep("-", "phones")
        for name, count in sorted(COUNTS.items()):
            terminalreporter.write_line(f"{count:4d}  {name}")
