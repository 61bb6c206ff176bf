"""The Dashboard of a terminal of 40 by 10: one text panel that still answers its question."""

from __future__ import annotations

from entity_tui.experiments.live import RunView
from entity_tui.logbook import Level
from entity_tui.screens.dashboard_values import gauge_words, variant_lines
from entity_tui.screens.device_values import charge_words, newest, skin_reading, topology_value
from entity_tui.session import Session
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, muted
from entity_tui.widgets.numbers import celsius, known, mhz, percent, tok_s, watts
from entity_tui.widgets.text import cut, left, plain, right
from entity_tui.widgets.variant_table import VariantStanding


def shown_rate(run: RunView | None) -> tuple[float | None, str]:
    """The one decode rate there is room for, and whose it is: the arm in flight, else the fastest; None before any."""
    measured = [arm for arm in run.arms if arm.decode_tok_s is not None] if run else []
    if run is None or not measured:
        return None, ""
    current = run.current.arm if run.current is not None and not run.finished else ""
    arm = next((each for each in measured if each.arm == current), None)
    arm = arm or max(measured, key=lambda each: each.decode_tok_s or 0.0)
    return arm.decode_tok_s, plain(arm.label or arm.arm)


def dashboard_tiny(session: Session, width: int, height: int) -> tuple[Line, ...]:
    """Clusters, rate, power, heat, variant, the last warning, and how to get the panels."""
    if session.view.facts is None:
        words = plain(session.view.words or "no phone selected")
        return (line(f" {words}"), BLANK, muted(" d chooses a device"))
    rows: list[Line] = []
    for cluster in topology_value(session).clusters[:3]:
        heat = f"{right(celsius(cluster.celsius), 6)} °C" if known(cluster.celsius) else ""
        busy = f"{right(percent(cluster.busy_pct), 4)} %" if known(cluster.busy_pct) else right("—", 6)
        name = cut(f"{len(cluster.cores)}×{cluster.short_name}", 7)
        rows.append(
            line(
                (f" {left(cluster.label, 7)}", Ink.STRONG),
                left(name, 7),
                busy,
                f"{right(mhz(cluster.khz), 6)} MHz",
                heat,
            )
        )
    rows.append(BLANK)
    rows += [_decode(session, width), _power(session), _heat(session)]
    variant = _variant(session)
    if variant:
        rows.append(variant)
    warning = next((each for each in reversed(tuple(session.log)) if each.level is not Level.INFO), None)
    foot: list[Line] = []
    if warning is not None:
        foot.append(line((" ▲ ", Ink.WARN), cut(f"{warning.clock} {plain(warning.text)}", width - 4)))
    foot.append(muted(" make the window 80x24 for panels"))
    rows = [row for row in rows if row or len(rows) + len(foot) <= height]
    space = max(0, height - len(foot))
    rows = [*rows[:space], *([BLANK] * max(0, space - len(rows)))]
    return (*rows, *foot)


def _decode(session: Session, width: int) -> Line:
    rate, label = shown_rate(session.run)
    if rate is None:
        return line((" decode ", Ink.MUTED), ("—", Ink.MUTED), ("  b measures it", Ink.MUTED))
    return line((" decode ", Ink.MUTED), f"{tok_s(rate)} tok/s  ", (cut(label, max(4, width - 24)), Ink.MUTED))


def _power(session: Session) -> Line:
    _, note = charge_words(session.view)
    power = newest(session.telemetry, "power_w")
    if note or power is None:
        return line((" power  ", Ink.MUTED), ("—", Ink.MUTED), (f" {note}", Ink.MUTED))
    return line((" power  ", Ink.MUTED), f"{watts(power)} W  ", (gauge_words(session).split(",")[0], Ink.MUTED))


def _heat(session: Session) -> Line:
    skin, name = skin_reading(session.telemetry)
    spans: list[Span] = [(f" {left(name, 7)}", Ink.MUTED)]
    spans.append((f"{celsius(skin)} °C" if known(skin) else "—", Ink.TEXT))
    return tuple(spans)


def _variant(session: Session) -> Line | None:
    for variant in variant_lines(session):
        if variant.standing is VariantStanding.LOADED:
            return line(f" {variant.short_name} ", ("●", Ink.GOOD), " LOADED")
    for variant in variant_lines(session):
        if variant.predicted:
            return line(f" {variant.short_name} ", ("~", Ink.PREDICTED), " predicted")
    return None
