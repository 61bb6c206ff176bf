"""The pictures of a report: every cell and its heat in order, every comparison with its interval on a log axis.

matplotlib is imported here and nowhere else, inside the functions, so that nothing but a report pays for it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entity_tui.analysis.sentences import metric_words
from entity_tui.analysis.usable import contributes
from entity_tui.analysis.verdict import Judgement, Verdict
from entity_tui.errors import UsageError
from entity_tui.records.reanalysis import Reanalysis
from entity_tui.records.schema import Metric, Role, Row

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Okabe and Ito's palette, told apart by most kinds of colour vision."""

TICKS = (
    (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.25),
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 2.0),
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
"""Ratios to mark, for narrow, usual and wide axes."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture in both forms, with the caption that says how to read it."""

    name: str
    caption: str
    svg: str
    png: bytes


def pictures(found: Reanalysis) -> tuple[Picture, ...]:
    """The pictures that a run's rows allow. UsageError when matplotlib is not installed."""
    drawn = [
        _cells(found.rows, Metric.DECODE_TOK_S),
        _cells(found.rows, Metric.PROMPT_TOK_S),
        _heat(found.rows),
        _comparisons(found.analysis.judgements),
        _factors(found),
    ]
    return tuple(picture for picture in drawn if picture is not None)


def _figure(height_inches: float) -> tuple[Any, Any]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError(
            "pictures need matplotlib", detail=str(error), fix="pip install 'entity-tui[report]', or use --no-pictures"
        ) from error
    mpl.use("Agg")
    # A fixed salt and no date: the same rows give the same bytes.
    mpl.rcParams["svg.hashsalt"] = "entity-tui"
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, height_inches), layout="constrained")
    return figure, figure.subplots()


def _picture(figure: Any, name: str, caption: str) -> Picture:
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=120, metadata={"Software": None})
    return Picture(name, caption, svg.getvalue(), png.getvalue())


def _cells(rows: Sequence[Row], metric: str) -> Picture | None:
    used = [row for row in rows if row.metric == metric and row.role not in (Role.WARMUP, Role.AGGREGATE) and row.value]
    if not used:
        return None
    used.sort(key=lambda row: (row.t_start_boot_s or 0.0, row.block or 0, row.position or 0))
    figure, axes = _figure(3.4)
    arms = list(dict.fromkeys(row.arm or "" for row in used))
    for number, arm in enumerate(arms):
        mine = [(place, row) for place, row in enumerate(used, start=1) if row.arm == arm]
        for filled in (True, False):
            points = [(place, row.value) for place, row in mine if (contributes(row)) is filled]
            if points:
                axes.scatter(
                    [place for place, _ in points],
                    [value for _, value in points],
                    marker=MARKERS[number % len(MARKERS)],
                    facecolors=COLOURS[number % len(COLOURS)] if filled else "none",
                    edgecolors=COLOURS[number % len(COLOURS)],
                    label=arm if filled else None,
                )
    axes.set_xlabel("cell, in order of execution")
    axes.set_ylabel(f"{metric_words(metric)} tok/s")
    axes.set_ylim(0, 1.1 * max(row.value or 0.0 for row in used))
    axes.legend(fontsize="small", ncols=3)
    axes.grid(alpha=0.3)
    caption = f"Every cell's {metric_words(metric)} rate in the order in which it ran; hollow marks are not counted."
    return _picture(figure, f"{metric}_cells", caption)


def _heat(rows: Sequence[Row]) -> Picture | None:
    cells: dict[tuple[object, ...], Row] = {}
    for row in rows:
        if row.temp_start_c is not None and row.role not in (Role.WARMUP, Role.AGGREGATE):
            cells.setdefault((row.block, row.position, row.attempt), row)
    used = sorted(cells.values(), key=lambda row: (row.t_start_boot_s or 0.0, row.block or 0, row.position or 0))
    if len(used) < 2:
        return None
    figure, axes = _figure(2.6)
    places = range(1, len(used) + 1)
    axes.plot(places, [row.temp_start_c for row in used], "o-", color=COLOURS[0], label="at the start of the cell")
    highest = [(place, row.temp_max_c) for place, row in zip(places, used, strict=True) if row.temp_max_c is not None]
    if highest:
        axes.plot([place for place, _ in highest], [t for _, t in highest], "^--", color=COLOURS[1], label="highest")
    axes.set_xlabel("cell, in order of execution")
    axes.set_ylabel("°C")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    source = next((row.temp_source for row in used if row.temp_source), "")
    return _picture(figure, "heat", f"Temperature of every cell{f' ({source})' if source else ''}.")


def _comparisons(judgements: Sequence[Judgement]) -> Picture | None:
    lines = [
        (f"{item.comparison.name}\n{metric_words(item.comparison.metric)}: {item.verdict.value}", item)
        for item in judgements
        if item.estimate is not None and item.verdict is not Verdict.VOID
    ]
    if not lines:
        return None
    figure, axes = _figure(1.2 + 0.6 * len(lines))
    bars = [
        (label, item.estimate.ratio, item.estimate.low, item.estimate.high) for label, item in lines if item.estimate
    ]
    _bars(axes, bars)
    return _picture(
        figure,
        "comparisons",
        "Declared comparisons: paired ratio with its exact interval on a log axis; 1 is no change.",
    )


def _factors(found: Reanalysis) -> Picture | None:
    steps = [step for step in (*found.analysis.factors.steps, found.analysis.factors.total) if step is not None]
    bars = [
        (f"{step.label}\n{step.comparison.name}", step.estimate.ratio, step.estimate.low, step.estimate.high)
        for step in steps
        if step.estimate is not None
    ]
    if len(bars) < 2:
        return None
    figure, axes = _figure(1.2 + 0.6 * len(bars))
    _bars(axes, bars)
    return _picture(figure, "factors", "Factors on a log axis, so that the steps add up to the total.")


def _bars(axes: Any, bars: Sequence[tuple[str, float, float | None, float | None]]) -> None:
    for place, (_, ratio, low, high) in enumerate(bars):
        colour = COLOURS[place % len(COLOURS)]
        axes.barh(place, math.log(ratio), color=colour, alpha=0.35, height=0.5)
        if low is not None and high is not None:
            left, right = math.log(ratio) - math.log(low), math.log(high) - math.log(ratio)
            error = [[left], [right]]
            axes.errorbar(math.log(ratio), place, xerr=error, color=colour, capsize=4, marker="o")
    axes.axvline(0.0, color="black", linewidth=1)
    axes.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize="small")
    axes.invert_yaxis()
    ends = [end for _, ratio, low, high in bars for end in (ratio, low, high) if end]
    reach = max(max(abs(math.log(end)) for end in ends), math.log(1.05)) * 1.15
    axes.set_xlim(-reach, reach)
    wanted = TICKS[0] if reach < math.log(1.26) else TICKS[1] if reach < math.log(2.2) else TICKS[2]
    shown = [tick for tick in wanted if abs(math.log(tick)) <= reach]
    axes.set_xticks([math.log(tick) for tick in shown], [f"×{tick:g}" for tick in shown])
    axes.grid(axis="x", alpha=0.3)
