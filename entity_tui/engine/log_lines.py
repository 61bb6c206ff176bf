"""What an engine says of itself on its standard error: the variant it loaded, what KleidiAI did, why it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_LOADED = re.compile(r"load_backend: loaded (?P<kind>[A-Za-z0-9_]+) backend from (?P<path>\S+)")
_VARIANT = re.compile(r"libggml-cpu-(?P<tag>[A-Za-z0-9_.]+)\.so$")
_SYSTEM = re.compile(r"system_info:.*")
_SEGMENT = re.compile(r"^\s*(?:[A-Z]+ : )?(?P<name>[A-Z0-9_]+) = (?P<value>\d{1,9})\s*$")
_BUFFER = re.compile(r"(?P<name>CPU[A-Za-z_]*|[A-Za-z]+\d*) model buffer size = +(?P<mib>\d{1,12}(?:\.\d{1,9})?) MiB")
_KLEIDIAI_PRIMARY = re.compile(r"kleidiai: primary (?P<kind>\w+) kernel feature (?P<feature>\w+)")
_KLEIDIAI_MISS = re.compile(r"no kernel for tensor type (?P<kind>\w+)")
_KLEIDIAI_NONE = re.compile(r"no compatible (?P<kind>\w+) kernels found")

LOADER_WORDS = (
    "CANNOT LINK EXECUTABLE",
    "error while loading shared libraries",
    "cannot locate symbol",
    "Library not loaded",
)
"""What the loaders of bionic, glibc and macOS say when a library is missing: never a statement about the CPU."""

_STDERR_STATES: tuple[tuple[str, str], ...] = (
    *((words, "library_missing") for words in LOADER_WORDS),
    ("No space left on device", "storage_full"),
    ("failed to load model", "model_load_failed"),
    ("unable to load model", "model_load_failed"),
    ("error loading model", "model_load_failed"),
    ("failed to open GGUF", "model_load_failed"),
)
"""Words on the standard error of a failed launch, the most telling first, and the state they mean."""


@dataclass(frozen=True, slots=True)
class KleidiAi:
    """KleidiAI's three separate answers. None means that the log does not say."""

    in_build: bool | None = None
    kernels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Feature its kernel uses by weight kind (`q4`, `q8`), such as `I8MM`; `NONE` where it found no kernel."""
    ran: bool | None = None
    """True when weights of this file went to its buffer."""
    missing_for: tuple[str, ...] = ()
    """Tensor types it said it has no kernel for."""


@dataclass(frozen=True, slots=True)
class EngineLog:
    """What one standard error tells. Empty text and empty mappings mean that it does not tell."""

    variant: str = ""
    """Tag of the CPU backend that was loaded, from the loader's own line (`android_armv8.2_2`)."""
    backends: tuple[str, ...] = ()
    """Kinds of backends that were loaded, such as CPU and RPC, in order."""
    features: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The variant's compiled features (`DOTPROD`: 1) from the system_info line."""
    buffers_mib: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Model buffer sizes by buffer name (`CPU_REPACK`), in MiB."""
    kleidiai: KleidiAi = field(default_factory=KleidiAi)
    warnings: tuple[str, ...] = ()


def parse_log(text: str) -> EngineLog:
    """Read a standard error of any llama.cpp program. Unknown lines are skipped; never raises.

    The first CPU backend counts: a second one (GGML_BACKEND_PATH) is registered and not used.
    """
    variant = path = ""
    kinds: list[str] = []
    buffers: dict[str, float] = {}
    warnings: list[str] = []
    features: dict[str, int] = {}
    for line in text.splitlines():
        loaded = _LOADED.search(line)
        if loaded:
            kinds.append(loaded["kind"])
            if loaded["kind"] == "CPU" and not path:
                path = loaded["path"]
                tag = _VARIANT.search(path)
                variant = tag["tag"] if tag else "single"
        elif system := _SYSTEM.search(line):
            features = _features(system[0])
        elif buffer := _BUFFER.search(line):
            buffers[buffer["name"]] = float(buffer["mib"])
        elif line.lstrip().lower().startswith(("warn:", "warning:")):
            warnings.append(line.strip())
    return EngineLog(
        variant=variant,
        backends=tuple(kinds),
        features=MappingProxyType(features),
        buffers_mib=MappingProxyType(buffers),
        kleidiai=_kleidiai(text, features, buffers),
        warnings=tuple(warnings),
    )


def _features(line: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for segment in line.split("|")[1:]:
        match = _SEGMENT.match(segment)
        if match:
            found[match["name"]] = int(match["value"])
    return found


def _kleidiai(text: str, features: Mapping[str, int], buffers: Mapping[str, float]) -> KleidiAi:
    kernels = {match["kind"]: match["feature"] for match in _KLEIDIAI_PRIMARY.finditer(text)}
    for match in _KLEIDIAI_NONE.finditer(text):
        kernels.setdefault(match["kind"], "NONE")
    spoke = "kleidiai:" in text or "CPU_KLEIDIAI" in buffers
    in_build: bool | None = True if spoke or features.get("KLEIDIAI") else None
    if in_build is None and features:
        in_build = False
    ran: bool | None = True if "CPU_KLEIDIAI" in buffers else None
    if ran is None and (in_build is False or (buffers and spoke)):
        ran = False
    missing = tuple(dict.fromkeys(match["kind"] for match in _KLEIDIAI_MISS.finditer(text)))
    return KleidiAi(in_build, MappingProxyType(kernels), ran, missing)


def stderr_states() -> tuple[tuple[str, str], ...]:
    """Words and states as the runner on the phone compares them, the most telling first."""
    return _STDERR_STATES


def classify(exit_code: int | None, stderr: str, exit_states: Mapping[int, str]) -> tuple[str, str]:
    """(state, detail) of a launch that has ended: `ok` for 0, else by its words, else by its exit status.

    A missing exit status is a failure, never a success. `detail` is the last line that says something.
    """
    if exit_code == 0:
        return "ok", ""
    last = last_words(stderr)
    if exit_code is None:
        return "workload_error", last or "no exit status"
    if exit_code < 0:
        exit_code = 128 - exit_code
    for words, state in _STDERR_STATES:
        if words in stderr:
            return state, next((line.strip() for line in stderr.splitlines() if words in line), last)
    return exit_states.get(exit_code, "workload_error"), last or f"exit status {exit_code}"


def last_words(stderr: str, limit: int = 300) -> str:
    """The last line of a standard error that is not empty, cut to `limit` characters."""
    for line in reversed(stderr.splitlines()):
        if line.strip():
            return line.strip()[:limit]
    return ""


def used_gpu(log: EngineLog) -> bool:
    """True when any backend but CPU, RPC and BLAS was loaded: then a CPU arm needs `-dev none` and its proof."""
    return any(kind not in ("CPU", "RPC", "BLAS") for kind in log.backends)
