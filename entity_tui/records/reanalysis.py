"""Rebuilds every table and verdict of a run from its plain files, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.analysis.session import SessionAnalysis, analyse
from entity_tui.errors import UsageError
from entity_tui.records.plan_file import Declared, declared
from entity_tui.records.run_directory import FACTORS_FILE, TABLES_FILE, VERDICTS_FILE, RunDirectory
from entity_tui.records.schema import Row
from entity_tui.records.tables import Tables, tables

SENTENCES_FILE = "verdicts.txt"


@dataclass(frozen=True, slots=True)
class Reanalysis:
    """A run's rows, what its plan declared, what that says, and the files' names whose content changed."""

    rows: tuple[Row, ...]
    declared: Declared
    analysis: SessionAnalysis
    tables: Tables
    changed: tuple[str, ...] = ()


def read_analysis(run: RunDirectory) -> Reanalysis:
    """Analyse a run from its rows and plan without writing anything.

    Raises UsageError when the folder holds no rows, RecordError when a file cannot be read.
    """
    rows = run.rows()
    if not rows:
        raise UsageError(f"{run.path} holds no rows", fix="name the folder of a run: it has a rows.csv")
    plan = declared(run.plan_text())
    found = analyse(rows, plan.comparisons, plan.rules, plan.predicates)
    return Reanalysis(rows, plan, found, tables(rows, found))


def reanalyse(run: RunDirectory, *, write: bool = True) -> Reanalysis:
    """Rebuild tables.csv, verdicts.csv, factors.csv and verdicts.txt; `changed` names those that were different.

    With `write` false nothing is touched, so that the result says whether the stored tables are the rows' own.
    """
    found = read_analysis(run)
    changed = []
    for name, text in files_of(found.tables).items():
        if run.text(name) != text:
            changed.append(name)
            if write:
                run.write_file(name, text)
    return Reanalysis(found.rows, found.declared, found.analysis, found.tables, tuple(changed))


def files_of(found: Tables) -> dict[str, str]:
    """The rebuilt files by name."""
    return {
        TABLES_FILE: found.tables_csv,
        VERDICTS_FILE: found.verdicts_csv,
        FACTORS_FILE: found.factors_csv,
        SENTENCES_FILE: "".join(f"{line}\n" for line in found.sentences),
    }
