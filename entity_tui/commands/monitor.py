"""`entity-tui monitor`: the sampler's readings as they arrive, in words or as one JSON object a line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options, with_device

if TYPE_CHECKING:
    from entity_tui.device.live import Live
    from entity_tui.device.sample import Sample, SampleParser
    from entity_tui.transport.base import Transport

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Duration(click.ParamType[float]):
    """`10s`, `2m`, `500ms`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds. Fails with a usage error for anything else."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no duration; write 10s, 2m or 500ms", param, ctx)
        return float(match.group(1)) * _SECONDS[match.group(2)]


@click.command()
@device_options
@click.option("--hz", type=click.FloatRange(0.1, 20.0), default=5.0, show_default=True, help="Readings a second.")
@click.option("--for", "seconds", type=Duration(), default=None, help="Stop after this long, e.g. 10s; else ctrl+c.")
@click.option("--jsonl", is_flag=True, help="One JSON object a line.")
def command(device: str | None, speed: float | None, hz: float, seconds: float | None, jsonl: bool) -> None:
    """Stream what the device measures of itself, on its own clock: the numbers of the Dashboard, and the raw readings.

    What is missing stays empty; power is hidden while the device charges, with the reason.
    """

    async def work(transport: Transport) -> None:
        from entity_tui.device.facts import read_facts
        from entity_tui.device.live import Interpreter
        from entity_tui.device.sample import SampleParser
        from entity_tui.experiments.probe import probe, sample_stream

        interpreter = Interpreter(read_facts(await probe(transport)))
        parser = SampleParser()
        count = 0 if seconds is None else max(1, round(seconds * hz))
        async for sample in sample_stream(transport, hz, count=count, parser=parser):
            if sample.sequence == 0 and not jsonl:
                _print_head(parser, simulated=transport.simulated)
            live = interpreter.read(sample)
            if jsonl:
                line = {**sample_json(sample), **live_json(live)}
                line["simulated"] = transport.simulated
                line["clock_factor"] = float(parser.header.get("factor", "1"))
                click.echo(json.dumps(line, separators=(",", ":"), allow_nan=False))
            else:
                click.echo(sample_line(sample, live))

    with_device(device, work, speed=speed)


def _print_head(parser: SampleParser, *, simulated: bool) -> None:
    header = parser.header
    click.echo(
        f"{'simulated · ' if simulated else ''}clock {header.get('clock')}, wait {header.get('wait')},"
        f" shell {header.get('shell')}, period {int(header.get('period_cs', '0')) * 10} ms of the device's clock",
        err=True,
    )
    for name, outcome in parser.outcomes.items():
        if outcome != "ok":
            click.echo(f"{outcome}: {name}", err=True)


def sample_json(sample: Sample) -> dict[str, Any]:
    """One sample as plain JSON values; a missing reading is null, never 0."""
    return {
        "sequence": sample.sequence,
        "t_boot_s": sample.t_boot_s,
        "clock": sample.clock,
        "cpu_busy_pct": {str(cpu): _rounded(value) for cpu, value in sample.cpu_busy_pct.items()},
        "freq_khz": dict(sample.freq_khz),
        "max_freq_khz": dict(sample.max_freq_khz),
        "zone_raw": dict(sample.zone_raw),
        "cooling_state": dict(sample.cooling_state),
        "current_raw": sample.current_raw,
        "voltage_raw": sample.voltage_raw,
        "charge_counter_raw": sample.charge_counter_raw,
        "battery_temp_raw": sample.battery_temp_raw,
        "battery_pct": sample.battery_pct,
        "battery_status": sample.battery_status,
        "plugged": sample.plugged,
        "mem_available_kb": sample.mem_available_kb,
        "load_1m": sample.load_1m,
        "late_ms": sample.late_ms,
        "missed": sample.missed,
        "own_cpu_pct": _rounded(sample.own_cpu_pct),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def live_json(live: Live) -> dict[str, Any]:
    """The same sample interpreted: what the screens show."""
    temperatures = {
        name.removeprefix("temp_c."): _rounded(value)
        for name, value in live.values.items()
        if name.startswith("temp_c.") and not name.startswith("temp_c.zone.")
    }
    return {
        "temp_c": temperatures,
        "hottest": dict(live.hottest),
        "thermal_status": live.thermal_status,
        "power_w": live.values.get("power_w"),
        "power_note": live.power_note,
        "charging": live.charging,
    }


def sample_line(sample: Sample, live: Live) -> str:
    """One sample as a line for people; `—` for what could not be read, with the reason where power is missing."""
    busy = " ".join("  —" if value is None else f"{value:3.0f}" for value in sample.cpu_busy_pct.values()) or "—"
    clocks = " ".join("—" if khz is None else f"{khz / 1e6:.2f}" for khz in sample.freq_khz.values()) or "—"
    memory = "—" if sample.mem_available_kb is None else f"{sample.mem_available_kb * 1024 / 1e9:.2f} GB free"
    heat = "  ".join(f"{name} {_degrees(live.values.get(f'temp_c.{name}'))}" for name in ("cpu", "skin", "battery"))
    watts = live.values.get("power_w")
    power = f"{watts:.2f} W" if watts is not None else f"— {live.power_note}"
    battery = "—" if sample.battery_pct is None else f"{sample.battery_pct} %"
    status = "" if live.thermal_status is None else f"  status {live.thermal_status}"
    return f"{sample.t_boot_s:10.2f}  busy {busy} %  GHz {clocks}  {heat}{status}  {power}  battery {battery}  {memory}"


def _degrees(celsius: float | None) -> str:
    return "—" if celsius is None else f"{celsius:.1f} °C"
