"""A run of another computer: its plan lies beside its journal on the device, so that any laptop can follow it."""

from __future__ import annotations

import json
from dataclasses import asdict

from entity_tui.device.snapshot import Snapshot, dumps
from entity_tui.device.snapshot_json import loads
from entity_tui.errors import UsageError
from entity_tui.experiments import follow as loop
from entity_tui.experiments.plan import Plan, canonical
from entity_tui.experiments.plan_json import read_plan
from entity_tui.records.run_directory import RunInfo
from entity_tui.records.store import RunStore
from entity_tui.transport.base import RemoteFileError, Transport

FILES = ("plan.json", "device.json", "info.json")
LIMIT_BYTES = 8 << 20
"""A file of a device is read up to here; ours are some hundred kilobytes at the most."""


async def leave_plan(transport: Transport, info: RunInfo, plan: Plan, snapshot: Snapshot) -> None:
    """Put plan, snapshot and head of a run beside its journal on the device."""
    folder = loop.run_directory(transport, info.session_id)
    for name, text in zip(
        FILES, (canonical(plan) + "\n", dumps(snapshot), json.dumps(asdict(info), ensure_ascii=False)), strict=True
    ):
        await loop.write_file(transport, f"{folder}/{name}", text.encode())


async def adopt(transport: Transport, store: RunStore, session_id: str) -> None:
    """Make a run on the device known to this computer; a known one stays as it is. UsageError when it cannot be."""
    if store.run(session_id).path.exists():
        return
    folder = loop.run_directory(transport, session_id)
    texts: list[str] = []
    for name in FILES:
        try:
            raw = await transport.read(f"{folder}/{name}", limit=LIMIT_BYTES)
        except RemoteFileError as error:
            raise UsageError(
                f"The run {session_id} left no {name} on the device.",
                detail="it was started by an older version, or by hand",
                fix="entity-tui run stop ends it; its raw journal can be pulled",
            ) from error
        texts.append(raw.decode("utf-8", "replace"))
    plan, snapshot, info = read_plan(texts[0]), loads(texts[1]), _head(texts[2])
    if info.session_id != session_id:
        raise UsageError(f"The head of the run {session_id} names another run.", detail=info.session_id[:80])
    store.create(info, plan=canonical(plan) + "\n", device=dumps(snapshot))


def _head(text: str) -> RunInfo:
    """A run's head from JSON; keys this version does not know are left out. UsageError for anything else."""
    try:
        values = json.loads(text)
        return RunInfo(**{key: values[key] for key in RunInfo.__dataclass_fields__ if key in values})
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError("The head of the run on the device cannot be read.", detail=str(error)) from error
