"""A real llama.cpp inside a simulated phone: native where it is built for this computer, under qemu where it is not."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from pathlib import Path

from entity_tui.errors import UsageError
from entity_tui.sim.bench import VARIANT_NEEDS, loaded_variant
from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.silicon import SimSilicon

QEMU = "qemu-aarch64-static"
CROSS_ROOT = Path("/usr/aarch64-linux-gnu")
ARM64_MAGIC = (
    r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
)
ELF_X86_64, ELF_AARCH64 = 62, 183

_BASE = "fp asimd evtstrm aes pmull sha1 sha2 crc32"
_A76 = f"{_BASE} atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp"
_SVE2 = f"{_A76} sve sve2 i8mm svei8mm bf16 svebf16"
QEMU_FEATURES = {
    "cortex-a53": _BASE,
    "cortex-a57": _BASE,
    "cortex-a72": _BASE,
    "cortex-a76": _A76,
    "neoverse-n1": _A76,
    "a64fx": f"{_BASE} atomics fphp asimdhp cpuid asimdrdm fcma dcpop sve",
    "max": f"{_SVE2} sme",
    "max,sme=off": _SVE2,
    "max,sve=off": f"{_A76} i8mm bf16",
}
"""What /proc/cpuinfo says on each CPU model of qemu 7.2, as far as an engine's loader cares."""


class Architecture(StrEnum):
    """What an engine's programs are built for."""

    X86_64 = "x86_64"
    AARCH64 = "aarch64"


@dataclass(frozen=True, slots=True)
class RealEngine:
    """An unpacked engine: its folder here, and its architecture."""

    folder: Path
    architecture: Architecture


def with_cpu(image: PhoneImage, qemu_cpu: str) -> PhoneImage:
    """The phone with the features of a CPU model of qemu, so that what it says is what its engine meets.

    Raises UsageError for a model whose features are not known here.
    """
    if qemu_cpu not in QEMU_FEATURES:
        raise UsageError(f"no CPU model {qemu_cpu!r}", fix=f"one of {', '.join(QEMU_FEATURES)}")
    features = QEMU_FEATURES[qemu_cpu]
    lines = image.files["/proc/cpuinfo"].splitlines(keepends=True)
    text = "".join(f"Features\t: {features}\n" if line.startswith("Features") else line for line in lines)
    silicon: SimSilicon = replace(image.silicon, features=frozenset(features.split()))
    return replace(image, silicon=silicon, files={**image.files, "/proc/cpuinfo": text})


def cpu_model_for(image: PhoneImage) -> str:
    """The CPU model of qemu whose loader would take the same variant as this phone's."""
    tags = [tag for tag in VARIANT_NEEDS if tag.startswith("android")]
    wanted = loaded_variant(tags, image.silicon.features)
    for name, features in QEMU_FEATURES.items():
        if loaded_variant(tags, frozenset(features.split())) == wanted:
            return name
    return "cortex-a53"


def unpack(path: Path, into: Path) -> RealEngine:
    """Find the engine in a folder, or in an archive that is unpacked below `into`. Raises UsageError."""
    folder = path
    if path.is_file():
        folder = into / "engine"
        folder.mkdir(parents=True)
        try:
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    archive.extractall(folder)
            else:
                with tarfile.open(path) as archive:
                    archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise UsageError(f"{path} is not an archive of an engine", detail=str(error)) from error
    for program in sorted(folder.rglob("llama-*")):
        if program.is_file() and (machine := _machine(program)) is not None:
            return RealEngine(program.parent, machine)
    raise UsageError(
        f"no llama program for x86_64 or aarch64 in {path}", fix="name a llama.cpp release folder or archive"
    )


def _machine(program: Path) -> Architecture | None:
    with program.open("rb") as handle:
        head = handle.read(20)
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return None
    number = int.from_bytes(head[18:20], "little")
    return {ELF_X86_64: Architecture.X86_64, ELF_AARCH64: Architecture.AARCH64}.get(number)


def planted(engine: RealEngine, image: PhoneImage, target: str, seed: Path) -> list[tuple[str, str, int, int]]:
    """What goes into the phone: the programs as they are, or behind wrappers that print the phone's loader line."""
    files = [path for path in sorted(engine.folder.iterdir()) if path.is_file() and path.name != "LICENSE"]
    programs = [path for path in files if path.name.startswith("llama-")]
    if engine.architecture is Architecture.AARCH64:
        wrapper = str(_script("arm64-engine", seed, {}))
        rows = [(f"{target}/{path.name}", str(path.resolve()), 0, 0o755) for path in files if path not in programs]
        rows += [(f"{target}/.{path.name}.arm64", str(path.resolve()), 0, 0o755) for path in programs]
    else:
        tags = [tag for tag in VARIANT_NEEDS if tag.startswith("android")]
        variant = loaded_variant(tags, image.silicon.features) or tags[0]
        wrapper = str(_script("real-engine", seed, {"@VARIANT@": variant}))
        rows = [(f"{target}/.real/{path.name}", str(path.resolve()), 0, 0o755) for path in files]
    return [*rows, *((f"{target}/{path.name}", wrapper, 0, 0o755) for path in programs)]


def _script(name: str, folder: Path, values: Mapping[str, str]) -> Path:
    """A script of this package with its blanks filled in."""
    text = (resources.files("entity_tui.sim") / "bin" / name).read_text("utf-8")
    for blank, value in values.items():
        text = text.replace(blank, value)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def lend_qemu(root: Path, cpu: str) -> tuple[list[tuple[str, str]], str]:
    """Put qemu into a phone: what to bind, and the line that says which files it runs; both empty without qemu."""
    program = shutil.which(QEMU)
    if program is None or not CROSS_ROOT.is_dir():
        return [], ""
    place = root / "system/qemu"
    (place / "root").mkdir(parents=True)
    shutil.copy(program, place / "qemu")
    _script("qemu-arm64", root / "system/bin", {"@QEMU_CPU@": cpu})
    return [(str(CROSS_ROOT), str(place / "root"))], f":entity:M::{ARM64_MAGIC}:/system/bin/qemu-arm64:"
