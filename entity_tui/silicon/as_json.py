"""Facts and rules as plain JSON values, each number beside the source it is from."""

from __future__ import annotations

from typing import Any

from entity_tui.device.facts import Facts
from entity_tui.device.topology import Cluster, Core
from entity_tui.silicon.explain import Explanation
from entity_tui.silicon.masks import format_cpu_list, format_mask
from entity_tui.silicon.variants import VariantList, judge
from entity_tui.silicon.widths import Widths


def sourced(value: Any, source: str) -> dict[str, Any]:
    """A value with the text it is from; an unknown value keeps its null and says so."""
    return {"value": value, "source": source or ("unknown" if value is None else "derived")}


def identity_json(facts: Facts) -> dict[str, Any]:
    """Who the device is."""
    identity = facts.identity
    return {
        "name": identity.name,
        "manufacturer": identity.manufacturer,
        "model": identity.model,
        "soc": identity.soc,
        "system": identity.system,
        "android_release": identity.android_release,
        "kernel": identity.kernel,
        "sources": dict(identity.sources),
    }


def core_json(core: Core) -> dict[str, Any]:
    """One core; every field with its source."""
    return {
        "cpu": core.cpu,
        "name": sourced(core.name, core.sources.get("name", "")),
        "midr": sourced(core.midr, core.sources.get("name", "") if core.midr else ""),
        "max_freq_khz": sourced(core.max_freq_khz, core.sources.get("max_freq_khz", "")),
        "freq_limit_khz": sourced(core.freq_limit_khz, f"cpu{core.cpu}/cpufreq/scaling_max_freq"),
        "capacity": sourced(core.capacity, core.sources.get("capacity", "")),
        "policy": sourced(core.policy, core.sources.get("policy", "")),
        "online": sourced(core.online, core.sources.get("online", "")),
        "cluster": sourced(core.cluster, core.sources.get("cluster", "")),
    }


def cluster_json(cluster: Cluster, signal: str) -> dict[str, Any]:
    """One cluster; `rank` null means nothing says how fast it is."""
    return {
        "label": cluster.label,
        "rank": sourced(cluster.rank, f"by {signal}" if cluster.rank is not None else ""),
        "cpus": list(cluster.cpus),
        "cpu_list": format_cpu_list(cluster.cpus),
        "mask": format_mask(cluster.cpus),
        "core": sourced(cluster.name, cluster.sources.get("name", "")),
        "max_freq_khz": sourced(cluster.max_freq_khz, cluster.sources.get("max_freq_khz", "")),
        "capacity": sourced(cluster.capacity, cluster.sources.get("capacity", "")),
        "policy": cluster.policy,
    }


def widths_json(found: Widths) -> dict[str, Any]:
    """The widths with their rules, CPUs and masks."""

    def width(threads: int, cpus: tuple[int, ...], source: str) -> dict[str, Any]:
        return {"threads": threads, "cpus": list(cpus), "mask": format_mask(cpus) if cpus else None, "source": source}

    ranking = f"fastest by {found.signal}"
    return {
        "decode": width(found.decode, found.decode_cpus, found.decode_source),
        "prefill": width(found.prefill, found.prefill_cpus, found.prefill_source),
        "pin": width(len(found.pin_cpus), found.pin_cpus, ranking),
        "efficiency": width(found.efficiency, found.efficiency_cpus, "slowest cores of known speed"),
        "all": width(found.online, found.all_cpus, "cpu/online"),
        "top_cluster": found.top_cluster,
        "fast_cores": found.fast_cores,
        "little_cpus": list(found.little_cpus),
        "sweep": list(found.sweep),
        "engine_default": found.engine_default,
        "signal": found.signal,
        "notes": list(found.notes),
    }


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """The numbers behind the rules; predictions are marked as such."""
    bound, machine, basis = explanation.bound, explanation.machine, explanation.basis
    return {
        "straggler": None
        if bound is None
        else {
            "signal": bound.signal,
            "rows": [{"threads": row.threads, "rate": row.rate, "ideal": row.ideal} for row in bound.rows],
            "best_threads": bound.best_threads,
            "bound_best_over_all": bound.bound,
            "bound_decode_over_all": explanation.thread_factor,
            "bound_decode_over_engine_default": explanation.engine_default_factor,
        },
        "engine_default_threads": explanation.engine_default,
        "balance": None
        if machine is None
        else {
            "predicted": True,
            "source": "" if basis is None else basis.words,
            "caveat": "" if basis is None else basis.caveat,
            "compute_gflop_s": machine.compute_gflop_s,
            "bandwidth_gb_s": machine.bandwidth_gb_s,
            "balance_flop_byte": machine.balance,
            "decode_intensity": machine.decode_intensity,
            "prefill_intensity": machine.prefill_intensity,
        },
    }


def topology_json(facts: Facts, found: Widths) -> dict[str, Any]:
    """Everything `topology --json` prints."""
    topology = facts.topology
    isa = facts.isa
    return {
        "device": identity_json(facts),
        "simulated": facts.simulated,
        "shape": topology.shape,
        "signal": topology.signal,
        "clusters": [cluster_json(cluster, topology.signal) for cluster in topology.clusters],
        "cores": [core_json(core) for core in topology.cores],
        "online": sourced(
            None if topology.online is None else list(topology.online), topology.sources.get("online", "")
        ),
        "present": sourced(
            None if topology.present is None else list(topology.present), topology.sources.get("present", "")
        ),
        "isa": {
            "architecture": isa.architecture,
            "flags": dict(isa.flags),
            "names": list(isa.names),
            "disagreement": isa.disagreement,
            "source": isa.source,
        },
        "widths": widths_json(found),
        "conflicts": list(topology.conflicts),
        "notes": list(topology.notes),
    }


def variants_json(facts: Facts, variants: VariantList, loaded: str | None = None) -> dict[str, Any]:
    """Every variant of a list with its score and what it lacks, and the predicted one."""
    verdicts, predicted = judge(facts.isa, variants)
    return {
        "list": variants.key,
        "title": variants.title,
        "predicted": predicted,
        "loaded": loaded,
        "agrees": None if loaded is None or predicted is None else loaded == predicted,
        "variants": [
            {
                "name": verdict.name,
                "needs": list(verdict.needs),
                "score": verdict.score,
                "eligible": verdict.eligible,
                "missing": list(verdict.missing),
                "unknown": list(verdict.unknown),
            }
            for verdict in verdicts
        ],
        "source": facts.isa.source,
    }
