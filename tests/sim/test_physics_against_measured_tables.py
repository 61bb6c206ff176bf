"""The demo phone's speeds, watts and heat beside what was measured on the phone it imitates."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from random import Random

import pytest

from entity_tui.sim.bench import BenchRun, Surroundings
from entity_tui.sim.bench_rows import BenchModel
from entity_tui.sim.physics import Body, Load
from entity_tui.sim.profile import load_image
from entity_tui.sim.silicon import SimSilicon
from tests.fixtures.tools import need_shared

MODEL = BenchModel("llama 1B Q4_0", 773_025_920, 1_235_814_400)
"""Llama 3.2 1B Q4_0, the file the tables were measured with."""
STEP_S = 0.05


def cmf() -> SimSilicon:
    return load_image("cmf-phone-1").silicon


class Pass:
    """One pass of 512 prompt and 128 generated tokens on a body: speeds, mean watts, seconds."""

    def __init__(self, body: Body, threads: int, mask: tuple[int, ...], seed: int = 1) -> None:
        lines: list[str] = []
        run = BenchRun(
            silicon=body.silicon,
            argv=f"-m m -p 512 -n 128 -r 1 -o jsonl --no-warmup -t {threads}".split(),
            folder="/d",
            variants=("android_armv8.0_1",),
            read_model=lambda _: MODEL,
            say=lambda stream, text: lines.append(text) if stream == "o" else None,
            random=Random(seed),
        )
        self.seconds, joules = 0.0, 0.0
        while run.exit_code is None:
            run.advance(STEP_S, Surroundings(mask, body.silicon.cpus, body.now_khz))
            body.advance(STEP_S, run.load)
            self.seconds += STEP_S
            joules += body.power_w * STEP_S
        self.prompt, self.decode = (json.loads(line)["avg_ts"] for line in lines)
        self.watts = joules / self.seconds


ARMS = {
    "naive": (8, range(8)),
    "threads_only": (4, range(8)),
    "optimized": (4, range(4, 8)),
    "efficiency": (4, range(4)),
}


def measured() -> dict[str, dict[str, str]]:
    path = need_shared("seed_data", "entity", "bench_exports", "arms_20260718_published.csv")
    rows = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    return {row["arm"]: row for row in rows if row["device"] == "cmf_dimensity7300"}


def one(arm: str) -> Pass:
    threads, mask = ARMS[arm]
    return Pass(Body(cmf()), threads, tuple(mask))


@pytest.mark.parametrize("arm", ["threads_only", "optimized", "efficiency"])
def test_decode_prompt_and_watts_are_within_a_tenth_of_the_measured_phone(arm: str) -> None:
    here, there = one(arm), measured()[arm]
    assert here.decode == pytest.approx(float(there["decode_tok_s"]), rel=0.11)
    assert here.prompt == pytest.approx(float(there["prompt_tok_s"]), rel=0.10)
    assert here.watts == pytest.approx(float(there["power_w"]), rel=0.10)


def test_naive_lies_between_the_measured_sessions() -> None:
    here, there = one("naive"), measured()["naive"]
    record = need_shared("seed_data", "entity", "bench_exports", "july_record_3run_published.csv")
    rows = csv.DictReader(line for line in record.read_text().splitlines() if not line.startswith("#"))
    sessions = [float(row["naive"]) for row in rows if row["model"].startswith("1B Q4_0")]
    assert min(sessions) <= here.decode <= float(there["decode_tok_s"])
    assert here.prompt == pytest.approx(float(there["prompt_tok_s"]), rel=0.10)
    assert here.watts == pytest.approx(float(there["power_w"]), rel=0.10)


def test_eight_threads_decode_about_half_as_fast_as_four() -> None:
    assert 1.7 <= one("threads_only").decode / one("naive").decode <= 2.2


def test_a_session_of_twenty_passes_warms_the_body_as_much_as_the_measured_one() -> None:
    body = Body(cmf())
    for threads, mask in ARMS.values():
        for _ in range(5):
            Pass(body, threads, tuple(mask))
            body.advance(15, Load())
    # The recorded session began at 31 °C and its last arm peaked at a median of 33 °C.
    assert 32.5 <= body.body_c <= 34.0


def test_a_hot_phone_takes_its_fast_cores_down_while_the_thermal_status_stays_low() -> None:
    path = need_shared("seed_data", "entity", "bench_exports", "silent_throttle_0715b_threads_pass3.csv")
    rows = list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))
    lowest_there_khz = min(int(row["cpu4_mhz"]) for row in rows) * 1000
    body = Body(cmf())
    body.body_c = body.chip_c = 38.0
    seen_khz = set()
    load = Load(dict.fromkeys(range(8), 1.0), {}, 10.0)
    for _ in range(1200):
        body.advance(0.1, load)
        seen_khz.add(body.cap_khz["PERF"])
    assert min(seen_khz) == pytest.approx(lowest_there_khz, abs=150_000)
    assert max(seen_khz) == 2_500_000
    assert body.status() <= 1
    assert body.cap_khz["LITTLE"] == 2_000_000


def test_a_throttled_phone_is_slower_and_draws_less() -> None:
    cool = one("optimized")
    body = Body(cmf())
    body.cap_khz["PERF"] = 900_000
    body.chip_c = body.silicon.body.trip_c - 2
    load = Load(dict.fromkeys(range(4, 8), 1.0), {}, 8.0)
    body.advance(0.1, load)
    assert body.power_w < cool.watts
    slow = BenchRun(
        silicon=body.silicon,
        argv=["-m", "m", "-p", "0", "-n", "32", "-r", "1", "-o", "jsonl", "--no-warmup", "-t", "4"],
        folder="/d",
        variants=("android_armv8.0_1",),
        read_model=lambda _: MODEL,
        say=lambda stream, text: lines.append(text) if stream == "o" else None,
        random=Random(1),
    )
    lines: list[str] = []
    while slow.exit_code is None:
        slow.advance(0.05, Surroundings((4, 5, 6, 7), body.silicon.cpus, {"PERF": 900_000, "LITTLE": 2_000_000}))
    assert json.loads(lines[0])["avg_ts"] < 0.6 * cool.decode


def test_the_gauge_repeats_itself_between_refreshes() -> None:
    body = Body(cmf())
    changes, last = [], body.gauge_ua
    for step in range(124):
        busy = 1.0 if step % 2 else 0.4
        body.advance(0.1, Load(dict.fromkeys(range(4, 8), busy), {}, 10.0))
        if body.gauge_ua != last:
            changes.append(step)
            last = body.gauge_ua
    period = body.silicon.battery.gauge_period_s
    assert 5 <= len(changes) <= 12.4 / period + 1
    assert min(b - a for a, b in pairwise(changes)) * 0.1 >= period - 0.1


def test_charge_taken_from_the_counter_is_the_current_over_time() -> None:
    body = Body(cmf())
    before = body.charge_uah
    spent_uas = 0.0
    for _ in range(600):
        body.advance(0.1, Load(dict.fromkeys(range(4, 8), 1.0), {}, 10.0))
        spent_uas += -body.current_ma() * 1000 * 0.1
    assert before - body.charge_uah == pytest.approx(spent_uas / 3600, rel=0.02)


def test_a_charging_phone_is_warmer_and_gains_charge() -> None:
    charging, resting = Body(cmf(), charging=True, plugged=True), Body(cmf())
    for body in (charging, resting):
        body.advance(600, Load())
    assert charging.body_c > resting.body_c + 1
    assert charging.charge_uah > resting.charge_uah


def test_an_idle_phone_cools_to_the_air_it_lies_in() -> None:
    body = Body(cmf())
    body.advance(3600, Load())
    air_c = body.silicon.body.ambient_c
    assert body.body_c == pytest.approx(air_c + body.silicon.body.idle_w * body.silicon.body.body_k_per_w, abs=0.5)
