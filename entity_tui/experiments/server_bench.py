"""The server instrument: the same arms measured on a llama-server, the way a chat meets them; what it asks and reads.

The runner on the device starts, watches and ends the server as it does any workload. This computer only asks it
(`server_drive`), so a run with this instrument does not survive the cable: a cell nobody asks ends as `timeout`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from entity_tui.engine.server_plan import BATCH
from entity_tui.errors import UsageError
from entity_tui.experiments.plan import SERVER, Plan
from entity_tui.experiments.readings import Measure
from entity_tui.records.schema import Metric, Phase, Role

INSTRUMENT = SERVER
ANSWER = "answer"
"""Ending of the file that holds what the server answered, beside the launch's own output."""
RUN_FOLDER = "{run}"
"""Stands for the run's folder in a server's command line until the plan is written for the device."""
WARMUP_PROMPT, WARMUP_GENERATE = 64, 16
SPARE_TOKENS = 64
FIRST = 1
"""The first generated token comes out of the prompt's last batch: the server's clock runs for the ones after it."""
EXPERIMENTS = frozenset({"ablation", "placement", "compare", "sweep"})
ENDED_BY_US = 143
"""Exit code of a server that SIGTERM ended before its own handler was in place."""

NOTE = (
    f"measured on llama-server and asked from this computer: prompts in batches of {BATCH} as the chat sends them, "
    "decode behind its prompt, and no cell survives a lost link"
)


def refuse_server(experiment: str, server: str, *, counters: bool, energy: bool) -> None:
    """Raise UsageError where a plan cannot be measured on a server."""
    if experiment not in EXPERIMENTS:
        raise UsageError(
            f"{experiment} cannot be measured on a server",
            fix=f"--instrument server serves {', '.join(sorted(EXPERIMENTS))}",
        )
    if not server:
        raise UsageError("this engine has no llama-server", fix="use a whole release of llama.cpp")
    if counters:
        raise UsageError("--counters counts a program from start to end", fix="leave out --instrument server")
    if energy:
        raise UsageError("a server also stands idle, so it has no energy", fix="leave out --instrument server")


def asked_tokens(plan: Plan, phase: str, role: str) -> tuple[int, int]:
    """(prompt tokens, generated tokens) of the request of one launch. Decode stands behind `plan.n_depth` tokens."""
    prompt, generate = (plan.n_prompt, 0) if phase == Phase.PREFILL else (plan.n_depth, plan.n_gen)
    if role == Role.WARMUP:
        return min(prompt, WARMUP_PROMPT), min(generate, WARMUP_GENERATE)
    return prompt, generate


def read_answer(plan: Plan, phase: str, role: str, data: bytes) -> Measure | tuple[str, str]:
    """The number in what the server answered, or (state, reason). Tokens over milliseconds of the phase, as counted
    by the server; a count that is not what was asked for is no measurement."""
    item = _object(data)
    if item is None:
        return "output_malformed", "nobody asked the server, or its answer was lost"
    if "error" in item:
        return "workload_error", f"the server refused the request: {str(item['error'])[:300]}"
    timings = item.get("timings")
    timings = timings if isinstance(timings, Mapping) else {}
    prompt, generate = asked_tokens(plan, phase, role)
    read, made = timings.get("prompt_n"), timings.get("predicted_n")
    if (read, made) != (prompt, generate + FIRST):
        words = f"the server read {read} tokens and made {made}, asked for {prompt} and {generate + FIRST}"
        return "config_mismatch", words
    prefill = phase == Phase.PREFILL
    seconds = _seconds(timings.get("prompt_ms" if prefill else "predicted_ms"))
    if seconds is None:
        return "output_malformed", "the answer has no time for the phase"
    metric, tokens = (Metric.PROMPT_TOK_S, prompt) if prefill else (Metric.DECODE_TOK_S, generate)
    return Measure(str(metric), tokens / seconds, "tok/s", "higher", tokens, seconds)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        item = json.loads(data) if data else None
    except ValueError:
        return None
    return item if isinstance(item, dict) else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    return value / 1000
