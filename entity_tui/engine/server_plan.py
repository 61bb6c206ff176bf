"""What a llama-server on a phone is started with: phone-safe flags, and the fingerprint that lets it be used again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

BATCH = 64
"""Prompt batch: a prompt can be stopped, and reports progress, only at its borders."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One way to run llama-server. Two plans with one fingerprint are served by the same process.

    `mask` is a bare hexadecimal CPU mask for `taskset`, or empty for none. `context_tokens` 0 takes the model's own.
    """

    executable: str
    engine: str
    """Name and build, such as `llama.cpp b11434`."""
    model_path: str
    model_size_bytes: int
    context_tokens: int
    decode_threads: int
    prefill_threads: int
    mask: str = ""
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    load_mode: str = "auto"
    repack: bool = True
    cpu_only: bool = True
    extra: tuple[str, ...] = ()
    """Further flags, as the user wrote them."""

    @property
    def directory(self) -> str:
        """The engine's folder, which is where it finds its CPU variants."""
        return self.executable.rpartition("/")[0] or "/"

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits over everything above."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def cache_fingerprint(self) -> str:
        """Over what a saved KV state depends on: model, build, cache types. Context and threads may differ."""
        parts = (self.engine, self.model_path, str(self.model_size_bytes), self.cache_type_k, self.cache_type_v)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def server_argv(plan: ServerPlan, *, folder: str, port: int = 0) -> list[str]:
    """The command line, `taskset` first. `folder` holds `key` and `slots/`; port 0 lets the server pick a free one.

    One slot, a small batch, no prompt cache in RAM (its default is 8 GiB), loopback only, a key from a file (a key on
    the command line shows in `ps`), no web page, and the log level at which the loader names its CPU variant.
    """
    argv = ["env", "GGML_NO_BACKTRACE=1"]
    if plan.mask:
        argv += ["taskset", plan.mask]
    argv += [plan.executable, "-m", plan.model_path]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--api-key-file", f"{folder}/key"]
    argv += ["-c", str(plan.context_tokens), "-np", "1", "-b", str(BATCH), "-ub", str(BATCH), "--cache-ram", "0"]
    argv += ["-fit", "off", "-t", str(plan.decode_threads), "-tb", str(plan.prefill_threads)]
    argv += ["--no-ui", "--metrics", "--slot-save-path", f"{folder}/slots/", "-lv", "4"]
    if plan.cpu_only:
        argv += ["-dev", "none"]
    if plan.load_mode != "auto":
        argv += ["-lm", plan.load_mode]
    if not plan.repack:
        argv += ["--no-repack"]
    if plan.cache_type_k != "f16":
        argv += ["-ctk", plan.cache_type_k]
    if plan.cache_type_v != "f16":
        argv += ["-ctv", plan.cache_type_v]
    return argv + list(plan.extra)
