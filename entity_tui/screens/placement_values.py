"""Placements of this device, their results, spread and verdict, as the Placement widgets show them."""

from __future__ import annotations

from collections.abc import Sequence

from entity_tui.device.cpu_lists import parse_cpu_list
from entity_tui.device.topology import Topology
from entity_tui.experiments.live import ArmRow, PairRow, RunView
from entity_tui.screens.run_values import mask_words, two
from entity_tui.silicon.widths import Widths, widths
from entity_tui.widgets.ink import BLANK, Ink, Line, line
from entity_tui.widgets.mask_editor import CoreGroup, MaskValue, PlacementRow
from entity_tui.widgets.paired_table import PairValue
from entity_tui.widgets.spread import SpreadRow
from entity_tui.widgets.text import fold, plain


def core_groups(topology: Topology) -> tuple[CoreGroup, ...]:
    """Columns of the mask editor, fastest cluster first."""
    return tuple(CoreGroup(plain(c.label), plain(c.name or "?"), c.cpus) for c in topology.clusters)


def planned_rows(topology: Topology) -> tuple[PlacementRow, ...]:
    """The shipped placements of this device, by the one width rule, before anything ran."""
    wide: Widths = widths(topology)
    fastest = topology.clusters[0].cpus if topology.clusters else ()
    rows = [
        PlacementRow("auto", "auto", frozenset(wide.decode_cpus), True, str(wide.decode)),
        PlacementRow("perf_cores", "perf cores", frozenset(fastest), True, str(len(fastest))),
        PlacementRow("scheduler", "scheduler", frozenset(wide.all_cpus), False, str(wide.decode)),
    ]
    if wide.little_cpus and len(topology.clusters) > 1:
        rows.append(
            PlacementRow("little_only", "little only", frozenset(wide.little_cpus), True, str(wide.efficiency or ""))
        )
    return tuple(rows)


def cpus_of(words: str, every: frozenset[int]) -> frozenset[int]:
    """The CPUs of a mask as a run's table writes it: `all`, a list such as `4-7` or `4,7`, or `-` for none set."""
    if words in ("all", "-"):
        return every
    return frozenset(parse_cpu_list(words) or ())


def measured_row(arm: ArmRow, pairs: Sequence[PairRow], every: frozenset[int]) -> PlacementRow:
    """A placement as the run has it, with what the kernel said of it."""
    pair = next((each for each in pairs if each.arm == arm.arm), None)
    cpus = cpus_of(arm.decode_mask, every)
    return PlacementRow(
        plain(arm.arm),
        plain(arm.label or arm.arm),
        cpus,
        cpus != every,
        two(str(arm.decode_threads or "—"), str(arm.prefill_threads or "—")),
        mask_words(pair.mask_readback) if pair and pair.mask_readback else "",
        pair.mask_ok if pair else None,
    )


def mask_value(topology: Topology, run: RunView | None, own: Sequence[PlacementRow]) -> MaskValue:
    """The editor's rows: those of the run when it is about placement, else the shipped ones; then the reader's own."""
    groups = core_groups(topology)
    if run is not None and run.pairs and run.arms:
        every = frozenset(topology.usable)
        rows = tuple(measured_row(arm, run.pairs, every) for arm in run.arms)
    else:
        rows = planned_rows(topology)
    return MaskValue(groups, (*rows, *own))


def pair_value(pair: PairRow) -> PairValue:
    """One arm of the paired results."""
    return PairValue(
        plain(pair.arm),
        plain(pair.arm).replace("_", " "),
        pair.pairs,
        pair.median_tok_s,
        pair.q1_tok_s,
        pair.q3_tok_s,
        pair.change,
        pair.change_low,
        pair.change_high,
        pair.prompt_tok_s,
        pair.tok_per_w,
        pair.moves_per_s,
        "" if pair.arm == pair.baseline else plain(pair.verdict),
        baseline=pair.arm == pair.baseline,
    )


def spread_rows(run: RunView) -> tuple[SpreadRow, ...]:
    """Quartiles of every arm that has some; the range comes from the single values when they are known."""
    values = {arm.arm: arm.decode_values for arm in run.arms}
    rows: list[SpreadRow] = []
    for pair in run.pairs:
        if pair.median_tok_s is None or pair.q1_tok_s is None or pair.q3_tok_s is None:
            continue
        single = values.get(pair.arm) or (pair.q1_tok_s, pair.q3_tok_s)
        name = plain(pair.arm).replace("_", " ")
        rows.append(SpreadRow(name, min(single), pair.q1_tok_s, pair.median_tok_s, pair.q3_tok_s, max(single)))
    return tuple(rows)


def verdict_rows(run: RunView, width: int) -> tuple[Line, ...]:
    """The verdict's sentences, the first one bold, then what to know about it."""
    rows: list[Line] = []
    for number, text in enumerate(run.verdicts):
        ink = Ink.STRONG if number == 0 else Ink.TEXT
        rows += [line((piece, ink)) for piece in fold(plain(text), width)]
    if run.diagnostics:
        rows.append(BLANK)
    rows += [line((piece, Ink.MUTED)) for text in run.diagnostics for piece in fold(plain(text), width)]
    return tuple(rows)
