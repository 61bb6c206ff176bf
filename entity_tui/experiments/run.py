"""Runs a plan on a device and follows it to its end: the one path of the key, the command and the tests."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

from entity_tui import __version__
from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.redaction import redact
from entity_tui.device.snapshot import Snapshot, dumps
from entity_tui.errors import UsageError
from entity_tui.experiments import follow as loop
from entity_tui.experiments.adopt import leave_plan
from entity_tui.experiments.context import clock_factor, device_id_hash
from entity_tui.experiments.flatplan import RunnerPlan
from entity_tui.experiments.flatplan_reader import parse_plan
from entity_tui.experiments.following import Following, OnView, RunResult
from entity_tui.experiments.live import RunView
from entity_tui.experiments.plan import Plan, canonical
from entity_tui.experiments.plan_json import read_plan
from entity_tui.experiments.preflight import Preflight, preflight, refuse
from entity_tui.experiments.rebuild import stored_snapshot
from entity_tui.experiments.render import runner_plan
from entity_tui.experiments.resume import remaining
from entity_tui.experiments.server_bench import INSTRUMENT
from entity_tui.experiments.server_drive import leave_key
from entity_tui.records.journal_events import Event, EventKind
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.store import RunStore
from entity_tui.transport.base import Transport

PREFLIGHT_FILE = "preflight.json"


def new_session_id() -> str:
    """Time in UTC and four random hex digits, sortable by name."""
    return f"{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def _silent(view: RunView) -> None:
    """Nobody watches."""


async def boot_wall_s(transport: Transport) -> float | None:
    """Host time at which the device's boot clock read 0, good to the link's delay; None where it has no such clock."""
    before = time.time()
    done = await transport.run(["cat", "/proc/uptime"], timeout_s=10.0)
    after = time.time()
    words = done.text.split()
    try:
        return (before + after) / 2 - float(words[0]) if done.ok and words else None
    except ValueError:
        return None


async def run_plan(
    transport: Transport,
    plan: Plan,
    *,
    snapshot: Snapshot,
    facts: Facts,
    store: RunStore,
    on_view: OnView = _silent,
    checked: Preflight | None = None,
    session_id: str = "",
    continues: str = "",
    repeats: str = "",
) -> RunResult:
    """Check, start and follow one session of a plan.

    Raises GateRefused or PreflightFailed before anything ran, RunnerBusy while another run is in flight, and the
    transport's stable errors. A lost link is waited for; everything else becomes states of cells.
    """
    found = checked or await preflight(transport, plan, snapshot, facts)
    refuse(found)
    identity = facts.identity
    info = RunInfo(
        session_id=session_id or new_session_id(),
        started_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        kind=plan.experiment if plan.experiment in ("placement", "compare") else "bench",
        experiment=plan.experiment,
        device_name=identity.name or transport.spec,
        device_id_hash=device_id_hash(snapshot, facts),
        os_build=identity.build_fingerprint or identity.kernel,
        transport=transport.kind,
        simulated=transport.simulated,
        clock_factor=clock_factor(snapshot),
        model_name=plan.model.name,
        model_quant=plan.model.quant,
        model_sha256=plan.model.sha256,
        engine=plan.engine.name,
        engine_build=plan.engine.build,
        continues=continues,
        repeats=repeats,
        extra={
            "boot_id": identity.boot_id,
            "host_version": __version__,
            "spec": transport.spec,
            "boot_wall_s": None if transport.simulated else await boot_wall_s(transport),
        },
    )
    run = store.create(info, plan=canonical(plan) + "\n", device=dumps(redact(snapshot)))
    run.write_file(PREFLIGHT_FILE, found.to_json())
    folder = loop.run_directory(transport, info.session_id)
    await _start(transport, plan, runner_plan(plan, snapshot, facts, session_id=info.session_id, folder=folder))
    await leave_plan(transport, info, plan, snapshot)
    return await Following(transport, plan, info, snapshot, facts, store, on_view).to_end()


async def _start(transport: Transport, plan: Plan, flat: RunnerPlan) -> None:
    """Start the runner, after what its launches need lies on the device."""
    if plan.instrument == INSTRUMENT:
        await leave_key(transport, flat.session_id)
    await loop.start(transport, flat)


async def collect(transport: Transport, store: RunStore, session_id: str, on_view: OnView = _silent) -> RunResult:
    """Attach to a run this computer knows, wherever it stands, and follow it to its end.

    Rows that are here already are not fetched again, and none is made twice. Raises UsageError for an unknown run.
    """
    run = store.find(session_id)
    info = run.info()
    plan = read_plan(run.plan_text())
    snapshot = stored_snapshot(run)
    return await Following(transport, plan, info, snapshot, read_facts(snapshot), store, on_view).to_end()


async def resume(transport: Transport, store: RunStore, session_id: str, on_view: OnView = _silent) -> RunResult:
    """Go on with a run whose runner is gone: finished cells stay, the open block is run again as a fresh one.

    Raises UsageError when the device has restarted since (its clock and heat are another session's), RunnerBusy while
    another run is in flight.
    """
    from entity_tui.experiments.probe import probe

    run = store.find(session_id)
    info = run.info()
    plan = read_plan(run.plan_text())
    snapshot = stored_snapshot(run)
    now = read_facts(await probe(transport))
    before = str(info.extra.get("boot_id", ""))
    if before and now.identity.boot_id and before != now.identity.boot_id:
        raise UsageError(
            "The device restarted since this run began.",
            detail=f"boot {before} then, {now.identity.boot_id} now",
            fix="start the plan again: the new session is linked to this one",
        )
    events = await journal_events(transport, session_id)
    flat = parse_plan((await transport.read(f"{loop.run_directory(transport, session_id)}/plan.flat")).decode())
    left = remaining(flat, events, seed=plan.seed)
    if left is not None:
        await _start(transport, plan, left)
    runners = sum(1 for event in events if event.kind is EventKind.RUN_START) + (left is not None)
    return await Following(transport, plan, info, snapshot, read_facts(snapshot), store, on_view, runners).to_end()


async def journal_events(transport: Transport, session_id: str) -> tuple[Event, ...]:
    """Every event the device's journal of this run holds now."""
    from entity_tui.records.journal import parse_journal

    path = f"{loop.run_directory(transport, session_id)}/journal"
    return parse_journal(await transport.read(path))
