"""ISA ladder: what is each CPU backend variant worth? Every shipped one alone in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from entity_tui.device.facts import Facts
from entity_tui.errors import EntityError, UsageError, Where
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.judge import ISA_LADDER
from entity_tui.experiments.launches import PERPLEXITY, TEXT_OPTION
from entity_tui.experiments.plan import EngineRef, Gate, Plan
from entity_tui.records.schema import Metric, Row
from entity_tui.silicon.variants import judge, list_for
from entity_tui.transport.base import Transport

EXPERIMENT = ISA_LADDER
BLOCKS = 3
CHUNKS, N_CTX = 2, 128

STAGE_SCRIPT = r"""
# $1 engine folder, $2 ladder folder, $3 and on: variants. Executables are copied: a linked one loads the variants of
# the folder it was linked from. Libraries may be links, all but the other variants. A program may be a wrapper whose
# own file lies beside it under a dotted name.
from=$1 to=$2
shift 2
mkdir -p "$to" || exit 1
for v in "$@"; do
  d=$to/$v
  rm -rf "$d"
  mkdir -p "$d" || exit 1
  for f in "$from"/llama-bench "$from"/llama-perplexity "$from"/.llama-bench.* "$from"/.llama-perplexity.*; do
    [ -f "$f" ] && { cp "$f" "$d/" || exit 1; }
  done
  for f in "$from"/lib*.so*; do
    case ${f##*/} in libggml-cpu-*) continue ;; esac
    ln -s "$f" "$d/${f##*/}" 2>/dev/null || cp "$f" "$d/" || exit 1
  done
  cp "$from/libggml-cpu-$v.so" "$d/" || exit 1
  echo "rung $v"
done
"""


class Rung(StrEnum):
    """How one variant ended."""

    MEASURED = "measured"
    NOT_SUPPORTED = "not supported"
    """The program started and its only variant refused this CPU."""
    COULD_NOT_START = "could not start"
    """A missing library or another failure: says nothing about the CPU."""
    NOT_RUN = "not run"


class LadderNotStaged(EntityError):
    """The folders of the ladder could not be made on the device; its own words are in `detail`."""

    where = Where.DEVICE


@dataclass(frozen=True, slots=True)
class RungResult:
    """One variant: outcome, speeds, the variant its loader really named, and what was predicted for this CPU."""

    variant: str
    outcome: Rung
    decode_tok_s: float | None
    prompt_tok_s: float | None
    perplexity: float | None
    """Over the plan's text, 4 decimals as printed: variants round differently, so their texts differ too."""
    loaded: str
    predicted: bool | None
    """Whether the CPU's features let it run; None where they could not be read."""
    detail: str = ""

    @property
    def finding(self) -> str:
        """What contradicts the prediction, in words; empty when nothing does."""
        if self.loaded and self.loaded != self.variant:
            return f"the loader took {self.loaded}"
        if self.predicted is False and self.outcome is Rung.MEASURED:
            return "it runs, and the CPU does not report what it needs"
        if self.predicted and self.outcome is Rung.NOT_SUPPORTED:
            return "the CPU reports what it needs, and the loader refuses it"
        return ""


def ladder_folder(transport: Transport, engine: EngineRef) -> str:
    """Where the rungs of one engine build lie on the device, below our own folder."""
    return f"{transport.root}/ladder/{engine.build}"


async def stage(transport: Transport, engine: EngineRef) -> str:
    """Make the rungs' folders on the device and return the folder above them. LadderNotStaged when that fails."""
    if not engine.variants:
        raise UsageError(
            "this engine ships no CPU variants to climb", fix="use a build with GGML_CPU_ALL_VARIANTS, as releases are"
        )
    folder = ladder_folder(transport, engine)
    done = await transport.script(STAGE_SCRIPT, args=(engine.directory, folder, *engine.variants), timeout_s=120.0)
    if not done.ok:
        raise LadderNotStaged("the rungs could not be made on the device", detail=done.error_text.strip())
    return folder


def ladder_plan(
    setting: Setting, choices: Choices, folder: str, *, threads: str = "auto", text: str = "", chunks: int = CHUNKS
) -> Plan:
    """Every shipped variant as an arm, in seeded blocks, descriptive; `folder` holds the staged rungs.

    With `text`, a file on the device, each cell ends with the perplexity of its rung over `chunks` chunks of it.
    """
    specs = tuple(
        ArmSpec(variant, variant, threads=threads, placement="fastest", engine=f"{folder}/{variant}")
        for variant in setting.engine.variants
    )
    if not specs:
        raise UsageError("this engine ships no CPU variants to climb")
    design = Design(
        experiment=EXPERIMENT,
        title="ISA ladder: every shipped variant alone",
        specs=specs,
        blocks=BLOCKS,
        verdicts=False,
        gate=Gate(sensorless_dwell_s=60.0),
        warmup="",
        options={TEXT_OPTION: text, "chunks": str(chunks), "n_ctx": str(N_CTX)} if text else None,
    )
    plan = assemble(design, setting, choices)
    return replace(plan, cells=plan.cells[1:])


def predictions(facts: Facts, engine: EngineRef) -> Mapping[str, bool | None]:
    """Whether each variant of an engine can run on this CPU, by name; None where list or features are unknown."""
    found: dict[str, bool | None] = dict.fromkeys(engine.variants)
    known = list_for(engine.variant_list)
    if known is not None:
        verdicts, _ = judge(facts.isa, known)
        found.update({item.name: item.eligible for item in verdicts if item.name in found})
    return MappingProxyType(found)


def climb(plan: Plan, rows: Sequence[Row], facts: Facts) -> tuple[RungResult, ...]:
    """The ladder's table: one rung a variant, in the engine's order."""
    expected = predictions(facts, plan.engine)
    found: list[RungResult] = []
    for arm in plan.arms:
        mine = [row for row in rows if row.arm == arm.arm_id]
        decode = [row.value for row in mine if row.metric == Metric.DECODE_TOK_S and row.countable]
        prompt = [row.value for row in mine if row.metric == Metric.PROMPT_TOK_S and row.countable]
        perplexity = [row.value for row in mine if row.metric == PERPLEXITY and row.countable]
        loaded = next((row.variant_loaded for row in mine if row.variant_loaded), "") or ""
        states = {row.state for row in mine}
        detail = next((row.state_detail for row in mine if row.state_detail and row.state not in ("ok",)), "") or ""
        found.append(
            RungResult(
                arm.arm_id,
                _outcome(states, bool(decode or prompt)),
                _median(decode),
                _median(prompt),
                _median(perplexity),
                loaded,
                expected.get(arm.arm_id),
                detail if not decode else "",
            )
        )
    return tuple(found)


def _outcome(states: set[str], measured: bool) -> Rung:
    if measured:
        return Rung.MEASURED
    if "skipped_incapable" in states:
        return Rung.NOT_SUPPORTED
    return Rung.COULD_NOT_START if states - {"cancelled"} else Rung.NOT_RUN


def _median(values: Sequence[float | None]) -> float | None:
    from entity_tui.analysis.summary import median

    known = [value for value in values if value is not None]
    return median(known) if known else None
