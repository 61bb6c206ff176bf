"""`entity-tui variants`: which CPU code paths an engine could take on a device, which it will, and why not the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, json_option, print_json, snapshot_option, take_snapshot

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts
    from entity_tui.silicon.skainet import SkainetVerdict
    from entity_tui.silicon.variants import VariantList


@click.command()
@device_options
@snapshot_option
@json_option
@click.option(
    "--list",
    "list_name",
    metavar="NAME",
    help="The engine build's list: android, linux, both, or one of your own; by default what fits the device.",
)
@click.option("--loaded", metavar="NAME", help="The variant the loader named, to compare with the prediction.")
def command(
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    as_json: bool,
    list_name: str | None,
    loaded: str | None,
) -> None:
    """Which CPU backend variants can run on the device, and which one the loader will take."""
    from entity_tui.device.facts import read_facts
    from entity_tui.silicon.skainet import judge_skainet
    from entity_tui.silicon.variants import ANDROID, LINUX, X86, list_named

    taken = take_snapshot(device, snapshot, speed=speed)
    facts = read_facts(taken)
    both = (ANDROID, LINUX)
    if list_name is None:
        fitting = LINUX if facts.identity.system == "linux" else ANDROID
        lists: tuple[VariantList, ...] = (X86 if facts.isa.architecture == "x86_64" else fitting,)
    else:
        lists = both if list_name == "both" else (list_named(list_name),)
    cpuinfo = taken.file("/proc/cpuinfo")
    tier = judge_skainet(cpuinfo.text if cpuinfo.ok else None)
    if as_json:
        print_json(_json(facts, lists, tier, loaded))
        return
    for item in lists:
        _print_list(facts, item, loaded)
    if facts.isa.architecture != "x86_64":
        _print_kleidiai(facts)
        _print_skainet(tier)


def _json(facts: Facts, lists: tuple[VariantList, ...], tier: SkainetVerdict, loaded: str | None) -> dict[str, Any]:
    from entity_tui.models.kleidiai import kernel_for
    from entity_tui.silicon.as_json import identity_json, variants_json

    return {
        "device": identity_json(facts),
        "simulated": facts.simulated,
        "features": {
            "flags": dict(facts.isa.flags),
            "disagreement": facts.isa.disagreement,
            "source": facts.isa.source,
        },
        "lists": [variants_json(facts, item, loaded) for item in lists],
        "kleidiai": [
            {"type": kernel.weight_type, "kernel": kernel.family, "reason": kernel.reason, "certain": kernel.certain}
            for kernel in (kernel_for(name, facts.isa) for name in WEIGHT_TYPES)
        ],
        "skainet": {
            "tier": tier.tier,
            "library": tier.library,
            "gate": tier.gate_safe,
            "gate_as_published": tier.gate_published,
            "gate_line": tier.gate_line,
            "formats": [
                {"type": row.name, "provider": row.provider, "kernel": row.body, "activations": row.activations}
                for row in tier.formats
            ],
        },
    }


WEIGHT_TYPES = ("Q4_0", "Q8_0", "Q4_K", "Q6_K", "F16", "F32")


def _needs(needs: tuple[str, ...]) -> str:
    """The needs in a column's width: the newest ones matter, the rest is an ellipsis."""
    words = " ".join(needs) or "—"
    while len(words) > 33 and len(needs) > 1:
        needs = needs[1:]
        words = "… " + " ".join(needs)
    return words


def _print_list(facts: Facts, variants: VariantList, loaded: str | None) -> None:
    from entity_tui.silicon.variants import compare_loaded, judge

    verdicts, predicted = judge(facts.isa, variants)
    why = "unknown, a feature could not be read"
    if verdicts and all(verdict.eligible is False for verdict in verdicts):
        why = f"none, this is no {variants.architecture} processor"
    click.echo(f"{variants.title}: predicted {predicted or why}")
    for verdict in verdicts:
        if verdict.name == loaded:
            state = f"● LOADED  {compare_loaded(predicted, loaded)}"
        elif verdict.name == predicted:
            state = "● predicted"
        elif verdict.eligible:
            state = "○ eligible"
        elif verdict.eligible is None:
            state = f"? {', '.join(verdict.unknown)} unknown"
        else:
            state = f"✖ no {', '.join(verdict.missing)}"
        click.echo(f"  {verdict.name:20s}{_needs(verdict.needs):34s}score {verdict.score:4d}  {state}")
    if facts.isa.disagreement:
        click.echo(f"▲ cores disagree on features: {facts.isa.disagreement}")
    if facts.isa.hidden:
        click.echo("▲ read by a 32-bit process: names it does not list may still be there")


def _print_kleidiai(facts: Facts) -> None:
    from entity_tui.models.kleidiai import kernel_for

    click.echo("KleidiAI: not in official Android builds; kernels this CPU has")
    for name in WEIGHT_TYPES:
        kernel = kernel_for(name, facts.isa)
        click.echo(f"  {name:6s}{kernel.family or '—':10s}{kernel.reason}")


def _print_skainet(tier: SkainetVerdict) -> None:
    click.echo(f"SKaiNET on Android: {tier.tier} ({tier.library})")
    if tier.unsafe:
        click.echo("▲ its published gate would pick V82_DOTPROD, but not every core lists what that library needs")
    for row in tier.formats:
        click.echo(f"  {row.name:9s}{row.provider:12s}{row.body:24s}activations {row.activations}")
