"""The model card: what a file is and whether KleidiAI covers it, row for row as ENTITY's app shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from entity_tui.models.census import Census
from entity_tui.models.fit import size_words
from entity_tui.models.kleidiai import ENTITY_ELIGIBLE


class KleidiState(StrEnum):
    """ENTITY's five states of the KleidiAI row. They speak of weight types; only a log line proves dispatch."""

    ACTIVE = "active"
    PARTIAL = "partial"
    NOT_USED = "not used"
    EXPECTED = "expected"
    LABEL_NOT_USED = "not used (by label)"


@dataclass(frozen=True, slots=True)
class CardRow:
    """One line of the card; `value` is `—` when unknown."""

    label: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Running:
    """How the model is loaded just now; empty parts mean it is not loaded or nobody asked."""

    window_tokens: int | None = None
    auto_fit: bool = False
    backend: str = ""
    isa: str = ""
    threads_generate: int | None = None
    threads_prompt: int | None = None
    placement: str = ""


def kleidi_state(census: Census | None, label: str) -> KleidiState:
    """Which of the five states holds, from the census or, without one, from the label of the file."""
    if census is None:
        return KleidiState.EXPECTED if label.upper() in ENTITY_ELIGIBLE else KleidiState.LABEL_NOT_USED
    share = census.entity_coverage.share
    if share is None or share == 0.0:
        return KleidiState.NOT_USED
    return KleidiState.ACTIVE if share == 1.0 else KleidiState.PARTIAL


def kleidi_words(census: Census | None, label: str) -> str:
    """The KleidiAI row's text."""
    state = kleidi_state(census, label)
    if state is KleidiState.ACTIVE:
        return "active (all weights)"
    if state is KleidiState.PARTIAL and census is not None:
        percent = census.entity_coverage.percent
        worst = census.offenders[0]
        return f"partial ({percent} % of weights); largest outside: {worst.name} ({worst.type.name})"
    if state is KleidiState.EXPECTED:
        return f"expected (by file type {label})"
    if state is KleidiState.NOT_USED and census is not None:
        return f"NOT used: {census.main_type} has no kernel; load a Q4_0 or Q8_0 file instead"
    return "NOT used (by file type)"


def card(census: Census | None, *, label: str, file_bytes: int, running: Running = Running()) -> tuple[CardRow, ...]:
    """Every row, in order. `label` is the weight type in the file's name; `file_bytes` its size on disk."""
    header = "GGUF header"
    missing = "—"

    def known(value: object) -> str:
        return missing if value in (None, "") else str(value)

    def grouped(value: int | None) -> str:
        return missing if value is None else f"{value:,}".replace(",", " ")

    window = missing
    if running.window_tokens is not None:
        window = f"{running.window_tokens}" + (" auto-fit" if running.auto_fit else "")
    threads = missing
    if running.threads_generate is not None:
        threads = f"{running.threads_generate} / {running.threads_prompt or running.threads_generate}"
    quant = label or (census.file_type if census else "")
    return (
        CardRow("File size", size_words(file_bytes), "file"),
        CardRow("Parameters", f"{census.parameters / 1e9:.2f} B" if census else missing, header),
        CardRow("Weights", known(quant), "file name" if label else header),
        CardRow("KleidiAI", kleidi_words(census, quant), "tensor types" if census else "file name"),
        CardRow("Trained context", grouped(census.trained_context) if census else missing, header),
        CardRow("Running context", window, "runtime"),
        CardRow("Vocabulary", grouped(census.vocabulary) if census else missing, header),
        CardRow("Architecture", known(census.architecture) if census else missing, header),
        CardRow("Backend loaded", known(running.backend), "loader's line"),
        CardRow("ISA", known(running.isa), "device"),
        CardRow("Threads gen/prompt", threads, "runtime"),
        CardRow("Placement", known(running.placement), "runtime"),
    )
