"""A session as it stands after a minute with a phone, built from the published values: what screens are drawn from."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from entity_tui.device.battery import Battery, ChargeState, CurrentUnit
from entity_tui.device.facts import Facts
from entity_tui.device.identity import Identity
from entity_tui.device.isa import IsaFeatures
from entity_tui.device.live import Live
from entity_tui.device.memory import Memory
from entity_tui.device.sample import Sample
from entity_tui.device.thermal import Thermal
from entity_tui.device.topology import Cluster, Core, Topology
from entity_tui.engine.build import EngineBuild, VariantList
from entity_tui.experiments.live import ArmRow, CellPhase, CurrentCell, FactorRow, GateLine, PairRow, RunLog, RunView
from entity_tui.logbook import Level, LogBook, LogLine
from entity_tui.models.on_device import ModelFile
from entity_tui.session import Session
from entity_tui.transport.base import DeviceState
from entity_tui.transport.discover import DeviceRow

NOON = datetime(2026, 8, 22, 12, 4, 31, tzinfo=UTC)


class StagedLog(LogBook):
    """A log whose clock only advances when a line is added."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON

    def add(self, source: str, text: str, level: Level = Level.INFO) -> LogLine:
        """Append one event, seven seconds after the one before."""
        self._last += 1
        line = LogLine(self._last, self.now, level, source, text)
        self._lines.append(line)
        self.now += timedelta(seconds=7)
        return line


class StagedSession(Session):
    """A session without a device: its view, telemetry, log and run are set by hand, and it remembers what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.log = StagedLog()
        self.asked: list[str] = []
        self.answer = ""
        self.age_s: float | None = None

    @property
    def sample_age_s(self) -> float | None:
        """The age that was set, else that of the newest sample."""
        return super().sample_age_s if self.age_s is None else self.age_s

    async def connect(self, spec: str) -> None:
        """Remember the name."""
        self.asked.append(f"connect {spec}")
        self.set(spec=spec)

    async def watch_devices(self, on_change: object = None) -> None:
        """The rows that were set stay."""

    async def start_bench(self, *, experiment: str = "ablation", confirmed: bool = False, model: str = "") -> str:
        """Remember what was started; the prepared answer is a question the first time."""
        self.asked.append(f"start {experiment} {confirmed} {model}".rstrip())
        if self.answer and not confirmed:
            return self.answer
        self.run = a_run()
        return "started"

    async def stop_run(self, *, now: bool = False) -> None:
        """Remember how it was stopped."""
        self.asked.append(f"stop now={now}")

    def set(self, **changes: object) -> None:
        """Replace parts of the view."""
        self._update(**changes)


def a_facts() -> Facts:
    """A phone of four fast and four slow cores, with dotprod and fp16."""
    cores = [
        Core(cpu, 1 if cpu < 4 else 0, "Cortex-A55" if cpu < 4 else "Cortex-A78", 0x41, 0xD05 if cpu < 4 else 0xD41)
        for cpu in range(8)
    ]
    cores = [
        replace(
            core, max_freq_khz=2_000_000 if core.cpu < 4 else 2_500_000, policy=0 if core.cpu < 4 else 4, online=True
        )
        for core in cores
    ]
    fast = Cluster(0, "PERF", (4, 5, 6, 7), "Cortex-A78", 2_500_000, 1_024, 4, 0)
    slow = Cluster(1, "LITTLE", (0, 1, 2, 3), "Cortex-A55", 2_000_000, 314, 0, 1)
    isa = IsaFeatures(True, True, False, False, False, False, False, False, True, ("asimd", "asimddp"), "cpuinfo")
    return Facts(
        Identity(
            "CMF Phone 1",
            "Nothing",
            "A015",
            "MediaTek Dimensity 7300 (MT6878)",
            "mt6878",
            "android",
            "15",
            35,
            "5.15.148",
        ),
        Topology(tuple(cores), (fast, slow), tuple(range(8)), signal="capacity"),
        replace(isa, architecture="arm64"),
        Battery(
            True,
            82,
            ChargeState.DISCHARGING,
            charging=False,
            current_unit=CurrentUnit.UA,
            temperature_c=34.1,
            outcome="ok",
        ),
        Thermal(status=0),
        Memory(7_600_000, 3_400_000, outcome="ok"),
    )


def an_engine() -> EngineBuild:
    """A llama.cpp build of the official Android archive."""
    return EngineBuild(
        name="llama.cpp",
        build="b11434",
        directory="/data/local/tmp/entity/engine",
        executables=MappingProxyType({"llama-bench": "/data/local/tmp/entity/engine/llama-bench"}),
        variants=("android_armv8.2_1", "android_armv8.2_2"),
        variant_list=VariantList.ANDROID,
    )


def tick_values(second: float) -> dict[str, float | None]:
    """One tick of a phone that decodes on its fast cores from second 20 on."""
    busy = second > 20
    values: dict[str, float | None] = {}
    for cpu in range(8):
        fast = cpu >= 4
        values[f"busy_pct.{cpu}"] = (95.0 + cpu % 3) if busy and fast else 8.0 + cpu
        values[f"mhz.{cpu}"] = 2_500.0 if busy and fast else 1_032.0
        values[f"temp_c.zone.cpu{cpu}"] = (
            45 + 14 * (1 - math.exp(-max(0.0, second - 20) / 15)) if fast else 40.0
        ) + cpu / 8
    values["temp_c.cpu"] = values["temp_c.zone.cpu7"]
    values["temp_c.skin"] = 36.0 + 1.2 * (1 - math.exp(-second / 40))
    values["temp_c.battery"] = 34.1
    power = (3.6 if busy else 1.1) + 0.2 * math.sin(second // 1 * 0.9)
    values["power_w"] = power
    return values


def live_phone(seconds: float = 60.0, *, hz: float = 5.0) -> StagedSession:
    """A connected phone with a minute of samples, one of them late, and a log."""
    session = StagedSession()
    session.devices = picker_rows()
    session.set(
        spec="adb:00157253F0042",
        name="CMF Phone 1",
        state=DeviceState.READY,
        words="ready",
        kind="adb",
        link_ms=38.0,
        hz=hz,
        facts=a_facts(),
        engines=(an_engine(),),
        models=(
            ModelFile("/data/local/tmp/entity/models/qwen2.5-0.5b-q8_0.gguf", 531_000_000, "qwen2.5-0.5b-q8_0.gguf"),
        ),
        searched=True,
        loaded_variant="android_armv8.2_2",
        loaded_at="12:04:31",
    )
    grow(session, 0.0, seconds)
    session.log.add("device", "load_backend: loaded CPU backend libggml-cpu-android_armv8.2_2.so")
    session.log.add("sampler", "loop 200 ms, cost on device 0.4 % of one core (budget 1 %)")
    session.log.warning("power", "fuel gauge updates once a second: 4 of 5 samples repeat the last value")
    session.log.warning("adb", "one sample was 612 ms late; graph shows a gap, nothing was interpolated")
    return session


def grow(session: StagedSession, begin_s: float, end_s: float) -> None:
    """More samples, from `begin_s` to `end_s` on the device's clock; second 41 has none."""
    hz = session.view.hz or 5.0
    for n in range(int(begin_s * hz), int(end_s * hz)):
        second = n / hz
        if not 41 <= second < 43:
            session.telemetry.append(second, tick_values(second))
    session.set(
        sample=Sample(int(end_s * hz), end_s, battery_pct=82, battery_status="Discharging", plugged=False),
        live=Live(tick_values(end_s), "", 0, {}, False),
        sample_at=time.monotonic(),
    )
    session.age_s = 0.1


def picker_rows() -> tuple[DeviceRow, ...]:
    """One device in each state that needs different words."""
    return (
        DeviceRow("CMF Phone 1", "USB", "00157253F0042", DeviceState.READY, "adb:00157253F0042"),
        DeviceRow("Pixel 8", "Wi-Fi", "192.0.2.14:37211", DeviceState.CONNECTING, "adb:192.0.2.14:37211"),
        DeviceRow("A015", "USB", "9ab31c0ff", DeviceState.UNAUTHORIZED, "adb:9ab31c0ff"),
        DeviceRow("termux", "SSH", "u0_a214@192.0.2.20:8022", DeviceState.OFFLINE, "ssh:u0_a214@192.0.2.20:8022"),
        DeviceRow("this computer", "this computer", "no phone needed", DeviceState.READY, "local"),
        DeviceRow("demo", "demo", "no phone needed", DeviceState.READY, "demo:cmf-phone-1", simulated=True),
    )


def a_run() -> RunView:
    """A run of five arms in its last block."""
    arms = (
        ArmRow("naive", "naive", 8, 8, "all", "all", 3, 3, 13.8, 0.3, 287, 6, 1_856, 3.91, 3.53, "", "done", "", False),
        ArmRow(
            "threads_only",
            "threads_only",
            4,
            4,
            "all",
            "all",
            3,
            3,
            26.3,
            1.1,
            489,
            9,
            1_085,
            3.78,
            6.95,
            "",
            "done",
            "",
            False,
        ),
        ArmRow("optimized", "optimized", 4, 4, "4-7", "4-7", 2, 3, 27.6, 0.2, 506, 4, 1_048, 3.58, 7.71, "", "running"),
        ArmRow("efficiency", "efficiency", 4, 4, "0-3", "0-3", 2, 3, 22.5, 0.4, 330, 5, 1_596, 3.40, 6.62),
        ArmRow("naive_aa", "naive_aa", 8, 8, "all", "all", 2, 3, 13.9, 0.4, 288, 5, 1_850, 3.90, 3.56),
    )
    gates = (
        GateLine("battery", True, "battery 82 % discharging"),
        GateLine("skin", True, "skin 37.2 ≤ 38.0 °C"),
        GateLine("status", True, "throttle NONE"),
        GateLine("screen", None, "screen off"),
    )
    factors = (
        FactorRow("thread count", "naive → threads_only  8 → 4", 1.91, 1.79, 2.02, "faster", True),
        FactorRow("affinity", "threads_only → optimized  all → 4-7", 1.05, 1.00, 1.10, "undecided", True),
        FactorRow("cluster", "optimized → efficiency  4-7 → 0-3", 0.82, 0.80, 0.84, "slower", True),
        FactorRow("A/A check", "naive → naive_aa  nothing", 1.01, 0.98, 1.03),
    )
    return RunView(
        "20260822-121102",
        "ablation, 3 runs",
        "ablation",
        arms=arms,
        gates=gates,
        blocks_done=2,
        blocks_planned=3,
        cells_done=12,
        cells_planned=15,
        eta_s=160.0,
        current=CurrentCell("optimized", 3, 3, CellPhase.DECODE, temperature_c=37.3, target_c=38.0),
        readback="4 of 4 threads on f0, as asked",
        factors=factors,
        verdicts=("naive → optimized = ×2.00.  Thread count explains 93 % of it (log scale).",),
        diagnostics=("A/A ×1.01, its widest interval holds 1.",),
        log=(
            RunLog("2026-08-22T12:10:21+00:00", "warning", "naive block 3 ran 0.4 °C warmer than block 1, kept"),
            RunLog("2026-08-22T12:11:02+00:00", "info", "block 3  optimized started, skin 37.3 °C"),
        ),
        model_name="Qwen2.5 0.5B Q8_0  531 MB",
        engine_name="llama.cpp b11434",
        n_prompt=512,
        n_gen=128,
        seed=4711,
        sequence=7,
    )


def a_placement() -> RunView:
    """A finished comparison of three placements."""
    pairs = (
        PairRow("scheduler", "scheduler", 6, 18.1, 17.2, 18.6, None, None, None, 127, 4.71, 38, "baseline", "ff", True),
        PairRow(
            "perf_cores", "scheduler", 6, 18.2, 18.1, 18.3, 0.007, -0.006, 0.020, 128, 4.80, 0, "equivalent", "f0", True
        ),
        PairRow("little_only", "scheduler", 4, 6.4, 6.3, 6.4, -0.646, -0.653, -0.639, 41, 3.02, 0, "slower", "f", True),
    )
    masks = {"scheduler": "all", "perf_cores": "4-7", "little_only": "0-3"}
    arms = tuple(
        ArmRow(arm, arm.replace("_", " "), 4, 4, mask, mask, 6, 6, word="done", provisional=False)
        for arm, mask in masks.items()
    )
    return replace(
        a_run(),
        title="placement, 6 blocks",
        experiment="placement",
        arms=arms,
        pairs=pairs,
        factors=(),
        current=None,
        cells_done=18,
        cells_planned=18,
        blocks_done=6,
        blocks_planned=6,
        finished=True,
        outcome="done",
        verdicts=(
            "Pinning is equivalent to the scheduler on this phone.",
            "It removes the jitter: IQR 1.4 → 0.2 tok/s.",
        ),
        diagnostics=("A/A holds. Drift +0.3 % a block.",),
        model_name="Llama 3.2 1B Q4_0",
    )


@contextmanager
def universal_time() -> Iterator[None]:
    """Local time is UTC while a page is compared with its snapshot."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
