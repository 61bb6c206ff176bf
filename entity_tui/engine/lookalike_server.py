"""A `llama-server` made of xllamacpp: upstream's real endpoints in this process, behind upstream's flags (a subset)."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from entity_tui.engine.lookalike import (
    Flag,
    FlagError,
    LoadSettings,
    apply_mask,
    package_version,
    parse_flags,
    parse_hex_mask,
    start_server,
    whole_number,
)

FLAGS: Mapping[str, Flag] = {
    **dict.fromkeys(("-m", "--model"), Flag("model")),
    "--host": Flag("host"),
    "--port": Flag("port"),
    "--api-key": Flag("api_key"),
    "--api-key-file": Flag("api_key_file"),
    **dict.fromkeys(("-c", "--ctx-size"), Flag("context")),
    **dict.fromkeys(("-np", "--parallel"), Flag("parallel")),
    **dict.fromkeys(("-b", "--batch-size"), Flag("batch")),
    **dict.fromkeys(("-ub", "--ubatch-size"), Flag("ubatch")),
    **dict.fromkeys(("-t", "--threads"), Flag("threads")),
    **dict.fromkeys(("-tb", "--threads-batch"), Flag("threads_batch")),
    **dict.fromkeys(("-C", "--cpu-mask"), Flag("cpu_mask")),
    **dict.fromkeys(("-Cb", "--cpu-mask-batch"), Flag("cpu_mask_batch")),
    **dict.fromkeys(("-ctk", "--cache-type-k"), Flag("type_k")),
    **dict.fromkeys(("-ctv", "--cache-type-v"), Flag("type_v")),
    **dict.fromkeys(("-fa", "--flash-attn"), Flag("flash_attention")),
    **dict.fromkeys(("-lm", "--load-mode"), Flag("load_mode")),
    **dict.fromkeys(("-ngl", "--n-gpu-layers"), Flag("gpu_layers")),
    **dict.fromkeys(("-dev", "--device"), Flag("device")),
    **dict.fromkeys(("-fit", "--fit"), Flag("fit")),
    **dict.fromkeys(("-lv", "--verbosity"), Flag("verbosity")),
    **dict.fromkeys(("-nr", "--no-repack"), Flag("repack", takes_value=False, constant="0")),
    **dict.fromkeys(("--no-ui", "--no-webui", "--slots", "--jinja", "--offline"), Flag("ignored", takes_value=False)),
    "--cache-ram": Flag("cache_ram"),
    "--cpu-strict": Flag("cpu_strict"),
    "--poll": Flag("poll"),
    "--metrics": Flag("metrics", takes_value=False),
    "--context-shift": Flag("shift", takes_value=False),
    "--slot-save-path": Flag("slot_directory"),
    "--version": Flag("version", takes_value=False),
}
DEFAULTS = {
    **{"model": "", "host": "127.0.0.1", "port": "8080", "api_key": "", "api_key_file": "", "context": "4096"},
    **{"parallel": "1", "batch": "2048", "ubatch": "512", "threads": "1", "threads_batch": "", "cpu_mask": "0x0"},
    **{"type_k": "f16", "type_v": "f16", "flash_attention": "auto", "load_mode": "auto", "verbosity": "3"},
    **{"repack": "1", "cache_ram": "0", "metrics": "0", "shift": "0", "slot_directory": "", "version": "0"},
}


def read_keys(values: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of --api-key and of the lines of --api-key-file, falling back on LLAMA_API_KEY."""
    keys = [key for key in values["api_key"].split(",") if key]
    if values["api_key_file"]:
        try:
            with open(values["api_key_file"], encoding="utf-8") as lines:
                keys += [line.strip() for line in lines if line.strip()]
        except OSError as error:
            raise FlagError(f'error while handling argument "--api-key-file": {error}') from None
    if not keys and os.environ.get("LLAMA_API_KEY"):
        keys = [os.environ["LLAMA_API_KEY"]]
    return tuple(keys)


def settings_of(values: Mapping[str, str]) -> LoadSettings:
    """The flags as settings. Raises FlagError for a number that is none or a folder that is not there."""
    slots = values["slot_directory"]
    if slots and not os.path.isdir(slots):
        raise FlagError(f'error while handling argument "--slot-save-path": not a directory: {slots}')
    threads = whole_number(values, "threads")
    return LoadSettings(
        model=values["model"],
        context_tokens=whole_number(values, "context"),
        threads=threads,
        threads_batch=whole_number(values, "threads_batch") if values["threads_batch"] else threads,
        batch=whole_number(values, "batch"),
        ubatch=whole_number(values, "ubatch"),
        type_k=values["type_k"],
        type_v=values["type_v"],
        flash_attention=values["flash_attention"],
        load_mode=values["load_mode"],
        repack=values["repack"] != "0",
        parallel=max(1, whole_number(values, "parallel")),
        cache_ram_mib=whole_number(values, "cache_ram"),
        host=values["host"],
        port=whole_number(values, "port"),
        api_keys=read_keys(values),
        slot_directory=slots if not slots or slots.endswith("/") else slots + "/",
        metrics=values["metrics"] == "1",
        verbosity=whole_number(values, "verbosity"),
        shift=values["shift"] == "1",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP; 0 after a signal, 1 with the reason on stderr."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        values = parse_flags(sys.argv[1:] if argv is None else argv, FLAGS, DEFAULTS)
        if values["version"] == "1":
            sys.stderr.write(f"version: xllamacpp {package_version()}\n")
            return 0
        if not values["model"]:
            raise FlagError("error: --model is required")
        settings = settings_of(values)
        apply_mask(parse_hex_mask(values["cpu_mask"]))
        sys.stderr.write(f"llama-server: engine xllamacpp {package_version()}, CPU variant unknown\n")
        server = start_server(settings)
    except FlagError as error:
        sys.stderr.write(error.title + "\n")
        return 1
    except Exception as error:  # the border of a program: the engine's own words, then upstream's exit status
        sys.stderr.write(f"llama_server: exiting due to model loading error: {error}\n")
        return 1
    sys.stderr.write(f"main: server is listening on {server.listening_address}\n")
    sys.stderr.flush()
    ended.wait()
    # The engine's threads may be generating; leaving at once is what upstream's server does within 60 ms.
    os._exit(0)
