"""A quick look at a device's speed, to decide how long a plan has to be; never a result."""

from __future__ import annotations

from entity_tui.engine.bench_output import OK, parse_bench
from entity_tui.engine.command_lines import bench_argv, engine_env, launched
from entity_tui.errors import EntityError, Where
from entity_tui.experiments.build import Setting
from entity_tui.silicon.masks import format_mask
from entity_tui.silicon.widths import widths
from entity_tui.transport.base import Transport

TOKENS = 16
TIMEOUT_S = 180.0


class NoSpeed(EntityError):
    """The engine gave no speed in a few tokens, so nothing longer is started; its words are in `detail`."""

    where = Where.WORKLOAD


async def decode_rate(transport: Transport, setting: Setting) -> float:
    """Decode speed of a few tokens in the automatic configuration, tok/s. Raises NoSpeed and the transport's errors."""
    found = widths(setting.facts.topology)
    argv = bench_argv(
        setting.engine.bench,
        setting.model.path,
        n_prompt=0,
        n_gen=TOKENS,
        threads=found.decode,
        flags=setting.cpu_flags,
    )
    mask = format_mask(found.decode_cpus) if setting.can_pin and found.decode_cpus else ""
    done = await transport.run(launched(argv, engine_env(setting.engine.directory), mask), timeout_s=TIMEOUT_S)
    output = parse_bench(done.text)
    rate = output.results[0].rate_tok_s if output.state == OK else None
    if rate is None:
        raise NoSpeed("the engine gave no speed", detail=done.error_text.strip()[-300:] or output.detail)
    return rate
