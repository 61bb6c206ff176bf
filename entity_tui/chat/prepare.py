"""Which engine, model, context and placement a chat gets on this device, and why: every choice with its rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

from entity_tui.applied import applied_placement
from entity_tui.device.facts import Facts
from entity_tui.engine.build import EngineBuild
from entity_tui.engine.select import choose_engine, choose_model
from entity_tui.engine.server_plan import ServerPlan
from entity_tui.errors import UsageError
from entity_tui.models.on_device import ModelFile
from entity_tui.silicon.context import adaptive_context
from entity_tui.silicon.widths import Widths, widths
from entity_tui.transport.base import Transport

PLACEMENTS = ("auto", "perf_cores", "scheduler", "little_only")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What the user chose; empty and 0 mean automatic."""

    engine: str = ""
    model: str = ""
    context_tokens: int = 0
    threads: int = 0
    placement: str = "auto"
    efficiency: bool = False
    load_mode: str = "auto"
    repack: bool = True
    cache_type: str = "f16"


@dataclass(frozen=True, slots=True)
class Choice:
    """One derived value with the rule that gave it and what went in."""

    name: str
    value: str
    rule: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A server plan and where each of its values comes from."""

    plan: ServerPlan
    engine: EngineBuild
    model: ModelFile
    placement: str
    """In words: `perf cores 4-7`, `scheduler`."""
    choices: tuple[Choice, ...]


async def prepare(transport: Transport, facts: Facts, settings: ChatSettings) -> Prepared:
    """Decide everything a server is started with. Raises UsageError where the device has no engine or model."""
    engine = await choose_engine(transport, settings.engine)
    executable = engine.program("llama-server")
    if executable is None:
        raise UsageError(
            f"{engine.label} in {engine.directory} has no llama-server",
            fix="entity-tui engine install ARCHIVE brings one that has",
        )
    model = await choose_model(transport, settings.model, folders=_local_models())
    found = widths(facts.topology)
    applied = applied_placement(transport.spec) if settings.placement == "auto" else ""
    mask, words, why = _placement(replace(settings, placement=applied or settings.placement), found)
    if applied:
        why = f"applied to this device: {why}"
    decode, prefill, thread_rule = _threads(settings, found)
    context, context_rule = _context(settings, facts, model)
    plan = ServerPlan(
        executable=executable,
        engine=engine.label,
        model_path=model.path,
        model_size_bytes=model.size_bytes,
        context_tokens=context,
        decode_threads=decode,
        prefill_threads=prefill,
        mask=mask,
        cache_type_k=settings.cache_type,
        cache_type_v=settings.cache_type,
        load_mode=settings.load_mode,
        repack=settings.repack,
    )
    choices = (
        Choice("engine", engine.label, f"found in {engine.directory}"),
        Choice("model", model.name, "named" if settings.model else "the smallest on the device"),
        Choice("context", str(context), context_rule),
        Choice("threads", f"{decode} decode, {prefill} prompt", thread_rule),
        Choice("placement", words, why),
    )
    return Prepared(plan, engine, model, words, choices)


def _local_models() -> tuple:  # type: ignore[type-arg]
    from entity_tui import config

    return (config.data_folder() / "models",)


def _threads(settings: ChatSettings, found: Widths) -> tuple[int, int, str]:
    if settings.efficiency:
        return min(2, found.decode), found.prefill, "efficiency mode: 2 decode threads, the prompt keeps its rule"
    if settings.threads:
        width = max(1, min(settings.threads, max(1, found.online)))
        return width, width, "chosen by hand"
    return found.decode, found.prefill, f"{found.decode_source}; {found.prefill_source}"


def _placement(settings: ChatSettings, found: Widths) -> tuple[str, str, str]:
    """(hex mask or empty, words, rule)."""
    from entity_tui.device.cpu_lists import format_cpu_list

    if settings.placement == "scheduler":
        return found.all_mask, "scheduler", "mask reset to every CPU"
    if settings.placement == "little_only":
        if not found.little_cpus:
            raise UsageError("this device has no slower cores", fix="choose another placement")
        return found.efficiency_mask, f"little cores {format_cpu_list(found.little_cpus)}", "the slowest cores"
    cpus = found.pin_cpus
    if settings.threads > len(cpus):
        from entity_tui.device.cpu_lists import format_mask

        cpus = found.all_cpus
        return format_mask(cpus), "scheduler", "more threads than fast cores"
    return found.pin_mask, f"perf cores {format_cpu_list(cpus)}", f"fastest cores by {found.signal}"


def _context(settings: ChatSettings, facts: Facts, model: ModelFile) -> tuple[int, str]:
    if settings.context_tokens:
        return settings.context_tokens, "chosen by hand"
    available = facts.memory.available_bytes or 0
    tokens = adaptive_context(model.size_bytes, available)
    free = f"{available / 2**30:.1f} GiB free" if available else "free memory unknown"
    return tokens, f"ENTITY's rule: {model.size_bytes / 1e9:.2f} GB file, {free}"
