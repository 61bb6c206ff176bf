"""`entity-tui topology`: cores, clusters, widths and masks, each with the text it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui.commands.options import (
    device_options,
    json_option,
    print_json,
    snapshot_option,
    take_snapshot,
    with_device,
)

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts
    from entity_tui.models.predict import Machine
    from entity_tui.silicon.explain import Explanation
    from entity_tui.silicon.widths import Widths
    from entity_tui.transport.base import Transport


@click.command()
@device_options
@snapshot_option
@json_option
@click.option("--explain", "with_numbers", is_flag=True, help="The numbers behind the rules, for this device.")
@click.option("--sources", is_flag=True, help="The file every value is from.")
def command(
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    as_json: bool,
    with_numbers: bool,
    sources: bool,
) -> None:
    """Cores, clusters, widths and masks. Unknown stays unknown; contradictions are shown."""
    from entity_tui.device.facts import read_facts
    from entity_tui.silicon.as_json import explanation_json, topology_json
    from entity_tui.silicon.explain import explain
    from entity_tui.silicon.widths import widths

    measured = None
    if with_numbers and snapshot is None:
        facts, measured = with_device(device, _with_own_runs, speed=speed)
    else:
        facts = read_facts(take_snapshot(device, snapshot, speed=speed))
    found = widths(facts.topology)
    if as_json:
        data = topology_json(facts, found)
        if with_numbers:
            data["explain"] = explanation_json(explain(facts, measured))
        print_json(data)
        return
    _print_device(facts)
    _print_clusters(facts, sources)
    _print_widths(found)
    if with_numbers:
        _print_numbers(explain(facts, measured))
    for word in (*facts.topology.conflicts, *facts.topology.notes, *found.notes):
        click.echo(f"▲ {word}")


async def _with_own_runs(transport: Transport) -> tuple[Facts, Machine | None]:
    """The facts of a device and the constants its own stored runs give, None without any."""
    from entity_tui.device.facts import read_facts
    from entity_tui.engine.model_files import count_models
    from entity_tui.errors import EntityError
    from entity_tui.experiments.context import device_id_hash
    from entity_tui.experiments.probe import probe
    from entity_tui.model_survey import stored_runs
    from entity_tui.models.predict import fit_machine

    seen = await probe(transport)
    facts = read_facts(seen)
    try:
        counted = await count_models(transport)
        runs = stored_runs(counted, simulated=transport.simulated, device_hash=device_id_hash(seen, facts))
    except EntityError as error:
        click.echo(f"▲ own runs could not be read: {error.title}", err=True)
        return facts, None
    return facts, fit_machine(runs)


def _ghz(khz: int | None) -> str:
    return "     ?   " if khz is None else f"{khz / 1e6:5.2f} GHz"


def _print_device(facts: Facts) -> None:
    from entity_tui.printable import printable

    identity = facts.identity
    words = [identity.name or "unnamed device", identity.soc]
    if identity.android_release:
        words.append(f"Android {identity.android_release}")
    mark = "  simulated" if facts.simulated else ""
    click.echo("  ".join(printable(word) for word in words if word) + mark)


def _print_clusters(facts: Facts, sources: bool) -> None:
    from entity_tui.printable import printable
    from entity_tui.silicon.masks import format_cpu_list, format_mask

    topology = facts.topology
    if not topology.cores:
        click.echo("no core is known: nothing about CPUs could be read")
        return
    for cluster in topology.clusters:
        off = [core.cpu for core in topology.cores if core.cpu in cluster.cpus and core.online is False]
        name = printable(cluster.name) if cluster.name else "unknown core"
        policy = "" if cluster.policy is None else f"  policy{cluster.policy}"
        capacity = "" if cluster.capacity is None else f"  cap {cluster.capacity:4d}"
        gone = f"  off {format_cpu_list(off)}" if off else ""
        click.echo(
            f"{cluster.label:8s}{len(cluster.cpus):2d} × {name:18s}{_ghz(cluster.max_freq_khz)}{capacity}"
            f"  cpu {format_cpu_list(cluster.cpus):9s} mask {format_mask(cluster.cpus):>5s}{policy}{gone}"
        )
        if sources:
            for field, source in sorted(cluster.sources.items()):
                click.echo(f"          {field}: {source}")
    isa = facts.isa
    have = [flag for flag, state in isa.flags.items() if state]
    lack = [flag for flag, state in isa.flags.items() if state is False]
    unread = [flag for flag, state in isa.flags.items() if state is None]
    parts = [f"isa {' '.join(have) or '—'}"]
    if lack:
        parts.append(f"no {' '.join(lack)}")
    if unread:
        parts.append(f"unknown {' '.join(unread)}")
    click.echo(f"{' │ '.join(parts)} │ {topology.shape} by {topology.signal}")
    if isa.disagreement:
        click.echo(f"▲ cores disagree on features: {isa.disagreement}")


def _print_widths(found: Widths) -> None:
    from entity_tui.silicon.masks import format_cpu_list

    def line(name: str, threads: int, cpus: tuple[int, ...], mask: str, source: str) -> None:
        where = f"cpu {format_cpu_list(cpus):9s} mask {mask:>5s}" if cpus else "no core of known speed to place it on"
        click.echo(f"{name:11s}{threads} {'thread ' if threads == 1 else 'threads'}  {where}  {source}")

    line("decode", found.decode, found.decode_cpus, found.decode_mask, found.decode_source)
    line("prefill", found.prefill, found.prefill_cpus, found.prefill_mask, found.prefill_source)
    if found.efficiency:
        line("efficiency", found.efficiency, found.efficiency_cpus, found.efficiency_mask, "slowest cores")
    own = found.engine_default
    word = "an unknown number of threads" if own is None else f"{own} thread{'' if own == 1 else 's'}"
    click.echo(f"llama.cpp by itself would take {word}")


def _print_numbers(numbers: Explanation) -> None:
    bound = numbers.bound
    if bound is None:
        click.echo("straggler  a core's speed is unknown: no bound")
    else:
        rows = "  ".join(f"{row.threads}:{row.rate:.2f}" for row in bound.rows)
        click.echo(f"straggler  threads × slowest used core, in fastest cores, by {bound.signal}: {rows}")
        click.echo(f"           best {bound.best_threads} threads, at most ×{bound.bound:.2f} over all cores")
        if numbers.thread_factor is not None:
            click.echo(f"           decode width over all cores: ×{numbers.thread_factor:.2f} by compute alone")
    if numbers.machine is None or numbers.basis is None:
        click.echo("balance    unknown: nothing was measured on this chip yet (a bench gives both rates)")
        return
    machine = numbers.machine
    click.echo(
        f"balance   ~{machine.compute_gflop_s:.0f} GFLOP/s, ~{machine.bandwidth_gb_s:.1f} GB/s, "
        f"~{machine.balance:.1f} FLOP/byte ({numbers.basis.words})"
    )
    click.echo(
        f"           a reply does {machine.decode_intensity:.1f} FLOP/byte (memory), a 512-token prompt "
        f"{machine.prefill_intensity:.0f} (arithmetic), for a 1B Q4_0 file"
    )
