"""What both look-alike programs share: llama.cpp's way of writing flags, and a model loaded through xllamacpp."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entity_tui.errors import EntityError, Where


class FlagError(EntityError):
    """A flag the look-alike does not have, or a value it cannot read; the words are llama.cpp's own."""

    where = Where.WORKLOAD


@dataclass(frozen=True, slots=True)
class Flag:
    """One option: the name of its value, and whether it takes one from the command line."""

    name: str
    takes_value: bool = True
    constant: str = "1"
    """What a flag without a value stands for."""


def parse_flags(argv: Sequence[str], flags: Mapping[str, Flag], defaults: Mapping[str, str]) -> dict[str, str]:
    """Values by name, in llama.cpp's syntax (`-ngl 0`, `--progress`). Raises FlagError in its words."""
    values = dict(defaults)
    rest = iter(argv)
    for word in rest:
        flag = flags.get(word)
        if flag is None:
            raise FlagError(f"error: invalid parameter for argument: {word}")
        if not flag.takes_value:
            values[flag.name] = flag.constant
            continue
        value = next(rest, None)
        if value is None:
            raise FlagError(f"error: expected value for argument: {word}")
        values[flag.name] = value
    return values


def whole_number(values: Mapping[str, str], name: str) -> int:
    """The value of `name` as an integer. Raises FlagError."""
    try:
        return int(values[name])
    except ValueError:
        raise FlagError(f"error: invalid parameter for argument: {name} {values[name]!r}") from None


def number_list(values: Mapping[str, str], name: str) -> tuple[int, ...]:
    """`512,1024` as integers; an empty value is an empty tuple. Raises FlagError."""
    try:
        return tuple(int(part) for part in values[name].split(",") if part)
    except ValueError:
        raise FlagError(f"error: invalid parameter for argument: {name} {values[name]!r}") from None


def parse_hex_mask(text: str) -> frozenset[int]:
    """CPUs of a hex mask with or without 0x; 0 is the empty set, meaning "leave the mask alone"."""
    try:
        bits = int(text, 16)
    except ValueError:
        raise FlagError(f"failed to parse cpu-mask: {text}") from None
    if bits < 0 or bits.bit_length() > 512:
        raise FlagError(f"failed to parse cpu-mask: {text}")
    return frozenset(index for index in range(bits.bit_length()) if bits >> index & 1)


def apply_mask(cpus: frozenset[int]) -> None:
    """Pin this process before any thread of the engine exists. A mask that cannot be set is a warning, as upstream."""
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        sys.stderr.write(f"warn: failed to set affinity mask: {error.strerror} ({error.errno})\n")


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How a model is loaded; the names are those of llama.cpp's options."""

    model: str
    context_tokens: int
    threads: int
    threads_batch: int
    batch: int = 2048
    ubatch: int = 512
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attention: str = "auto"
    load_mode: str = "auto"
    repack: bool = True
    parallel: int = 1
    cache_ram_mib: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    api_keys: tuple[str, ...] = ()
    slot_directory: str = ""
    metrics: bool = False
    verbosity: int = 1
    shift: bool = False


def start_server(settings: LoadSettings) -> Any:
    """An xllamacpp server with the model loaded and its port open.

    Raises FlagError when a value has no meaning here, and whatever xllamacpp raises when the model cannot be loaded.
    """
    import xllamacpp  # the extra [local]; 100 MB that only these programs may load

    params = xllamacpp.CommonParams()
    params.model.path = settings.model
    params.n_ctx = settings.context_tokens
    params.n_batch, params.n_ubatch = settings.batch, min(settings.ubatch, settings.batch)
    params.n_parallel = settings.parallel
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads_batch
    params.cache_ram_mib = settings.cache_ram_mib
    params.hostnames, params.port = [settings.host], settings.port
    params.api_keys = list(settings.api_keys)
    params.slot_save_path = settings.slot_directory
    params.endpoint_metrics, params.endpoint_slots = settings.metrics, True
    params.ui, params.warmup, params.fit_params = False, False, False
    params.no_extra_bufts = not settings.repack
    params.ctx_shift = settings.shift
    params.verbosity = settings.verbosity
    try:
        params.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.type_k.upper()}")
        params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.type_v.upper()}")
        mode = settings.load_mode.upper().replace("+", "_")
        params.load_mode = getattr(xllamacpp.llama_load_mode, f"LLAMA_LOAD_MODE_{mode}")
        kinds = xllamacpp.llama_flash_attn_type
        params.flash_attn_type = {
            "auto": kinds.LLAMA_FLASH_ATTN_TYPE_AUTO,
            "on": kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED,
            "1": kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED,
            "off": kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED,
            "0": kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        }[settings.flash_attention]
    except (AttributeError, KeyError) as error:
        raise FlagError(f"error: invalid value: {error}") from None
    return xllamacpp.Server(params)


def package_version() -> str:
    """The installed version of xllamacpp, which is the build an engine made of it states."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("xllamacpp")
    except PackageNotFoundError:
        return "unknown"
