"""A running stream tells a clock that is held down, and only while the core works."""

from __future__ import annotations

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.live import Interpreter, begun
from entity_tui.device.sample import Sample
from entity_tui.device.throttle import ThrottleSign
from entity_tui.device.throttle_watch import ThrottleWatch
from tests.phones.dataset import CPU, snapshot_of


def phone() -> Facts:
    """A 2+2 phone with two policies."""
    files = {f"{CPU}/present": "0-3\n", f"{CPU}/online": "0-3\n"}
    for cpu, (top, group) in enumerate((("1800000", "0 1"),) * 2 + (("2500000", "2 3"),) * 2):
        files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = top
        files[f"{CPU}/cpu{cpu}/cpufreq/related_cpus"] = group
    return read_facts(snapshot_of(files))


def tick(number: int, big_khz: int, *, busy: float = 95.0, limit_khz: int = 2_500_000) -> Sample:
    """One tick: the big cluster at a clock, with a load and a limit; the little one idles."""
    return Sample(
        number,
        number / 5,
        cpu_busy_pct={0: 3.0, 1: 2.0, 2: busy, 3: busy},
        freq_khz={"policy0": 600_000, "policy2": big_khz},
        max_freq_khz={"policy0": 1_800_000, "policy2": limit_khz},
    )


def test_a_loaded_cluster_that_falls_is_told_while_the_status_is_calm() -> None:
    watch = ThrottleWatch(phone().topology)
    now = watch.feed(tick(0, 2_500_000), 1)
    for number in range(1, 20):
        now = watch.feed(tick(number, 2_500_000 if number < 8 else 900_000), 1)
    assert now.verdicts[0].sign is ThrottleSign.DROPPED
    assert now.short == "PERF 36 %"
    assert now.sentence.startswith("thermal status LIGHT, yet PERF is down to 900000")


def test_an_idle_cluster_may_clock_down() -> None:
    watch = ThrottleWatch(phone().topology)
    for number in range(20):
        now = watch.feed(tick(number, 600_000, busy=4.0), 0)
    assert now.sentence == ""
    assert now.short == ""


def test_a_cap_is_told_at_once_and_a_hot_status_needs_no_second_word() -> None:
    watch = ThrottleWatch(phone().topology)
    now = watch.feed(tick(0, 1_800_000, busy=5.0, limit_khz=1_824_000), 0)
    assert now.verdicts[0].sign is ThrottleSign.CAPPED
    assert now.short == "PERF 73 %"
    assert "limited to 1824000" in now.sentence
    assert watch.feed(tick(1, 1_800_000, limit_khz=1_824_000), 3).sentence == ""


def test_unread_clocks_say_nothing() -> None:
    now = ThrottleWatch(phone().topology).feed(Sample(0, 0.0), 0)
    assert {verdict.sign for verdict in now.verdicts} == {ThrottleSign.UNKNOWN}
    assert now.sentence == ""


def test_the_log_hears_of_a_throttle_once() -> None:
    interpreter = Interpreter(phone())
    calm = interpreter.read(tick(0, 2_500_000))
    held = interpreter.read(tick(1, 1_800_000, limit_khz=1_824_000))
    still = interpreter.read(tick(2, 1_800_000, limit_khz=1_824_000))
    assert begun(None, calm) == ""
    assert begun(calm, held).startswith("thermal status unknown, yet PERF")
    assert begun(held, still) == ""
    assert held.values["gauge_refresh_s"] is None
