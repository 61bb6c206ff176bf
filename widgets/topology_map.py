"""Every core of the device, fastest cluster first: load, clock, temperature and the model's threads on it."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.widgets.bars import bar, meter
from entity_tui.widgets.ink import Ink, Line, Span, line, muted
from entity_tui.widgets.numbers import celsius, ghz, known, mhz, percent
from entity_tui.widgets.panel import LIVE, Condition, Panel, Sheet
from entity_tui.widgets.text import cut, left, right

FULL_FROM = 54
"""Cells from which a core has room for every column."""


@dataclass(frozen=True, slots=True)
class CoreValue:
    """One core now. Missing readings are None; `online` False keeps the row and says `off`."""

    cpu: int
    busy_pct: float | None = None
    khz: int | None = None
    max_khz: int | None = None
    celsius: float | None = None
    running: str = ""
    """The model's thread on this core, as the kernel says: `llama  t1`."""
    online: bool | None = True


@dataclass(frozen=True, slots=True)
class ClusterValue:
    """Cores of one kind. `name` is the core's full name, `short_name` the same for narrow panels."""

    label: str
    name: str
    short_name: str
    max_khz: int | None
    capacity: int | None
    policy: int | None
    cores: tuple[CoreValue, ...]

    @property
    def busy_pct(self) -> float | None:
        """Mean load of the cores that have one."""
        return mean(core.busy_pct for core in self.cores)

    @property
    def celsius(self) -> float | None:
        """The hottest of the cores that have a temperature."""
        values = [core.celsius for core in self.cores if core.celsius is not None]
        return max(values) if values else None

    @property
    def khz(self) -> float | None:
        """Mean clock of the cores that have one."""
        return mean(core.khz for core in self.cores)


def mean(values: object) -> float | None:
    """The mean of the numbers in an iterable that may hold None; None when there is none."""
    numbers = [float(v) for v in values if v is not None]  # type: ignore[attr-defined]
    return sum(numbers) / len(numbers) if numbers else None


@dataclass(frozen=True, slots=True)
class TopologyValue:
    """All clusters, fastest first, and what the instruction set has and lacks."""

    clusters: tuple[ClusterValue, ...] = ()
    isa: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    shape: str = ""
    """`big.LITTLE 4+4`."""
    notes: tuple[str, ...] = ()


def _clock_share(core: CoreValue) -> float | None:
    return core.khz / core.max_khz if core.khz is not None and core.max_khz else None


def full_core(core: CoreValue) -> Line:
    """A core in the wide form."""
    if core.online is False:
        return line(f"  {core.cpu:<4}", ("off", Ink.MUTED))
    busy = core.busy_pct
    spans: list[Span] = [(f"  {core.cpu:<4}", Ink.TEXT)]
    spans += bar(None if busy is None else busy / 100, 12)
    spans.append((right(f"{percent(busy)}%" if known(busy) else "—", 5), Ink.TEXT))
    spans.append((right(mhz(core.khz), 8) + " ", Ink.TEXT))
    spans += meter(_clock_share(core), 8)
    spans.append((right(celsius(core.celsius) if known(core.celsius) else "", 7), Ink.TEXT))
    if core.running:
        spans += [("  ◆ ", Ink.ACCENT), (core.running, Ink.TEXT)]
    return tuple(spans)


def compact_core(core: CoreValue) -> Line:
    """A core in the narrow form."""
    if core.online is False:
        return line(f" {core.cpu:<2}", ("off", Ink.MUTED))
    busy = core.busy_pct
    spans: list[Span] = [(f" {core.cpu:<2}", Ink.TEXT)]
    spans += bar(None if busy is None else busy / 100, 10)
    spans.append((right(f"{percent(busy)}%" if known(busy) else "—", 4), Ink.TEXT))
    spans.append((right(mhz(core.khz), 7), Ink.TEXT))
    if core.running:
        spans += [("   ◆ ", Ink.ACCENT), (core.running.split()[-1], Ink.TEXT)]
    return tuple(spans)


def full_heading(cluster: ClusterValue, label_cells: int) -> Line:
    """`PERF    4 × Cortex-A78   2.50 GHz   cap 1024   policy4`."""
    parts = [f"{len(cluster.cores)} × {left(cut(cluster.name, 16), 10)}", right(ghz(cluster.max_khz), 8)]
    if cluster.capacity is not None:
        parts.append(f"cap {cluster.capacity:>4}")
    if cluster.policy is not None:
        parts.append(f"policy{cluster.policy}")
    return line((left(cluster.label, label_cells), Ink.STRONG), "   ".join(parts))


def compact_heading(cluster: ClusterValue, label_cells: int, width: int) -> Line:
    """`PERF   4×A78 2.50 GHz   97%  58.4°C`."""
    busy = cluster.busy_pct
    words = f"{len(cluster.cores)}×{cut(cluster.short_name, 8)} {ghz(cluster.max_khz)}"
    heat = f"  {celsius(cluster.celsius)}°C" if known(cluster.celsius) else ""
    load = right(f"{percent(busy)}%" if known(busy) else "—", 6)
    if label_cells + len(words) + len(load) + len(heat) > width:
        heat = ""
    return line((left(cluster.label, label_cells), Ink.STRONG), words, load, heat)


def isa_line(value: TopologyValue) -> Line:
    """`isa dotprod fp16 │ no i8mm sve │ big.LITTLE 4+4`."""
    spans: list[Span] = [("isa ", Ink.MUTED), (" ".join(value.isa) or "none of ours", Ink.TEXT)]
    if value.lacks:
        spans += [(" │ no ", Ink.MUTED), (" ".join(value.lacks), Ink.MUTED)]
    if value.shape:
        spans += [(" │ ", Ink.MUTED), (value.shape, Ink.TEXT)]
    return tuple(spans)


class TopologyMap(Panel):
    """The core table. Cores are rows that never move; only the digits that changed are painted."""

    def __init__(self, title: str = "Topology", *, id: str | None = None) -> None:
        super().__init__(title, id=id)
        self.value = TopologyValue()

    def show(self, value: TopologyValue, condition: Condition = LIVE, *, hint: str = "", subtitle: str = "") -> None:
        """Show the cores as they are now."""
        self.value = value
        self.set_condition(condition, hint=hint, subtitle=subtitle)

    def sheet(self, width: int, height: int) -> Sheet:
        """Header, one heading per cluster with its cores, the instruction set at the foot."""
        value = self.value
        full = width >= FULL_FROM
        label_cells = max([7, *(len(cluster.label) + 1 for cluster in value.clusters)])
        rows: list[Line] = []
        cores = sum(len(cluster.cores) for cluster in value.clusters)
        for place, cluster in enumerate(value.clusters):
            heading = full_heading(cluster, label_cells) if full else compact_heading(cluster, label_cells, width)
            rows.append(heading)
            draw = full_core if full else compact_core
            last = place == len(value.clusters) - 1
            if full and cores > 8 and last and len(value.clusters) > 1:
                rows += _two_per_row(cluster.cores, width)
            else:
                rows += [draw(core) for core in cluster.cores]
        running = any(core.running for cluster in value.clusters for core in cluster.cores)
        title = "cpu   load                 MHz of max        °C" + ("  running" if running else "")
        head = (muted(title),) if full else ()
        foot: tuple[Line, ...] = ()
        if len(head) + len(rows) < height:
            foot = (isa_line(value),)
        return Sheet(tuple(rows), head, foot)


def _two_per_row(cores: tuple[CoreValue, ...], width: int) -> list[Line]:
    rows: list[Line] = []
    for index in range(0, len(cores), 2):
        pair = [compact_core(core) for core in cores[index : index + 2]]
        spans: list[Span] = []
        for place, core_line in enumerate(pair):
            used = sum(len(text) for text, _ in core_line)
            spans += [*core_line, (" " * max(0, width // 2 - used) if place == 0 else "", Ink.TEXT)]
        rows.append(line(*spans))
    return rows
