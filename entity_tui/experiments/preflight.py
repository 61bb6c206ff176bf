"""Preflight: what is checked before a run, without changing anything on the device, and stored with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.engine.bench_output import OK, parse_bench
from entity_tui.engine.command_lines import bench_argv, engine_env, launched
from entity_tui.engine.log_lines import classify, parse_log, used_gpu
from entity_tui.errors import EntityError, GateRefused, Where
from entity_tui.experiments.launches import mask_text
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.server_bench import INSTRUMENT
from entity_tui.experiments.states import exit_states, state
from entity_tui.silicon.masks import parse_mask
from entity_tui.transport.base import Transport
from entity_tui.transport.device_text import parse_df_free_bytes

PROBE_GENERATE = 4
PROBE_TIMEOUT_S = 120.0

PIN_SCRIPT = r"""
# $1 = a mask, or empty. Prints what the kernel says of a process started under it, and engines that run already.
if [ -n "$1" ]; then
  if command -v taskset >/dev/null 2>&1; then
    taskset "$1" cat /proc/self/status 2>&1 | while read -r k v; do
      case $k in Cpus_allowed:) echo "pin $v" ;; esac
    done
  else
    echo "pin none"
  fi
fi
for d in /proc/[0-9]*; do
  { IFS= read -r name <"$d/comm"; } 2>/dev/null || continue
  case $name in llama-* | llama_* | rpc-server) echo "engine ${d#/proc/} $name" ;; esac
done
echo end
"""


class Result(StrEnum):
    """How one check ended. `unknown` means that it could not be read, which is not a pass."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One check with its words; `fix` is empty when there is nothing to do."""

    name: str
    result: Result
    text: str
    fix: str = ""
    gate: bool = False
    """True for heat, battery and memory: a failure then is a gate that refused, not a defect."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """All checks of one run, and what they found out on the way."""

    checks: tuple[Check, ...]
    variant: str = ""
    """CPU backend variant the loader named; empty when it did not."""
    decode_tok_s: float | None = None
    """Speed of the few tokens of the check: good for an estimate of time, never a result."""
    gpu_seen: bool = False

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that forbid the run."""
        return tuple(check for check in self.checks if check.result is Result.FAIL)

    def to_json(self) -> str:
        """The checks as JSON text, for the run's folder."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


class PreflightFailed(EntityError):
    """The run was not started; the title says which check failed."""

    where = Where.DEVICE


def refuse(found: Preflight) -> None:
    """Raise for the first failed check: GateRefused for heat, battery and space, else PreflightFailed."""
    if not found.failed:
        return
    check = found.failed[0]
    kind = GateRefused if check.gate else PreflightFailed
    others = "; ".join(f"{item.name}: {item.text}" for item in found.failed[1:])
    raise kind(check.text, detail=others, fix=check.fix)


async def preflight(transport: Transport, plan: Plan, snapshot: Snapshot, facts: Facts) -> Preflight:
    """Run every check. Raises only the transport's errors; failures are results, `refuse` turns them into one."""
    asked = _widest_mask(plan)
    pin = await transport.script(PIN_SCRIPT, args=(asked or "",), timeout_s=30.0)
    checks = [
        *_pin_checks(pin.text, asked),
        *static_checks(plan, snapshot, facts),
    ]
    started = Preflight(())
    if plan.instrument in ("llama-bench", INSTRUMENT):
        started = await _engine_check(transport, plan)
        checks += started.checks
    return replace(started, checks=tuple(checks))


def _widest_mask(plan: Plan) -> str | None:
    """A mask of the plan that is not every CPU, so that the probe can tell a pin from none; else any."""
    masks = [arm.decode.mask for arm in plan.runnable if arm.decode.mask]
    narrow = [mask for mask in masks if set(mask) != set(plan.online)]
    return mask_text((narrow or masks)[0]) if masks else None


def _pin_checks(text: str, asked: str | None) -> list[Check]:
    found: list[Check] = []
    pins = [line.split(None, 1)[1] for line in text.splitlines() if line.startswith("pin ")]
    engines = [line.split(None, 1)[1] for line in text.splitlines() if line.startswith("engine ")]
    if asked is None:
        found.append(Check("pin", Result.UNKNOWN, "no arm sets a mask"))
    elif not pins:
        found.append(
            Check("pin", Result.WARN, "the kernel's answer to a mask could not be read", "masks will stay unproven")
        )
    elif pins[0] == "none":
        found.append(Check("pin", Result.FAIL, "this device has no taskset", "only arms without a mask can run"))
    elif parse_mask(pins[0]) == parse_mask(asked):
        found.append(Check("pin", Result.PASS, f"asked for mask {asked}, the kernel says the same"))
    else:
        words = f"asked for mask {asked}, the kernel says {pins[0].replace(',', '').lstrip('0') or '0'}"
        found.append(Check("pin", Result.FAIL, words, state("cpuset_denied").next_step))
    if engines:
        found.append(
            Check(
                "other engines",
                Result.WARN,
                f"another engine is running: {', '.join(engines)}",
                "stop it, or its load is in every number",
            )
        )
    else:
        found.append(Check("other engines", Result.PASS, "no other engine is running"))
    return found


def static_checks(plan: Plan, snapshot: Snapshot, facts: Facts) -> list[Check]:
    """What the first probe already tells: battery, charger, screen, modes, space, heat, where we run."""
    found = [_battery(plan, facts), _charger(facts), _space(plan, snapshot, facts), _heat(plan, facts)]
    wake = snapshot.command("dumpsys power | grep mWakefulness")
    if wake.ok:
        word = wake.text.partition("mWakefulness=")[2].split()[:1]
        found.append(Check("screen", Result.PASS, f"the phone is {word[0].lower() if word else 'in an unknown state'}"))
    for name, line, on in (
        ("airplane mode", "settings get global airplane_mode_on", "the radios are off"),
        ("battery saver", "settings get global low_power", "the battery saver caps the clocks"),
    ):
        reading = snapshot.command(line)
        if not reading.ok or reading.text.strip() not in ("0", "1"):
            continue
        active = reading.text.strip() == "1"
        worse = name == "battery saver"
        result = Result.WARN if active and worse else Result.PASS
        found.append(
            Check(name, result, on if active else f"{name} is off", "switch it off" if active and worse else "")
        )
    if context_of(facts, snapshot.transport) == "termux":
        found.append(
            Check(
                "launch context",
                Result.WARN,
                "this runs inside an app, in its cgroup: every cell is tainted",
                "run over adb for numbers that compare with other phones",
            )
        )
    return found


def context_of(facts: Facts, transport_kind: str) -> str:
    """Where the engine is launched from: `termux`, `adb shell`, `ssh`, `local`; cells of different ones never mix."""
    uid = facts.identity.uid
    if facts.identity.system == "termux" or (facts.identity.android_sdk and uid is not None and uid >= 10_000):
        return "termux"
    return {"adb": "adb shell", "ssh": "ssh", "local": "local"}.get(transport_kind, transport_kind)


def _battery(plan: Plan, facts: Facts) -> Check:
    level = facts.battery.level_pct
    if level is None:
        return Check("battery", Result.UNKNOWN, "the charge could not be read, or there is no battery")
    if level < plan.limits.battery_pct:
        text = f"the battery has {level:.0f} %, the plan needs {plan.limits.battery_pct} %"
        return Check("battery", Result.FAIL, text, state("low_battery").next_step, gate=True)
    return Check("battery", Result.PASS, f"battery {level:.0f} %")


def _charger(facts: Facts) -> Check:
    if facts.battery.charging is None:
        return Check("charger", Result.UNKNOWN, "whether it charges could not be read")
    if facts.battery.charging:
        return Check(
            "charger",
            Result.WARN,
            "the phone is charging: no watts and no tok/W can be measured",
            "wireless adb, SSH, or a USB port that can be switched off leave the battery readable",
        )
    return Check("charger", Result.PASS, "on battery")


def free_bytes(snapshot: Snapshot) -> int | None:
    """Free space where runs are written, from the probe's own df line; None when it could not be read."""
    for line, reading in snapshot.commands.items():
        if line.startswith("df -k ") and reading.ok:
            found = parse_df_free_bytes(reading.text)
            if found is not None:
                return found
    return None


def _space(plan: Plan, snapshot: Snapshot, facts: Facts) -> Check:
    free = free_bytes(snapshot)
    if free is None:
        return Check("space", Result.UNKNOWN, "free space could not be read")
    if free < plan.limits.free_bytes:
        text = f"{free / 1e6:.0f} MB are free, the plan needs {plan.limits.free_bytes / 1e6:.0f} MB"
        return Check("space", Result.FAIL, text, state("storage_full").next_step, gate=True)
    return Check("space", Result.PASS, f"{free / 1e9:.1f} GB free")


def _heat(plan: Plan, facts: Facts) -> Check:
    status, battery = facts.thermal.status, facts.battery.temperature_c
    if status is not None and status >= plan.limits.safety_status:
        return Check("heat", Result.FAIL, f"thermal status {facts.thermal.status_name}", "let it cool", gate=True)
    if battery is not None and battery >= plan.limits.safety_c:
        return Check("heat", Result.FAIL, f"the battery has {battery:.1f} °C", "let it cool", gate=True)
    if battery is None and status is None:
        return Check("heat", Result.WARN, "no temperature can be read here: the gate has nothing to look at")
    return Check("heat", Result.PASS, f"thermal status {facts.thermal.status_name}, battery {battery or 0:.1f} °C")


async def _engine_check(transport: Transport, plan: Plan) -> Preflight:
    """Start the engine once, with the plan's own model, and read a result back."""
    arm = plan.runnable[0]
    if arm.command:
        return Preflight(())
    argv = bench_argv(
        plan.engine.bench,
        arm.model_path or plan.model.path,
        n_prompt=0,
        n_gen=PROBE_GENERATE,
        threads=max(1, min(2, len(plan.online))),
        flags=arm.flags,
    )
    env = engine_env(plan.engine.directory, arm.env)
    done = await transport.run(launched(argv, env), timeout_s=PROBE_TIMEOUT_S)
    log = parse_log(done.error_text)
    word, detail = classify(done.exit_code, done.error_text, exit_states())
    output = parse_bench(done.text)
    if word == OK and output.state != OK:
        word, detail = output.state, output.detail
    if word != OK:
        found = state(word)
        check = Check("engine", Result.FAIL, f"the engine does not start: {found.sentence} {detail}", found.next_step)
        return Preflight((check,), log.variant)
    rate = output.results[0].rate_tok_s
    text = "the engine starts and computes" + (f", variant {log.variant}" if log.variant else "")
    return Preflight((Check("engine", Result.PASS, text),), log.variant, rate, used_gpu(log))
