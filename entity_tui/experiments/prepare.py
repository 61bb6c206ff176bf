"""From a connected device to everything a plan needs: its facts, an engine, a model whose checksum is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.select import choose_engine, choose_model
from entity_tui.experiments.build import Setting, engine_ref
from entity_tui.experiments.plan import ModelRef
from entity_tui.experiments.probe import probe
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.base import Transport

_SHA256 = re.compile(r"^\\?([0-9a-f]{64})\b")
_QUANT = re.compile(r"(?:^|[-_.])(I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4)(?=[-_.]|$)", re.IGNORECASE)
_GPU = re.compile(r"^libggml-(?:vulkan|opencl|cuda|hip|metal|sycl|hexagon|musa|cann|webgpu)\b")
HASH_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Ready:
    """A device with its snapshot, the engine and the model, ready to be planned for."""

    snapshot: Snapshot
    facts: Facts
    engine: EngineBuild
    setting: Setting


def quant_of(name: str) -> str:
    """The quantisation a file name carries, such as `Q4_0`; empty without one. It is a label, never a census."""
    found = _QUANT.findall(name.removesuffix(".gguf"))
    return found[-1].upper() if found else ""


async def device_sha256(transport: Transport, path: str) -> str:
    """sha256 of a file, computed on the device; empty where it has no sha256sum."""
    done = await transport.run(["sha256sum", path], timeout_s=HASH_TIMEOUT_S)
    match = _SHA256.match(done.text.strip())
    return match[1] if done.ok and match else ""


async def model_ref(transport: Transport, file: ModelFile, sha256: str = "") -> ModelRef:
    """The model as a plan carries it; `sha256` is what it must be, where that is known from elsewhere."""
    known = sha256 or await device_sha256(transport, file.path)
    return ModelRef(file.path, file.name, file.size_bytes, known, quant_of(file.name))


def can_pin(snapshot: Snapshot, facts: Facts) -> bool:
    """True unless the system is known to have no way to pin (macOS) or the probe saw no taskset."""
    if facts.identity.system == "macos":
        return False
    listed = snapshot.command("command -v")
    return not listed.ok or "taskset" in listed.text


async def prepare(
    transport: Transport,
    *,
    engine: str = "",
    model: str = "",
    sha256: str = "",
    folders: Sequence[Path] = (),
    snapshot: Snapshot | None = None,
    engines: Sequence[str] = (),
    models: Sequence[str] = (),
) -> Ready:
    """Probe the device (or take a probe that was just made), choose engine and model, hash the model.

    `engines` and `models` are further ones that arms name.

    Raises UsageError when there is no engine or model, with what to do, and the transport's errors.
    """
    seen = snapshot or await probe(transport)
    facts = read_facts(seen)
    chosen = await choose_engine(transport, engine)
    file = await choose_model(transport, model, folders=folders)
    setting = Setting(
        facts,
        engine_ref(chosen),
        await model_ref(transport, file, sha256),
        can_pin(seen, facts),
        cpu_flags=("-dev", "none") if gpu_libraries(chosen) else (),
        engines={name: engine_ref(await choose_engine(transport, name)) for name in engines},
        models={
            name: await model_ref(transport, await choose_model(transport, name, folders=folders)) for name in models
        },
    )
    return Ready(seen, facts, chosen, setting)


def gpu_libraries(engine: EngineBuild) -> tuple[str, ...]:
    """The GPU and NPU backends among an engine's files; any of them takes work even with `-ngl 0`."""
    return tuple(name for name in engine.libraries if _GPU.match(name))
