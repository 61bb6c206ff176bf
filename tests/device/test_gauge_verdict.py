"""A stream of ticks proves a gauge's unit and sign, and shows how often it refreshes."""

from __future__ import annotations

from entity_tui.device.battery import Battery, CurrentUnit, Standing
from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.gauge_verdict import GaugeJudge
from entity_tui.device.live import Interpreter
from entity_tui.device.sample import Sample
from entity_tui.device.snapshot import Outcome, Reading, Snapshot


def ticks(raw: int, *, seconds: int = 900, plugged: bool = False) -> list[Sample]:
    """Ticks every two seconds of a busy phone that draws 500 mA; its gauge moves every four seconds."""
    found, lost = [], 0.0
    for number, t in enumerate(range(0, seconds, 2)):
        lost += 500_000 * 2 / 3600
        found.append(
            Sample(
                number,
                float(t),
                cpu_busy_pct={0: 90.0, 1: 80.0},
                current_raw=raw + (number // 2) % 2,
                voltage_raw=3_900_000,
                charge_counter_raw=3_000_000 - int(lost // 1000) * 1000,
                plugged=plugged,
            )
        )
    return found


def test_an_unknown_unit_becomes_verified_by_the_counter() -> None:
    judge = GaugeJudge(Battery())
    assert judge.unit is CurrentUnit.UNKNOWN
    for sample in ticks(-500):
        judge.feed(sample)
    verdict = judge.verdict
    assert (verdict.unit.unit, verdict.unit.standing) == (CurrentUnit.MA, Standing.VERIFIED)
    assert (verdict.sign.discharge_sign, verdict.sign.standing) == (-1, Standing.VERIFIED)
    assert verdict.refresh.interval_s == 4.0
    assert verdict.words == "mA, unit verified, sign verified, refresh 4.0 s"


def test_plugged_ticks_prove_no_sign() -> None:
    judge = GaugeJudge(Battery())
    for sample in ticks(-500, plugged=True):
        judge.feed(sample)
    assert judge.verdict.sign.discharge_sign is None


def test_missing_currents_are_left_out_and_a_restart_begins_anew() -> None:
    judge = GaugeJudge(Battery())
    judge.feed(Sample(1, 10.0))
    assert judge.verdict.refresh.readings == 0
    for sample in ticks(-500, seconds=20):
        judge.feed(sample)
    judge.feed(Sample(99, 1.0, current_raw=-500))
    assert judge.verdict.refresh.readings == 1


def test_a_verified_unit_turns_a_gap_into_watts() -> None:
    interpreter = Interpreter(Facts())
    first = interpreter.read(ticks(-500)[0])
    assert first.values["power_w"] is None
    assert first.power_note == "unit?"
    live = first
    for sample in ticks(-500):
        live = interpreter.read(sample)
    assert live.values["power_w"] is not None
    assert 1.9 < live.values["power_w"] < 2.0
    assert live.gauge is not None
    assert live.gauge.unit.standing is Standing.VERIFIED


def test_a_macs_cores_come_by_performance_level() -> None:
    text = "hw.ncpu: 10\nhw.nperflevels: 2\nhw.perflevel0.physicalcpu: 8\nhw.perflevel1.physicalcpu: 2\n"
    snapshot = Snapshot(commands={"sysctl hw": Reading("sysctl hw", Outcome.OK, text)})
    topology = read_facts(snapshot).topology
    assert [(cluster.label, len(cluster.cpus)) for cluster in topology.clusters] == [("PERF", 8), ("LITTLE", 2)]
    assert topology.shape == "8+2"
    assert {core.max_freq_khz for core in topology.cores} == {None}
