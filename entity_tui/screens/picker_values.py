"""Rows, advice and preview of the picker."""

from __future__ import annotations

from datetime import UTC, datetime

from entity_tui.device.capabilities import Ability
from entity_tui.screens.device_values import STATE_MARKS, about_words, charge_words, skin_reading, state_words
from entity_tui.session import Session
from entity_tui.transport.base import DeviceState
from entity_tui.transport.discover import DeviceRow
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, width_of
from entity_tui.widgets.numbers import celsius, fixed, ghz, known, percent
from entity_tui.widgets.table import Column, TableRow
from entity_tui.widgets.text import cells, fold, plain

COLUMNS = (
    Column("name", "name", 18, flexible=True, least=13, gap=0),
    Column("via", "via", 13, gap=2),
    Column("address", "address", 26, flexible=True, least=12, drop=1),
    Column("state", "state", 18, gap=2),
    Column("seen", "last seen", 11, drop=2),
    Column("spec", "--device", 24, flexible=True, least=10, drop=3),
)

ADVICE: dict[DeviceState, tuple[str, ...]] = {
    DeviceState.READY: ("The phone is ready.", "enter connects. The first look only reads."),
    DeviceState.UNAUTHORIZED: (
        "The phone is asking for permission.",
        "1  Unlock the phone",
        "2  Tick «always allow from this computer», tap Allow",
        "3  It appears here by itself, no restart",
    ),
    DeviceState.AUTHORIZING: ("The phone and this computer are exchanging keys.", "Look at the phone's screen."),
    DeviceState.OFFLINE: (
        "The phone is known but does not answer.",
        "1  Wake it up; over Wi-Fi, bring it into the same network",
        "2  Unplug the cable and plug it in again",
    ),
    DeviceState.ABSENT: ("The phone is not there.", "Plug it in, or switch on wireless debugging."),
    DeviceState.CONNECTING: ("Connecting.", "This takes a few seconds; nothing needs to be pressed."),
    DeviceState.RECOVERY: ("The phone is in recovery mode.", "Restart it into the normal system."),
    DeviceState.SIDELOAD: ("The phone waits for an update package.", "Leave sideload mode and restart it."),
    DeviceState.NO_PERMISSION: (
        "This computer may not open the phone's USB port.",
        "1  Install your system's udev rules for Android (android-sdk-platform-tools-common)",
        "2  Unplug the cable and plug it in again",
    ),
    DeviceState.WRONG_KEY: (
        "The host key is not the one we remember.",
        "If the phone's sshd was installed anew, this is expected: compare the fingerprint, then accept the new one.",
    ),
    DeviceState.STALE: (
        "The phone answers late.",
        "A long cable, a busy phone or weak Wi-Fi; it may recover by itself.",
    ),
    DeviceState.LOST: ("The phone is lost.", "It comes back by itself when the link does; a run goes on on the phone."),
    DeviceState.REBOOTED: ("The phone restarted.", "A run that was open is continued as a new session."),
}


def seen_words(last_seen: str, state: DeviceState) -> str:
    """`now`, `2 h ago`, or a dash."""
    if state in (DeviceState.READY, DeviceState.UNAUTHORIZED):
        return "now"
    if not last_seen:
        return "—"
    try:
        then = datetime.fromisoformat(last_seen)
    except ValueError:
        return "—"
    if then.tzinfo is None:
        return "—"
    age_s = (datetime.now(UTC) - then).total_seconds()
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if age_s >= size:
            return f"{int(age_s // size)} {unit} ago"
    return "now"


def device_row(row: DeviceRow) -> TableRow:
    """One device of the list."""
    mark = STATE_MARKS[row.state]
    return TableRow(
        row.spec,
        (
            plain(row.name),
            plain(row.via),
            plain(row.address),
            line(mark, f" {state_words(row.state)}"),
            seen_words(row.last_seen, row.state),
            plain(row.spec),
        ),
    )


def advice_rows(row: DeviceRow, width: int) -> tuple[Line, ...]:
    """What to do about a device, for a panel of `width` cells."""
    name = plain(row.name)
    first, *rest = ADVICE[row.state]
    words = f"{name}: {first[0].lower()}{first[1:]}"
    if row.simulated:
        words, rest = f"{name}: a simulated phone, built in. It always works and needs nothing.", ["enter starts it."]
    rows = [line(piece) for piece in fold(words, width)]
    if rest:
        rows.append(BLANK)
    for step in rest:
        pieces = fold(step, max(10, width - 4))
        rows += [line(" " if i == 0 else "    ", piece) for i, piece in enumerate(pieces)]
    if row.fix and not row.simulated:
        rows += [line((piece, Ink.MUTED)) for piece in fold(plain(row.fix), width)]
    return tuple(rows)


def preview_rows(session: Session, width: int) -> tuple[Line, ...]:
    """What the probe found: chip, system, engine, abilities."""
    from entity_tui.screens.dashboard_values import chosen_engine, variant_lines

    view = session.view
    assert view.facts is not None
    facts = view.facts
    identity, memory = facts.identity, facts.memory
    clusters = " + ".join(
        f"{len(c.cpus)} × {plain(c.name or '?')} {ghz(c.max_freq_khz)}" for c in facts.topology.clusters
    )
    isa = " ".join(name for name, has in facts.isa.flags.items() if has)
    system = f"Android {plain(identity.android_release)}" if identity.android_release else plain(identity.system)
    ram = ""
    if memory.total_kb:
        ram = f"{fixed(memory.total_kb / 1_000_000, 1)} GB ({fixed((memory.available_kb or 0) / 1_000_000, 1)} free)"
    skin, skin_name = skin_reading(session.telemetry)
    arrow, _ = charge_words(view)
    level = facts.battery.level_pct
    charge = f"battery {percent(level)} % {'charging' if arrow == '▲' else 'discharging'}" if level is not None else ""
    heat = f"{skin_name} {celsius(skin)} °C" if known(skin) else ""
    engine = chosen_engine(view)
    variants = variant_lines(session)
    predicted = next((variant.name for variant in variants if variant.predicted), "—")
    models = f"models {len(view.models)}" if view.searched else "models not looked for yet"
    build = f"{plain(engine.name)}  ● {plain(engine.build)} in {plain(engine.directory)}" if engine else ""
    if width < 90:
        cores = " + ".join(
            f"{len(c.cpus)}×{plain(c.name or '?').removeprefix('Cortex-')}" for c in facts.topology.clusters
        )
        build = f"{plain(engine.name)} ● {plain(engine.build)}" if engine else "llama.cpp ○ none found yet"
        first = _flow(width, about_words(facts)[0], cores, isa)
        return (*first, *_flow(width, build, f"variants {len(variants)}", predicted, models), *_checks(session, width))
    kernel = f"kernel {plain(identity.kernel)}" if identity.kernel else ""
    found = build or "llama.cpp  ○ none found yet"
    rows = [
        *_flow(width, plain(identity.soc or identity.soc_code), clusters, f"isa {isa}" if isa else ""),
        *_flow(width, system, kernel, ram, charge, heat),
        *_flow(width, found, f"variants {len(variants)}", f"predicted {predicted}", models),
        BLANK,
        *_checks(session, width),
    ]
    return tuple(rows)


def _flow(width: int, *parts: str) -> list[Line]:
    """Parts three cells apart, as many to a row as fit whole."""
    rows: list[str] = []
    for part in filter(None, parts):
        if rows and cells(rows[-1]) + 3 + cells(part) <= width:
            rows[-1] += f"   {part}"
        else:
            rows.append(part)
    return [line(row) for row in rows]


def _checks(session: Session, width: int) -> list[Line]:
    """Every ability with its mark, as many to a row as fit."""
    view = session.view
    assert view.facts is not None
    rows: list[Line] = []
    current: list[Span] = [("checks     ", Ink.MUTED)]
    if view.link_ms is not None:
        current += [("● ", Ink.GOOD), (f"link {view.link_ms:.0f} ms   ", Ink.TEXT)]
    for item in view.facts.capabilities.items:
        mark: Span = ("●", Ink.GOOD) if item.ability is Ability.PRESENT else ("▲", Ink.WARN)
        words = f" {plain(item.title)}   "
        if width_of(tuple(current)) + len(words) + 1 > width:
            rows.append(tuple(current))
            current = [(" " * 11, Ink.TEXT)]
        current += [mark, (words, Ink.TEXT)]
    rows.append(tuple(current))
    return rows
