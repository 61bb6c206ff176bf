"""From a connected device to everything a plan needs: its facts, an engine, a model whose checksum is known."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.select import choose_engine, choose_model
from entity_tui.experiments.build import Setting, engine_ref
from entity_tui.experiments.context import device_id_hash
from entity_tui.experiments.plan import ModelRef
from entity_tui.experiments.probe import probe
from entity_tui.models.on_device import ModelFile
from entity_tui.records.files import write_whole
from entity_tui.transport.base import Transport
from entity_tui.transport.transfer import device_sha256

_QUANT = re.compile(r"(?:^|[-_.])(I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4)(?=[-_.]|$)", re.IGNORECASE)
_GPU = re.compile(r"^libggml-(?:vulkan|opencl|cuda|hip|metal|sycl|hexagon|musa|cann|webgpu)\b")


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


class KnownHashes:
    """Checksums computed on devices before, by device, path, size and time stamp: a large file is hashed once.

    `path` is a JSON file of this computer; None remembers nothing. A damaged file is an empty one.
    """

    def __init__(self, path: Path | None, device: str) -> None:
        self._path = path
        self._device = device

    def _read(self) -> dict[str, str]:
        if self._path is None or not self._path.is_file():
            return {}
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _key(self, file: ModelFile) -> str:
        return f"{self._device} {file.size_bytes} {file.mtime_s} {file.path}"

    def get(self, file: ModelFile) -> str:
        """The checksum of exactly this file, empty when it was never computed or the file has no time stamp."""
        return str(self._read().get(self._key(file), "")) if file.mtime_s else ""

    def put(self, file: ModelFile, sha256: str) -> None:
        """Remember a checksum. RecordError when the disk refuses."""
        if self._path is None or not sha256 or not file.mtime_s:
            return
        write_whole(self._path, json.dumps({**self._read(), self._key(file): sha256}, indent=0, sort_keys=True))


async def model_ref(transport: Transport, file: ModelFile, known: KnownHashes, sha256: str = "") -> ModelRef:
    """The model as a plan carries it; `sha256` is what it must be, where that is known from elsewhere."""
    found = sha256 or known.get(file)
    if not found:
        found = await device_sha256(transport, file.path)
        known.put(file, found)
    return ModelRef(file.path, file.name, file.size_bytes, found, quant_of(file.name), declared=bool(sha256))


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
    hashes: Path | None = None,
) -> Ready:
    """Probe the device (or take a probe that was just made), choose engine and model, hash the model.

    `engines` and `models` are further ones that arms name; `hashes` is where checksums are remembered.

    Raises UsageError when there is no engine or model, with what to do, and the transport's errors.
    """
    seen = snapshot or await probe(transport)
    facts = read_facts(seen)
    chosen = await choose_engine(transport, engine)
    file = await choose_model(transport, model, folders=folders)
    known = KnownHashes(hashes, device_id_hash(seen, facts))
    setting = Setting(
        facts,
        engine_ref(chosen),
        await model_ref(transport, file, known, sha256),
        can_pin(seen, facts),
        cpu_flags=("-dev", "none") if gpu_libraries(chosen) else (),
        engines={name: engine_ref(await choose_engine(transport, name)) for name in engines},
        models={
            name: await model_ref(transport, await choose_model(transport, name, folders=folders), known)
            for name in models
        },
    )
    return Ready(seen, facts, chosen, setting)


def gpu_libraries(engine: EngineBuild) -> tuple[str, ...]:
    """The GPU and NPU backends among an engine's files; any of them takes work even with `-ngl 0`."""
    return tuple(name for name in engine.libraries if _GPU.match(name))
