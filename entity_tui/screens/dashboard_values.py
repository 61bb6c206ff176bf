"""Variants, temperatures and power as the Dashboard's widgets show them."""

from __future__ import annotations

import math

import numpy as np

from entity_tui.engine.build import EngineBuild
from entity_tui.engine.build import VariantList as Shipped
from entity_tui.screens.device_values import charge_words, newest, session_thermal_status, thermal_word
from entity_tui.session import DeviceView, Session
from entity_tui.silicon.skainet import judge_features
from entity_tui.silicon.variants import LISTS, VariantList, VariantVerdict, judge
from entity_tui.telemetry import Telemetry
from entity_tui.widgets.graph import Track
from entity_tui.widgets.ink import Ink, Line, Span, line
from entity_tui.widgets.numbers import fixed, watts
from entity_tui.widgets.text import plain
from entity_tui.widgets.time_series import GraphValue
from entity_tui.widgets.variant_table import VariantLine, VariantStanding, evidence_line

SPANS_S = (10.0, 30.0, 60.0, 300.0, 600.0, 1_800.0, 3_600.0)
TEMPERATURES = "temp_c."
FIRST_SHOWN = ("cpu", "skin", "battery", "gpu", "npu", "board", "other")
SHOWN_AT_ONCE = 2


def temperature_names(telemetry: Telemetry) -> tuple[str, ...]:
    """Temperature series that ever had a value, the interesting ones first."""
    names = [name.removeprefix(TEMPERATURES) for name in telemetry.names() if name.startswith(TEMPERATURES)]
    rank = {name: place for place, name in enumerate(FIRST_SHOWN)}
    return tuple(sorted(names, key=lambda name: (rank.get(name, 99), name)))


def track(telemetry: Telemetry, series: str, name: str, span_s: float, period_s: float, end_s: float) -> Track:
    """One series for a graph: the ticks of the last `span_s` seconds before `end_s`, on the device's clock."""
    ring = telemetry.series(series)
    # A few ticks more than the span, for the value that is held at its left edge.
    count = int((telemetry_end(telemetry) - end_s + span_s) / max(period_s, 0.01)) + 16
    times = telemetry.time_s.window(count)
    if ring is None:
        return Track(plain(name), times, np.full(len(times), math.nan))
    values = ring.window(count)
    if len(values) < len(times):
        times = times[-len(values) :]
    return Track(plain(name), times, values)


def telemetry_end(telemetry: Telemetry) -> float:
    """The device's clock at the newest tick, 0 before the first."""
    value = telemetry.time_s.newest
    return value if math.isfinite(value) else 0.0


def graph(
    session: Session,
    series: tuple[tuple[str, str], ...],
    span_s: float,
    back_s: float,
    *,
    digits: int,
    least: float,
    floor: float | None,
    legend: Line,
) -> GraphValue:
    """A graph of telemetry; `back_s` is how far its right edge lies in the past."""
    view = session.view
    period_s = 1.0 / view.hz if view.hz else 0.2
    period_s *= view.clock_factor
    end_s = telemetry_end(session.telemetry) - back_s
    tracks = tuple(track(session.telemetry, key, name, span_s, period_s, end_s) for key, name in series)
    right = "now" if not back_s else f"-{fixed(back_s, 0)} s"
    return GraphValue(tracks, span_s, end_s, period_s, digits, least, floor, legend, right_label=right)


def thermal_graph(session: Session, chosen: tuple[str, ...], span_s: float, back_s: float) -> GraphValue:
    """Temperatures over time; the legend ends with Android's word for throttling."""
    names = chosen or temperature_names(session.telemetry)[:SHOWN_AT_ONCE]
    status = session_thermal_status(session)
    words: list[str | Span] = []
    if status is not None:
        ink = Ink.TEXT if status == 0 else Ink.WARN if status < 3 else Ink.BAD
        words = [("throttle status ", Ink.MUTED), (thermal_word(status), ink)]
    live = session.view.live
    if live is not None and live.throttle is not None and live.throttle.short:
        words += [("  ▲ clock ", Ink.WARN), (live.throttle.short, Ink.WARN)]
    return graph(
        session,
        tuple((TEMPERATURES + name, name) for name in names),
        span_s,
        back_s,
        digits=0,
        least=8.0,
        floor=None,
        legend=line(*words),
    )


def power_graph(session: Session, span_s: float, back_s: float) -> GraphValue:
    """Battery power over time, its gauge's rate and the age of its value named."""
    legend = power_words(session)
    return graph(
        session, (("power_w", "device"),), span_s, back_s, digits=1, least=2.0, floor=0.0, legend=line(*legend)
    )


def power_words(session: Session) -> list[str | Span]:
    """`W   gauge 1.0 s, value 0.4 s old   discharging`, or why there is no power."""
    view = session.view
    arrow, note = charge_words(view)
    if note == "chg":
        return [("chg", Ink.WARN), ("  the battery is charging, so its power is not the phone's", Ink.MUTED)]
    words: list[str | Span] = []
    gauge = gauge_words(session)
    if gauge:
        words.append((f"{gauge}   ", Ink.MUTED))
    if newest(session.telemetry, "power_w") is None:
        words.append((f"no power: {note or 'no plausible reading'}", Ink.MUTED))
    elif arrow == "▼":
        words.append(("discharging", Ink.MUTED))
    return words


def gauge_words(session: Session) -> str:
    """How often the fuel gauge moves and how old its value is, from the samples themselves; empty when unknown."""
    refresh, age = newest(session.telemetry, "gauge_refresh_s"), newest(session.telemetry, "gauge_age_s")
    if refresh is not None and age is not None:
        return f"gauge {fixed(refresh, 1)} s, value {fixed(age, 1)} s old"
    ring = session.telemetry.series("power_w")
    if ring is None:
        return ""
    values, times = ring.window(600), session.telemetry.time_s.window(600)
    times = times[-len(values) :]
    known = np.isfinite(values)
    moved = np.flatnonzero(known[1:] & (values[1:] != values[:-1])) + 1
    if len(moved) < 4:
        return ""
    period = float(np.median(np.diff(times[moved])))
    return f"gauge {fixed(period, 1)} s, value {fixed(float(times[-1] - times[moved[-1]]), 1)} s old"


def power_summary(session: Session, span_s: float) -> str:
    """`avg 2.91  max 4.05` over the span shown; empty without power."""
    ring = session.telemetry.series("power_w")
    if ring is None:
        return ""
    period_s = (1.0 / session.view.hz if session.view.hz else 0.2) * session.view.clock_factor
    values = ring.window(int(span_s / period_s))
    values = values[np.isfinite(values)]
    if len(values) == 0 or charge_words(session.view)[1]:
        return ""
    return f"avg {watts(float(values.mean()))}  max {watts(float(values.max()))}"


def chosen_engine(view: DeviceView) -> EngineBuild | None:
    """The engine that would run: the newest that ships a choice of variants, else the first."""
    for engine in view.engines:
        if len(engine.variants) > 1:
            return engine
    return view.engines[0] if view.engines else None


def shipped_list(view: DeviceView) -> tuple[VariantList, str]:
    """Upstream's list that fits the engine, or the device when there is no engine; and where it comes from."""
    engine = chosen_engine(view)
    if engine is not None and engine.variant_list in (Shipped.ANDROID, Shipped.LINUX):
        return LISTS[engine.variant_list.value], f"{plain(engine.name)} {plain(engine.build)}"
    system = view.facts.identity.system if view.facts else ""
    key = "android" if system in ("android", "termux", "") else "linux"
    return LISTS[key], "no engine on the device: upstream's list"


def standing(verdict: VariantVerdict, loaded: str) -> VariantStanding:
    """What one variant is on this device."""
    if loaded and same_variant(verdict.name, loaded):
        return VariantStanding.LOADED
    if verdict.eligible is None:
        return VariantStanding.UNKNOWN
    return VariantStanding.ELIGIBLE if verdict.eligible else VariantStanding.IMPOSSIBLE


def same_variant(name: str, tag: str) -> bool:
    """True for the variant of a loader's tag, with or without `android_` and the library's own words."""
    return name.split("armv")[-1] == tag.split("armv")[-1]


def variant_lines(session: Session) -> tuple[VariantLine, ...]:
    """The variants in shipped order with what this CPU makes of each; empty for CPUs the lists are not about."""
    view = session.view
    if view.facts is None or view.facts.isa.architecture not in ("arm64", "arm32", ""):
        return ()
    variants, _ = shipped_list(view)
    verdicts, predicted = judge(view.facts.isa, variants)
    loaded = plain(view.loaded_variant or "")
    return tuple(
        VariantLine(
            plain(verdict.name).removeprefix("android_"),
            plain(verdict.name.split("armv")[-1]),
            verdict.needs,
            standing(verdict, loaded),
            verdict.missing or verdict.unknown,
            predicted=verdict.name == predicted,
            predicted_name=plain(predicted or "").removeprefix("android_"),
            score=verdict.score,
        )
        for verdict in verdicts
    )


def variant_evidence(session: Session, variants: tuple[VariantLine, ...], width: int) -> tuple[Line, ...]:
    """KleidiAI, where the knowledge of the loaded variant comes from, and what `enter` explains."""
    view = session.view
    _, origin = shipped_list(view)
    if width < 50:
        return (line(("KleidiAI  ", Ink.MUTED), *kleidiai_words(view)),)
    rows = [evidence_line("KleidiAI", *kleidiai_words(view))]
    if (tier := skainet_words(view)) and len(variants) <= ROOM_FOR_TIER:
        rows.append(evidence_line("SKaiNET", *tier))
    if view.loaded_variant:
        rows.append(evidence_line("evidence", f"loader log line, {view.loaded_at}"))
    else:
        rows.append(evidence_line("evidence", ("~ predicted", Ink.PREDICTED), f", {origin}"))
    rows.append(evidence_line("why", "enter explains the score of each row"))
    return tuple(rows)


ROOM_FOR_TIER = 7
"""Variants beside which the panel has a row for the second runtime."""


def skainet_words(view: DeviceView) -> tuple[Span, ...]:
    """The second runtime's tier on this phone; nothing where it does not run or features are unread."""
    if view.facts is None or view.facts.identity.system not in ("android", "termux") or not view.facts.isa.names:
        return ()
    tier = judge_features(view.facts.isa)
    mark: Span = ("▲", Ink.WARN) if tier.unsafe else ("●", Ink.GOOD)
    return (mark, (f" {tier.tier} tier", Ink.TEXT))


def kleidiai_words(view: DeviceView) -> tuple[Span, ...]:
    """Whether KleidiAI's kernels ran: only a server's own log can say so, no file name does."""
    if chosen_engine(view) is None:
        return (("—", Ink.MUTED), (" no engine yet", Ink.MUTED))
    if view.kleidiai_ran is None:
        return (("—", Ink.MUTED), (" a chat's log will tell", Ink.MUTED))
    return (("●", Ink.GOOD), (" ran", Ink.TEXT)) if view.kleidiai_ran else (("○", Ink.TEXT), (" did not run", Ink.TEXT))
