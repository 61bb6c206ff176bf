"""The seeds' rules for results that many phones contributed: what is left out of aggregates, and with which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.analysis.summary import median

HIGHEST_RELATIVE_SD = 0.25
SUSPECT_POWER_RATIO = 4.0
SUSPECT_POWER_W = 0.8
ATTRIBUTED_ARMS = ("naive", "threads_only", "optimized")


@dataclass(frozen=True, slots=True)
class ContributedArm:
    """One arm of a contributed run; rates in tok/s, None when missing."""

    arm: str
    threads: int
    pinned: bool
    slow_cluster: bool
    passes: int
    decode_tok_s: float | None
    decode_sd: float | None
    prompt_tok_s: float | None
    prompt_sd: float | None
    ttft_ms: float | None
    watts: float | None
    tok_per_w: float | None


@dataclass(frozen=True, slots=True)
class ContributedRun:
    """One contributed run, as it was uploaded."""

    run_id: int
    received_at_utc: str
    device_model: str
    soc: str
    cpu_flags: tuple[str, ...]
    max_freqs_mhz: tuple[int, ...]
    fast_cores: int
    model_file: str
    quantization: str
    kleidiai_label: bool
    runs_per_arm: int
    charging: bool
    power_valid: bool
    arms: tuple[ContributedArm, ...]

    def arm(self, name: str) -> ContributedArm | None:
        """The arm of that name, None where the run has none."""
        return next((arm for arm in self.arms if arm.arm == name), None)

    def decode(self, name: str) -> float | None:
        """An arm's decode median, None when missing."""
        arm = self.arm(name)
        return arm.decode_tok_s if arm else None


class Exclusion(StrEnum):
    """Predicates by name. `effect` says what each takes away; an excluded row stays visible with its reason."""

    DUPLICATE = "duplicate"
    HIGH_VARIANCE = "high_variance"
    POWER_SUSPECT = "power_suspect"
    CHARGING = "charging"
    PROVISIONAL = "provisional"


EFFECTS = {
    Exclusion.DUPLICATE: "the same result uploaded again: the smallest id is kept",
    Exclusion.HIGH_VARIANCE: "SD above a quarter of the median: shown, not in aggregates",
    Exclusion.POWER_SUSPECT: "power below 0.8 W or arms further apart than 4×: power hidden, speed kept",
    Exclusion.CHARGING: "charging: power hidden, speed kept",
    Exclusion.PROVISIONAL: "a single pass an arm: noise reaches about 20 %",
}


def high_variance(run: ContributedRun) -> bool:
    """RSD above 0.25 in naive, threads_only or optimized; efficiency and adpf are not tested, a median ≤ 0 counts 0."""
    tested = (arm for arm in run.arms if arm.arm in ATTRIBUTED_ARMS)
    return any((arm.decode_sd or 0.0) > HIGHEST_RELATIVE_SD * (arm.decode_tok_s or 0.0) > 0.0 for arm in tested)


def power_suspect(run: ContributedRun) -> bool:
    """Power said to be valid, yet below 0.8 W in some arm or with arms more than 4× apart (arms above 0 W only)."""
    watts = [arm.watts for arm in run.arms if arm.watts is not None and arm.watts > 0]
    if not run.power_valid or not watts:
        return False
    return min(watts) < SUSPECT_POWER_W or max(watts) / min(watts) > SUSPECT_POWER_RATIO


def power_usable(run: ContributedRun) -> bool:
    """True when the run's watts may be shown and sorted by."""
    return run.power_valid and not run.charging and not power_suspect(run)


def duplicates(runs: Iterable[ContributedRun]) -> dict[int, int]:
    """For every duplicate the id it repeats: same model of phone, model file, quantisation and identical arms."""
    first: dict[tuple[object, ...], int] = {}
    found: dict[int, int] = {}
    for run in sorted(runs, key=lambda run: run.run_id):
        key = (run.device_model, run.model_file, run.quantization, run.arms)
        kept = first.setdefault(key, run.run_id)
        if kept != run.run_id:
            found[run.run_id] = kept
    return found


def unique(runs: Sequence[ContributedRun]) -> tuple[ContributedRun, ...]:
    """The runs without duplicates, in order."""
    repeated = duplicates(runs)
    return tuple(run for run in runs if run.run_id not in repeated)


def exclusions(run: ContributedRun, repeats: int | None = None) -> tuple[Exclusion, ...]:
    """Every predicate that holds for a run; `repeats` is the id it duplicates."""
    holds = {
        Exclusion.DUPLICATE: repeats is not None,
        Exclusion.HIGH_VARIANCE: high_variance(run),
        Exclusion.POWER_SUSPECT: power_suspect(run),
        Exclusion.CHARGING: run.charging,
        Exclusion.PROVISIONAL: run.runs_per_arm == 1,
    }
    return tuple(name for name, yes in holds.items() if yes)


def ratio(run: ContributedRun, baseline: str, treatment: str) -> float | None:
    """The ratio of two arms' decode medians, None when either is missing or not positive."""
    below, above = run.decode(baseline), run.decode(treatment)
    return above / below if below and above and below > 0 else None


def multiplier(run: ContributedRun) -> float | None:
    """optimized over naive."""
    return ratio(run, "naive", "optimized")


def thread_multiplier(run: ContributedRun) -> float | None:
    """threads_only over naive."""
    return ratio(run, "naive", "threads_only")


def pin_multiplier(run: ContributedRun) -> float | None:
    """optimized over threads_only."""
    return ratio(run, "threads_only", "optimized")


def isa_tier(flags: Iterable[str]) -> str:
    """`no_extensions`, `dotprod` or `dotprod_i8mm`."""
    held = frozenset(flags)
    if "dotprod" not in held:
        return "no_extensions"
    return "dotprod_i8mm" if "i8mm" in held else "dotprod"


def soc_code(soc: str) -> str:
    """The code behind the last slash of `mt6878 / MT6878`."""
    return soc.rpartition("/")[2].strip()


def vendor(soc: str) -> str:
    """MediaTek, Qualcomm, Google or Other, by the seeds' rule: Exynos codes (s5e…) land in Other."""
    code = soc.lower()
    last = soc_code(soc).lower()
    if last.startswith("mt"):
        return "MediaTek"
    if last.startswith("sm") or "qcom" in code:
        return "Qualcomm"
    return "Google" if "tensor" in code or "frankel" in code else "Other"


def topology_text(max_freqs_mhz: Iterable[int]) -> str:
    """Distinct clocks ascending, `4x2.00G + 4x2.50G`."""
    counts: dict[int, int] = {}
    for freq in max_freqs_mhz:
        counts[freq] = counts.get(freq, 0) + 1
    return " + ".join(f"{counts[freq]}x{freq / 1000:.2f}G" for freq in sorted(counts))


@dataclass(frozen=True, slots=True)
class Group:
    """One line of a leaderboard: the newest run of a device and quantisation, with the older ones behind it."""

    device_model: str
    quantization: str
    primary: ContributedRun
    older: tuple[ContributedRun, ...]
    duplicates: int


def leaderboard(
    runs: Sequence[ContributedRun], sort: Callable[[ContributedRun], float | None] = multiplier
) -> tuple[Group, ...]:
    """Groups by device and quantisation, largest first by `sort`; a missing value sorts as -1."""
    repeated = duplicates(runs)
    groups: dict[tuple[str, str], list[ContributedRun]] = {}
    for run in runs:
        groups.setdefault((run.device_model, run.quantization), []).append(run)
    found = []
    for (model, quantization), mine in groups.items():
        kept = [run for run in mine if run.run_id not in repeated]
        newest = sorted(kept, key=lambda run: (run.received_at_utc, run.run_id), reverse=True)
        found.append(Group(model, quantization, newest[0], tuple(newest[1:]), len(mine) - len(kept)))
    return tuple(sorted(found, key=lambda group: _or_last(sort(group.primary)), reverse=True))


def _or_last(value: float | None) -> float:
    return -1.0 if value is None else value


def median_of(runs: Iterable[ContributedRun], value: Callable[[ContributedRun], float | None]) -> float | None:
    """The median of a value over the runs that have it, None when none has."""
    found = [number for run in runs if (number := value(run)) is not None]
    return median(found) if found else None
