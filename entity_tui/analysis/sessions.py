"""Several sessions of one plan: each verdict on its own, their spread, and in how many the answer came back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.session import SessionAnalysis
from entity_tui.analysis.verdict import Judgement, Verdict

DECIDED = frozenset(set(Verdict) - {Verdict.UNDECIDED, Verdict.VOID, Verdict.NONE})


@dataclass(frozen=True, slots=True)
class Replication:
    """One comparison over n sessions. Ratios are never pooled: blocks of different boots are different experiments."""

    name: str
    metric: str
    ratios: tuple[float | None, ...]
    verdicts: tuple[Verdict, ...]
    word: Verdict
    """The verdict most sessions reached, undecided when none or a tie."""
    replicated: int
    """How many sessions reached `word`."""
    spread: float | None
    """Largest over smallest estimate; None with fewer than two."""

    @property
    def sentence(self) -> str:
        """`optimized against threads_only: replicated in 2 of 3 (faster); estimates ×1.18, ×1.21, ×1.02.`"""
        shown = ", ".join("—" if ratio is None else f"×{ratio:.3f}" for ratio in self.ratios)
        spread = "" if self.spread is None else f"; largest over smallest ×{self.spread:.3f}"
        if self.word is Verdict.UNDECIDED:
            return f"{self.name}: no verdict came back in {len(self.ratios)} sessions; estimates {shown}{spread}."
        return (
            f"{self.name}: replicated in {self.replicated} of {len(self.ratios)} ({self.word.value}); "
            f"estimates {shown}{spread}."
        )


def replicate(sessions: Sequence[SessionAnalysis]) -> tuple[Replication, ...]:
    """The replication of every comparison that every session declared, in the order of the first."""
    if not sessions:
        return ()
    found = []
    for index, first in enumerate(sessions[0].judgements):
        across = [
            session.judgements[index]
            for session in sessions
            if index < len(session.judgements) and session.judgements[index].comparison == first.comparison
        ]
        if len(across) == len(sessions):
            found.append(_replication(across))
    return tuple(found)


def _replication(across: Sequence[Judgement]) -> Replication:
    ratios = tuple(item.estimate.ratio if item.estimate else None for item in across)
    verdicts = tuple(item.verdict for item in across)
    counts = Counter(verdict for verdict in verdicts if verdict in DECIDED).most_common(2)
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    word, replicated = (counts[0][0], counts[0][1]) if counts and not tied else (Verdict.UNDECIDED, 0)
    logs = [math.log(ratio) for ratio in ratios if ratio]
    spread = math.exp(max(logs) - min(logs)) if len(logs) > 1 else None
    comparison = across[0].comparison
    return Replication(comparison.name, comparison.metric, ratios, verdicts, word, replicated, spread)
