"""What llama-server says while it starts, told from its log: the variant, the port, sizes, or why it failed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from entity_tui.engine.log_lines import parse_log

_LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d{1,5})\b")
_KV = re.compile(r"(?:KV|kv).*?size =\s+([\d.]+) MiB")
_SLOT = re.compile(r"n_ctx_slot = (\d{1,12})\b")
_PREFIX = re.compile(r"^\d+\.\d\d\.\d{3}\.\d{3} ([IWED]) ?")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a server did not come up, in a user's words. `state` is a word of the states table."""

    state: str
    title: str
    fix: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class StartLog:
    """What the log says so far. A missing value was not said yet."""

    variant: str | None = None
    port: int | None = None
    context_tokens: int | None = None
    buffers_mib: tuple[tuple[str, float], ...] = ()
    """Weight buffers by name: `CPU_Mapped` is the file, `CPU_REPACK` and `CPU_KLEIDIAI` are copies in memory."""
    kv_mib: float | None = None
    kleidiai: bool = False
    step: str = "starting"
    """What it is doing, for the line a user watches."""


STEPS = (
    ("listening on", "ready"),
    ("warming up", "warming up"),
    ("load_tensors:", "loading weights"),
    ("llama_model_loader:", "reading the header"),
    ("loading model", "opening the model"),
    ("load_backend:", "choosing the CPU variant"),
)

FAILURES: tuple[tuple[str, str, str, str], ...] = (
    # pattern, state, what happened, what to do
    (
        r"couldn't bind HTTP server socket",
        "workload_error",
        "The port is taken on the device.",
        "Let the server pick one (leave --port out), or name another.",
    ),
    (
        r"unknown model architecture",
        "model_load_failed",
        "This build of llama.cpp does not know the model's architecture.",
        "Install a newer build: entity-tui engine install ARCHIVE.",
    ),
    (
        r"invalid magic characters|invalid GGUF type|extremely large, is there a mismatch",
        "model_load_failed",
        "The file is not a sound GGUF file.",
        "entity-tui models inspect FILE says where it breaks; push a good copy.",
    ),
    (
        r"only supports up to version",
        "model_load_failed",
        "The file's GGUF version is newer than this build reads.",
        "Install a newer build of llama.cpp.",
    ),
    (
        r"is not within the file bounds|failed to read (?:header|key-value|magic)|data is not within",
        "model_load_failed",
        "The model file is cut short.",
        "Push it again: entity-tui models push FILE (it resumes and checks the sha256).",
    ),
    (
        r"failed to open GGUF file",
        "model_load_failed",
        "The model file cannot be opened.",
        "entity-tui models list shows the files that are there and may be read.",
    ),
    (
        r"insufficient memory|unable to allocate|Cannot allocate memory|failed to allocate buffer",
        "killed_oom",
        "There is not enough memory for the weights and the context.",
        "Choose a smaller context (-c), a smaller model, or close apps on the phone.",
    ),
    (
        r"error while loading shared libraries|CANNOT LINK EXECUTABLE|cannot locate symbol",
        "library_missing",
        "A library of the engine is missing on the device; the CPU is not the problem.",
        "Install the whole folder again: entity-tui engine install ARCHIVE.",
    ),
    (
        r"no backends are loaded",
        "library_missing",
        "The engine's folder holds no CPU backend that runs here.",
        "entity-tui engine check says which variants are there and what each needs.",
    ),
    (
        r"quantized V cache requires flash_attn",
        "workload_error",
        "A quantised V cache needs flash attention.",
        "Add -fa on, or keep -ctv f16.",
    ),
    (
        r"invalid argument: (\S+)|error while handling argument",
        "workload_error",
        "This build does not take one of the flags.",
        "entity-tui engine check shows the build; remove the flag or install a current build.",
    ),
)


def read_start_log(text: str) -> StartLog:
    """The start-up facts in a log so far, whatever else is in it."""
    engine = parse_log(text)
    port = _LISTENING.search(text)
    slot = _SLOT.search(text)
    kv = None
    for line in text.splitlines():
        if "kv_cache" in line and (match := _KV.search(line)):
            kv = float(match[1])
    step = next((words for pattern, words in STEPS if pattern in text), "starting")
    return StartLog(
        variant=engine.variant or None,
        port=int(port[1]) if port else None,
        context_tokens=int(slot[1]) if slot else None,
        buffers_mib=tuple(engine.buffers_mib.items()),
        kv_mib=kv,
        kleidiai=bool(engine.kleidiai.ran),
        step=step,
    )


def explain_failure(text: str, exit_code: int | None) -> Failure:
    """Why the server ended, from its log and exit code. The last matching line is quoted as evidence.

    With `--fit` the same error stands twice in a log; the last one counts.
    """
    lines = [_PREFIX.sub("", line) for line in text.splitlines() if line.strip()]
    for pattern, state, title, fix in FAILURES:
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return Failure(state, title, fix, found[-1].strip()[:300])
    last = lines[-1].strip()[:300] if lines else ""
    if exit_code == 132:
        title = "The engine uses an instruction this CPU lacks."
        return Failure("crashed_sigill", title, "Install the archive with all CPU variants.", last)
    if exit_code == 139:
        return Failure("crashed_segv", "The engine crashed.", "Try another build, and report it upstream.", last)
    if exit_code in (137, None) and not last.startswith(("E ", "error")):
        title = "The server was killed without a word, as the system does when memory runs out."
        return Failure("killed_oom", title, "Choose a smaller context or model, or close apps on the phone.", last)
    return Failure("workload_error", "The server ended by itself.", "Its log says more: entity-tui serve --log.", last)
