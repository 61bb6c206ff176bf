"""Tidy rows as a pandas table, for views over many runs. pandas is loaded when such a table is made, not before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import COLUMNS, KINDS, Row

if TYPE_CHECKING:
    import pandas as pd

DTYPES = {"str": "string", "int": "Int64", "float": "Float64", "bool": "boolean"}
"""Types that keep missing apart from 0 and from the empty text."""


def rows_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """One line a row, the columns of the tidy CSV, and `counts`: whether the value takes part in medians."""
    import pandas as pd

    found = list(rows)
    lines = [(*(getattr(row, name) for name in COLUMNS), contributes(row)) for row in found]
    frame = pd.DataFrame(lines, columns=[*COLUMNS, "counts"], dtype=object)
    return frame.astype({**{name: DTYPES[kind] for name, kind in KINDS.items()}, "counts": "boolean"})


def medians_by_arm(rows: Sequence[Row], metric: str) -> pd.DataFrame:
    """One line a session, one column an arm, the median of the metric's counting values; missing where there is none.

    Sessions are never pooled, so lines of different sessions are values beside each other and no comparison.
    """
    frame = rows_frame(rows)
    used = frame[(frame["metric"] == metric) & frame["counts"]]
    table = used.pivot_table(index="session_id", columns="arm", values="value", aggfunc="median", sort=False)
    order = list(dict.fromkeys(str(arm) for arm in used["arm"]))
    return table.reindex(columns=order)


def table_lines(rows: Sequence[Row], metric: str) -> list[dict[str, str]]:
    """`medians_by_arm` as text, four significant digits, for a terminal or a CSV."""
    import pandas as pd

    table = medians_by_arm(rows, metric)
    lines = []
    for session_id, values in table.iterrows():
        cells = {str(arm): "" if pd.isna(value) else f"{float(value):.4g}" for arm, value in values.items()}
        lines.append({"session_id": str(session_id), **cells})
    return lines
