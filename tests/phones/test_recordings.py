"""Every recorded dump is read by the parser of its kind; what to expect was written by hand from the raw text."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable

import pytest

from entity_tui.analysis.counters import parse_counters
from entity_tui.device.battery import ChargeState, CurrentUnit, Standing
from entity_tui.device.battery_dump import parse_battery_dump, parse_battery_history
from entity_tui.device.battery_history import parse_battery_stats, parse_process_memory
from entity_tui.device.battery_read import read_battery
from entity_tui.device.board_monitor import count_undervoltage, parse_board_monitor, parse_core_events
from entity_tui.device.energy_rails import parse_channel_list, parse_energy_value
from entity_tui.device.gauge import refresh
from entity_tui.device.kernel_texts import (
    parse_key_values,
    parse_policy_caps,
    parse_refusals,
    parse_top_speeds,
    parse_uptime,
    parse_vmstat,
)
from entity_tui.device.mac_readings import parse_pmset_therm, parse_powermetrics, parse_sudoless
from entity_tui.device.memory_read import parse_meminfo
from entity_tui.device.power_supply import parse_tlp, parse_uevent
from entity_tui.device.power_units import counter_unit, resolve_sign
from entity_tui.device.probe_text import outcome_of
from entity_tui.device.sample import parse_cpu_times
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.telemetry_table import parse_telemetry_table
from entity_tui.device.termux_battery import parse_termux_battery
from entity_tui.device.thermal import Domain, SensorState, Thermal
from entity_tui.device.thermal_read import read_thermal
from entity_tui.device.thermal_service import parse_thermal_service
from entity_tui.device.thermal_zones import parse_zone_listing
from entity_tui.device.throttle import ThrottleSign, judge_cap
from entity_tui.transport.adb_host import parse_devices
from entity_tui.transport.adb_wire import error_of
from entity_tui.transport.base import DeviceState, LinkLost, NotReady
from tests.fixtures.tools import SHARED, need_shared

FOLDER = SHARED / "recordings" / "android"
CHECKS: dict[str, Callable[[str], None]] = {}


def dump(name: str) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
    """Registers the hand-written expectation of one recording."""

    def register(check: Callable[[str], None]) -> Callable[[str], None]:
        CHECKS[name] = check
        return check

    return register


def index() -> list[str]:
    """The recordings listed, empty where the companion data is absent."""
    path = FOLDER / "index.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row["file"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", index() or ["absent"])
def test_recording(name: str, counts: Counter[str]) -> None:
    path = need_shared("recordings", "android", *name.split("/"))
    # newline="" keeps the carriage returns some of them are there for.
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        text = file.read()
    CHECKS[name](text)
    counts["recordings read, with expectations by hand"] += 1


def command(line: str, text: str) -> Snapshot:
    """A snapshot of one command's output."""
    return Snapshot(commands={line: Reading(line, Outcome.OK, text)})


def thermal(text: str) -> Thermal:
    """The thermal facts of one `dumpsys thermalservice`."""
    return read_thermal(command("dumpsys thermalservice", text))


def value(facts: Thermal, name: str) -> float | None:
    """A sensor's usable temperature by name."""
    return next(sensor.celsius for sensor in facts.sensors if sensor.name == name)


def state(facts: Thermal, name: str) -> SensorState:
    """A sensor's state by name."""
    return next(sensor.state for sensor in facts.sensors if sensor.name == name)


# --- adb's own words


@dump("adb_errors/device-not-found.txt")
def _device_not_found(text: str) -> None:
    error = error_of(text.removeprefix("error: "))
    assert isinstance(error, NotReady)
    assert error.state is DeviceState.ABSENT


@dump("adb_errors/devices-l-tls-mdns.txt")
def _tls_serial(text: str) -> None:
    (row,) = parse_devices(text)
    assert row.serial == "adb-ABCD1234._adb-tls-connect._tcp"
    assert row.state is DeviceState.READY
    assert row.model == "ALT NX1"


@dump("adb_errors/push-transport-eof.txt")
def _push_eof(text: str) -> None:
    first, second = text.splitlines()
    offline = error_of(first)
    assert isinstance(offline, NotReady)
    assert offline.state is DeviceState.OFFLINE
    assert isinstance(error_of(second), LinkLost)


@dump("adb_errors/silent-zero-rows.txt")
def _zero_rows(text: str) -> None:
    # Empty output became 0.0 seconds of uptime there; here an empty text is no uptime.
    assert "zero boottime" in text
    assert parse_uptime("") is None


@dump("adb_errors/unauthorized.txt")
def _unauthorized(text: str) -> None:
    error = error_of(text)
    assert isinstance(error, NotReady)
    assert error.state is DeviceState.UNAUTHORIZED


@dump("adb_errors/wa-suspend-exit-codes.txt")
def _glued_exit_codes(text: str) -> None:
    assert "969696" in text
    assert outcome_of("", status=969696, command=True) is not Outcome.OK


# --- batteries


@dump("battery/embedded-board-voltage13-ppmy.txt")
def _whole_volts(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.voltage_mv == 13000
    assert battery.temperature_c == 26.0
    assert battery.plugged_by == ("ac",)
    assert any("too coarse" in word for word in battery.evidence)


@dump("battery/emulator-a5-appium.txt")
def _emulator(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.simulated_values
    assert battery.temperature_c is None
    assert battery.voltage_mv is None
    assert battery.level_pct == 89.0


@dump("battery/honor-usb-charging-a.txt")
def _honor(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.charge_counter_uah == 943000
    assert battery.voltage_mv == 3890
    assert battery.temperature_c == 27.0
    assert battery.current_raw is None


@dump("battery/honor-usb-full-counter1000.txt")
def _honor_full(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.status is ChargeState.FULL
    assert battery.charging is True
    assert battery.charge_counter_uah == 1000


@dump("battery/nexus5-hammerhead-crlf-skia.txt")
def _nexus5(text: str) -> None:
    crlf = text.replace("\r\n", "\n").replace("\n", "\r\n")
    for form in (text, crlf):
        battery = read_battery(command("dumpsys battery", form))
        assert battery.temperature_c == 18.0
        assert battery.voltage_mv == 4189
        assert battery.plugged_by == ("usb",)


@dump("battery/nexus7-razor-skia.txt")
def _nexus7(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.voltage_mv == 3997
    assert battery.temperature_c == 24.8
    assert battery.charge_counter_uah == 1928561


@dump("battery/oppo-two-sections-full.txt")
def _oppo(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.voltage_mv == 3914  # the charger's 4576 is not the battery's
    assert battery.current_raw == 121
    assert not battery.frozen
    assert parse_battery_dump(text.replace("UpdatesStopped: false", "UpdatesStopped: true")).frozen


@dump("battery/pixel11pro-full-ac-sysfs-pair.txt")
def _pixel11(text: str) -> None:
    current, voltage = text.splitlines()[1:3]
    files = {"current_now": current, "voltage_now": voltage, "type": "Battery"}
    root = "/sys/class/power_supply/battery/"
    snapshot = Snapshot(
        files={root + name: Reading(root + name, Outcome.OK, raw) for name, raw in files.items()},
        commands={"dumpsys battery": Reading("dumpsys battery", Outcome.OK, text)},
    )
    battery = read_battery(snapshot)
    assert battery.current_raw == -11718
    assert battery.voltage_mv == 4446
    assert battery.current_unit is CurrentUnit.UA
    assert battery.unit is Standing.ASSUMED
    assert battery.status is ChargeState.NOT_CHARGING
    assert battery.charging is True  # on AC, although it drains: power stays hidden
    assert battery.temperature_c == 35.8


@dump("battery/samsung-charging-ma-a8.txt")
def _samsung_a8(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.current_raw == 321
    assert battery.current_unit is CurrentUnit.MA
    assert battery.current_ua == 321000
    assert battery.charge_counter_uah is None  # 0 is unsupported, not empty
    assert battery.temperature_c == 32.6  # mSavedBatteryMaxTemp 490 is a record


@dump("battery/samsung-s23-broadcast-history-ma.txt")
def _s23_history(text: str) -> None:
    rows = parse_battery_history(text)
    assert [row.current_raw for row in rows] == [-1503, -1990, -1337, -839]
    assert rows[0].charge_counter_uah == 2163750
    assert read_battery(command("dumpsys battery", text)).voltage_mv is None  # history is no reading


@dump("battery/samsung-s23-usb-ma.txt")
def _s23(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.voltage_mv == 3908  # not 0, 3932 or 3841
    assert battery.current_raw == 559  # not -257 of the log buffer
    assert battery.current_unit is CurrentUnit.MA
    assert battery.unit is Standing.ASSUMED
    assert battery.sign is Standing.UNVERIFIED
    assert battery.temperature_c == 42.2


@dump("battery/skia-charging-ac-94.txt")
def _skia94(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.level_pct == 94.0
    assert battery.temperature_c == 28.1


@dump("battery/skia-charging-ac-low9.txt")
def _skia9(text: str) -> None:
    battery = read_battery(command("dumpsys battery", text))
    assert battery.level_pct == 9.0
    assert battery.temperature_c is None
    assert battery.technology == ""


@dump("batterystats/samsung-zflip4-charged-a16.txt")
def _zflip(text: str) -> None:
    stats = parse_battery_stats(text)
    assert stats.capacity_mah == 3595
    assert stats.learned_capacity_mah == 3700
    assert stats.discharge_mah == 109.0
    assert stats.computed_drain_mah == 132.0
    assert stats.actual_drain_mah == (132.0, 132.0)
    assert stats.on_battery is True


# --- boards and Macs


@dump("linux_sbc/khadas-vim3-core-kill-dmesg.txt")
def _vim3(text: str) -> None:
    events = parse_core_events(text)
    assert [(event.cpu, event.online) for event in events] == [(1, False), (3, False), (1, True), (3, True)]
    assert events[0].t_s == 2877.115856
    assert count_undervoltage(text) >= 4


@dump("linux_sbc/sbc-biglittle-dcin.txt")
def _rock5(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert monitor.domains == ("big", "LITTLE")
    assert monitor.rows[0].mhz == (2400, 1800)
    assert monitor.rows[0].celsius == 50.8


@dump("linux_sbc/sbc-cpu-na.txt")
def _espressobin(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert len(monitor.rows) == 11
    assert all(row.celsius is None and row.celsius_raw == "-75000" for row in monitor.rows)
    assert all(row.mhz == () for row in monitor.rows)


@dump("linux_sbc/sbc-five-clusters.txt")
def _orion(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert monitor.domains == ("cpu0", "cpu1", "cpu5", "cpu7", "cpu9")
    assert monitor.rows[0].mhz == (2600, 1800, 2300, 2200, 2500)
    assert monitor.rows[0].celsius == 32.0


@dump("linux_sbc/sbc-rpi-fakereal-pmic-mw.txt")
def _pi5(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert monitor.kernel_and_firmware
    assert monitor.rows[0].wall_mw is None  # the first 0 is a meter that has not measured
    assert monitor.rows[1].wall_mw == 4030
    assert monitor.rows[1].pmic_w == 4.9


@dump("linux_sbc/sbc-rpi-fakereal-vcore-only.txt")
def _pi4(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert monitor.kernel_and_firmware
    assert monitor.rows[0].mhz == (1500, 1500)
    assert monitor.rows[0].celsius == 68.7


@dump("linux_sbc/sbc-throttling-heavy.txt")
def _n305(text: str) -> None:
    monitor = parse_board_monitor(text)
    assert monitor.rows[2].mhz == (1900,)
    assert monitor.rows[-1].mhz == (1134,)
    assert monitor.rows[-1].celsius == 94.0  # heat is flat while the clock sinks


@dump("macos/macmon-json-m-series.txt")
def _macmon(text: str) -> None:
    sample = parse_sudoless(text)
    assert sample.cpu_temp_c == 43.73614
    assert sample.memory_total_bytes == 25769803776
    assert sample.system_power_w == 5.876533


@dump("macos/pmset-therm-apple-silicon.txt")
def _pmset(text: str) -> None:
    assert parse_pmset_therm(text) is None


@dump("macos/powermetrics-m-clusters.txt")
def _powermetrics(text: str) -> None:
    metrics = parse_powermetrics(text)
    assert metrics.cluster_mhz == {"M0": 1600.0, "M1": 1407.0, "P": 3844.0}
    assert metrics.power_mw["GPU"] == (128, 124)
    assert metrics.power_mw["CPU"] == (5267,)
    assert metrics.pressure == "Nominal"


# --- rails and power supplies


@dump("odpm/pixel6-class-angle.txt")
def _odpm(text: str) -> None:
    reading = parse_energy_value(text)
    assert reading.t_ms == 16086645
    assert len(reading.rails) == 8
    assert reading.rails[2].energy_uws == 0  # a rail that used nothing
    assert reading.rails[3].name == "S2M_VDD_CPUCL2"
    assert not reading.gap


@dump("odpm/pixel6-class-device1-truncated.txt")
def _odpm_cut(text: str) -> None:
    reading = parse_energy_value(text)
    assert reading.t_ms == 359458
    assert reading.rails[0].name == "VSYS_PWR_WLAN_BT"
    assert len(reading.rails) == 6


@dump("odpm/powerstats-channel-list.txt")
def _channels(text: str) -> None:
    rows = parse_channel_list(text)
    assert rows[0] == (0, "S10M_VDD_TPU", "TPU")
    assert rows[-1] == (10, "S9S_VDD_AOC", "AOC")


@dump("power_supply/linux-laptop-bat0-discharging.txt")
def _bat0(text: str) -> None:
    uevent = parse_uevent(text)
    assert uevent.number("VOLTAGE_NOW") == 12600000
    assert uevent.number("CURRENT_NOW") == 756000
    root = "/sys/class/power_supply/BAT0/uevent"
    battery = read_battery(Snapshot(files={root: Reading(root, Outcome.OK, text)}))
    assert battery.voltage_mv == 12600
    assert battery.status is ChargeState.DISCHARGING
    assert battery.discharge_sign is None  # a magnitude has no sign


@dump("power_supply/linux-laptop-energy-family.txt")
def _tlp(text: str) -> None:
    rows = parse_tlp(text)
    assert rows["energy_now"] == ("65440", "mWh")
    assert rows["status"] == ("Not charging", "")
    assert "current_now" not in rows


@dump("power_supply/oneplus7-merged-uevents-a13.txt")
def _oneplus7(text: str) -> None:
    uevent = parse_uevent(text)
    assert uevent.doubles["CHARGE_COUNTER"] == ("2535012", "2812000")
    assert uevent.number("CHARGE_COUNTER") is None
    assert uevent.number("CALIBRATE") is None  # -22 is an error
    assert uevent.number("CAPACITY") == 76
    assert parse_battery_dump(text).level == 77


@dump("power_supply/samsung-s26-a16-all-denied.txt")
def _s26(text: str) -> None:
    assert parse_uevent(text).values == {}
    path = "/sys/class/power_supply/battery/current_now"
    denied = Reading(path, Outcome.DENIED, detail=f"cat: {path}: Permission denied")
    battery = read_battery(Snapshot(files={path: denied}))
    assert battery.outcome == "denied"
    assert battery.current_raw is None


@dump("power_supply/xiaomi-mi6-sagit-bms-discharging.txt")
def _mi6(text: str) -> None:
    root = "/sys/class/power_supply/bms/uevent"
    battery = read_battery(Snapshot(files={root: Reading(root, Outcome.OK, text)}))
    assert battery.current_raw == 440917
    assert battery.voltage_mv == 3697
    assert battery.level_pct == 30.0  # CAPACITY_RAW 77 is of 255
    assert battery.temperature_c == 32.0
    assert any("discharging against its open-circuit" in word for word in battery.evidence)


@dump("power_supply/xiaomi-mi8-charging-negative-a9.txt")
def _mi8(text: str) -> None:
    uevent = parse_uevent(text)
    assert uevent.number("CURRENT_NOW") == -326171
    assert uevent.number("VOLTAGE_QNOVO") is None
    assert uevent.values["STATUS"] == "Charging"


# --- kernel texts


@dump("proc_sys/cpufreq-realme-rmx5020-clamped-preflight.txt")
def _realme(text: str) -> None:
    report = parse_key_values(text)
    verdict = judge_cap("policy6", int(report["freq_policy6_max"]), int(report["cpuinfo_max_policy6"]))
    assert verdict.sign is ThrottleSign.CAPPED
    assert verdict.share == pytest.approx(0.425)
    assert report["freq_gate"] == "failed"


@dump("proc_sys/cpufreq-samsung-s26-10core-a16.txt")
def _s26_clocks(text: str) -> None:
    speeds = parse_top_speeds(text)
    assert len(speeds) == 10
    assert (speeds[0], speeds[6], speeds[9]) == (2764000, 3264000, 3801000)


@dump("proc_sys/dumpsys-meminfo-samsung-s23-game.txt")
def _game(text: str) -> None:
    memory = parse_process_memory(text)
    assert memory.pid == 18345
    assert memory.total_pss_kb == 3229008
    assert memory.total_rss_kb == 1683588  # below PSS, which adds swap
    assert memory.swap_pss_kb == 1601537
    assert memory.native_heap_pss_kb == 468807


@dump("proc_sys/meminfo-pixel6a-6gb-a16.txt")
def _meminfo(text: str) -> None:
    values = parse_meminfo(text)
    assert values["MemAvailable"] == 2449532
    assert values["MemTotal"] == 5723624
    assert "SwapTotal" not in values


@dump("proc_sys/misc-samsung-s26-uptime-a16.txt")
def _uptime(text: str) -> None:
    line = next(line for line in text.splitlines() if line.startswith("358526"))
    assert parse_uptime(line) == (358526.70, 1873114.47)  # idle of ten cores exceeds the time


@dump("proc_sys/stat-perfetto-8core.txt")
def _stat(text: str) -> None:
    times = parse_cpu_times(text)
    assert sorted(times) == list(range(8))


@dump("proc_sys/vmstat-perfetto-vmstat.txt")
def _vmstat(text: str) -> None:
    values = parse_vmstat(text)
    assert values["nr_free_pages"] == 16449
    assert values["nr_writeback"] == 0
    assert values["pswpin"] == 185308


@dump("selinux/app-batteryinfo-search.txt")
def _avc_app(text: str) -> None:
    (refusal,) = parse_refusals(text)
    assert refusal.permissions == ("search",)
    assert (refusal.source_domain, refusal.target_type) == ("untrusted_app", "sysfs_batteryinfo")
    assert (refusal.name, refusal.object_class) == ("battery", "dir")


@dump("selinux/huawei-shell-sysfs-power-search.txt")
def _avc_huawei(text: str) -> None:
    (refusal,) = parse_refusals(text)
    assert (refusal.source_domain, refusal.target_type, refusal.name) == ("shell", "sysfs_power", "USB")


@dump("selinux/shell-getprop-vendor-prop-silent.txt")
def _avc_prop(text: str) -> None:
    (refusal,) = parse_refusals(text)
    assert (refusal.source_domain, refusal.target_type) == ("shell", "vendor_audio_prop")


# --- what shells answer


@dump("shell/mksh-32bit-overflow.txt")
def _overflow(text: str) -> None:
    # The phone's shell wraps at 32 bits: sums are made here, where they are right.
    assert text.splitlines()[1] == "-1148884789"
    assert 949244217 + 6491805586 == 7441049803


@dump("shell/termux-android-o-proc-stat.txt")
def _proc_stat(text: str) -> None:
    for line in text.splitlines():
        assert outcome_of(line, status=1) is Outcome.DENIED


@dump("shell/termux-dumpsys-permission-denial.txt")
def _dump_denied(text: str) -> None:
    denial = text.splitlines()[1]
    assert outcome_of(denial, status=0, command=True) is Outcome.DENIED
    assert thermal(denial).service_outcome == "denied"
    assert thermal(denial).status is None


@dump("shell/termux-xiaomi-htop-strace.txt")
def _strace(text: str) -> None:
    assert outcome_of(text.splitlines()[0], status=1) is Outcome.DENIED


@dump("shell/userland-s9plus-a8.txt")
def _userland(text: str) -> None:
    assert outcome_of(text.splitlines()[1], status=1) is Outcome.DENIED


# --- counters


@dump("simpleperf/aosp-doc-old-format-100pct.txt")
def _counters_old(text: str) -> None:
    report = parse_counters(text)
    assert report.total("cpu-cycles") == 1320496145
    assert not report.scaled


@dump("simpleperf/mid-format-runtime-enabled.txt")
def _counters_mid(text: str) -> None:
    report = parse_counters(text)
    assert report.total("cache-misses") == 31985983
    assert report.seconds == 1.001893


@dump("simpleperf/new-format-interval.txt")
def _counters_new(text: str) -> None:
    report = parse_counters(text)
    assert report.total("instructions") == 4667866
    assert not report.complete


@dump("simpleperf/old-format-12pct.txt")
def _counters_scaled(text: str) -> None:
    report = parse_counters(text)
    assert report.scaled
    assert report.lowest_share == pytest.approx(0.12)


@dump("simpleperf/realme-rmx5020-control-tg-t2-a75-simpleperf-b0.txt")
def _counters_realme(text: str) -> None:
    report = parse_counters(text)
    assert report.cpus == (6, 7)
    assert report.total("cpu-cycles", [6]) == 179701187670
    assert report.seconds == 225.363262


@dump("simpleperf/runas-not-followed.txt")
def _counters_run_as(text: str) -> None:
    followed, lost = text.split("$ simpleperf stat")[1:3]
    assert parse_counters(followed).total("cpu-cycles") == 18805994
    assert parse_counters(lost).total("cpu-cycles") == 85303


# --- Termux


@dump("termux_battery/pixelbook-zero-temp.txt")
def _pixelbook(text: str) -> None:
    battery = parse_termux_battery(text)
    assert battery.percentage == 71
    assert battery.temperature_c is None  # 0.0 with health UNKNOWN is no sensor
    assert battery.current_raw is None


@dump("termux_battery/rescaled-ma-device-charging-tablet.txt")
def _tablet(text: str) -> None:
    battery = parse_termux_battery(text)
    assert battery.current_ma_device is True
    assert battery.current_ua == 470000
    assert battery.temperature_c == 29.5  # degrees already
    assert battery.voltage_raw == 3868


@dump("termux_battery/rescaled-ma-device-usb.txt")
def _rounded(text: str) -> None:
    battery = parse_termux_battery(text)
    assert battery.technology == ""
    assert battery.current_ma_device is False  # both values agree: µA
    assert battery.current_ua == 553000


@dump("termux_battery/unplugged-ma.txt")
def _unplugged_ma(text: str) -> None:
    battery = parse_termux_battery(text)
    assert battery.current_raw == -394
    assert battery.current_ua is None  # one small value decides nothing
    facts = read_battery(command("termux-battery-status", text))
    assert facts.unit is Standing.UNVERIFIED
    assert facts.plugged is False


@dump("termux_battery/unplugged-notcharging-positive.txt")
def _not_charging(text: str) -> None:
    facts = read_battery(command("termux-battery-status", text))
    assert facts.status is ChargeState.NOT_CHARGING
    assert facts.charging is False
    assert facts.current_raw == 232
    assert facts.discharge_sign is None


@dump("termux_battery/unplugged-positive-microamp.txt")
def _positive(text: str) -> None:
    battery = parse_termux_battery(text)
    assert battery.current_raw == 361816
    assert battery.status is ChargeState.DISCHARGING


# --- thermal zones


@dump("thermal_zone/imx6-eagain.txt")
def _eagain(text: str) -> None:
    complaint = text.splitlines()[1]
    assert outcome_of(complaint, status=1) is Outcome.TRANSIENT
    path = "/sys/class/thermal/thermal_zone0/temp"
    facts = read_thermal(Snapshot(files={path: Reading(path, Outcome.TRANSIENT, detail=complaint)}))
    assert facts.zones_outcome == "transient"
    assert facts.sensors[0].state is SensorState.TRANSIENT
    assert facts.sensors[0].celsius is None


@dump("thermal_zone/linux-laptop-enodata.txt")
def _laptop(text: str) -> None:
    sensors = {sensor.name: sensor for sensor in parse_zone_listing(text)}
    assert sensors["x86_pkg_temp"].celsius == 44.0
    assert sensors["x86_pkg_temp"].domain is Domain.CPU
    assert sensors["INT3400 Thermal"].state is SensorState.NOT_TEMPERATURE
    assert sensors["iwlwifi_1"].state is SensorState.TRANSIENT


@dump("thermal_zone/retroid-pocket5-sm8250-full.txt")
def _retroid(text: str) -> None:
    sensors = {sensor.name: sensor for sensor in parse_zone_listing(text)}
    assert sensors["cpu-1-1-usr"].celsius == pytest.approx(34.2)
    assert sensors["soc"].state is SensorState.NOT_TEMPERATURE  # percent of charge
    assert sensors["pm8150b-ibat-lvl0"].state is SensorState.NOT_TEMPERATURE
    assert sensors["pm8150b-vbat-lvl0"].state is SensorState.NOT_TEMPERATURE
    assert sensors["camera-therm-usr"].state is SensorState.SENTINEL
    assert sensors["gpu-skin-avg-step"].state is SensorState.NOT_TEMPERATURE
    assert sensors["skin-therm-usr"].domain is Domain.SKIN
    assert sensors["battery"].celsius == 25.5


@dump("thermal_zone/samsung-s25ultra-termux-68zones-load.txt")
def _s25(text: str) -> None:
    assert "68 zones" in text
    root = "/sys/class/thermal/thermal_zone19"
    hot = Snapshot(
        files={
            f"{root}/type": Reading("", Outcome.OK, "cpu-1-1-1"),
            f"{root}/temp": Reading("", Outcome.OK, "104200"),
        }
    )
    hottest = read_thermal(hot).hottest(Domain.CPU)
    assert hottest is not None
    assert hottest.celsius == pytest.approx(104.2)  # real: a core's limit is not the skin's


@dump("thermal_zone/sony-kugo-types.txt")
def _kugo(text: str) -> None:
    sensors = parse_zone_listing(text)
    assert (sensors[0].name, sensors[0].domain) == ("bms", Domain.BOARD)  # zone 0 is not the CPU
    assert (sensors[1].name, sensors[1].domain) == ("battery", Domain.BATTERY)
    assert all(sensor.celsius is None for sensor in sensors)


@dump("thermal_zone/sony-lilac-types.txt")
def _lilac(text: str) -> None:
    sensors = {sensor.index: sensor for sensor in parse_zone_listing(text)}
    assert sensors[0].name == "battery"
    assert sensors[16].name == "tsens_tz_sensor7"
    assert 13 not in sensors


# --- the thermal service


@dump("thermalservice/oppo-a37-los20-pmic-skin.txt")
def _oppo_a37(text: str) -> None:
    parsed = parse_thermal_service(text)
    assert parsed.status == 0
    assert parsed.live == ()  # notes without the live header prove nothing
    assert {sensor.name: sensor.domain for sensor in parsed.cached}["pm8916_tz"] is Domain.BOARD
    assert parsed.thresholds["pm8916_tz"][2] == 55.0


@dump("thermalservice/pixel3a-class-sdm670-skia.txt")
def _pixel3a(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "cpu0-gold-usr") == pytest.approx(33.8, abs=0.01)  # cached says 46.7
    assert value(facts, "mb-therm-monitor") == pytest.approx(30.147, abs=0.01)
    hottest = facts.hottest(Domain.CPU)
    assert hottest is not None
    assert (hottest.name, hottest.celsius) == ("cpu1-silver-usr", 44.1)


@dump("thermalservice/pixel6-class-tensor-bcl-skia.txt")
def _pixel6(text: str) -> None:
    facts = thermal(text)
    assert state(facts, "ocp_gpu") is SensorState.NOT_TEMPERATURE
    assert state(facts, "vdroop1") is SensorState.NOT_TEMPERATURE
    assert state(facts, "soc") is SensorState.NOT_TEMPERATURE
    assert state(facts, "battery_cycle") is SensorState.NOT_TEMPERATURE
    assert state(facts, "USB2-MINUS-USB") is SensorState.NOT_TEMPERATURE
    assert value(facts, "BIG") == pytest.approx(26.0, abs=0.01)  # cached says 61
    hottest = facts.hottest(Domain.CPU)
    assert hottest is not None
    assert hottest.celsius == pytest.approx(27.0, abs=0.01)
    assert facts.hottest(Domain.NPU).name == "TPU"  # type: ignore[union-attr]


@dump("thermalservice/pixel8a-excerpt-a17.txt")
def _pixel8a(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "LITTLE") == pytest.approx(46.0, abs=0.01)
    assert state(facts, "VIRTUAL-USB-UI") is SensorState.SENTINEL
    assert state(facts, "USB-MINUS-CHARGER") is SensorState.NOT_TEMPERATURE
    assert facts.hal_name.startswith("ThermalHAL AIDL 3")


@dump("thermalservice/poco-2412dpc0ag-mtk-a16.txt")
def _poco(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "SOC") == 46.2
    assert value(facts, "CPU") == 44.181
    assert value(facts, "SKIN") == 35.1


@dump("thermalservice/qcom-6core-nsp-bort.txt")
def _nsp(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "nsp0") == 34.3
    assert state(facts, "vbat") is SensorState.NOT_TEMPERATURE
    assert state(facts, "socd") is SensorState.NOT_TEMPERATURE
    assert facts.thresholds["skin"][3] == 40.0
    assert facts.thresholds["skin"][0] is None
    assert len(facts.cooling) == 12


@dump("thermalservice/qcom-8core-throttled-bort.txt")
def _throttled(text: str) -> None:
    facts = thermal(text)
    assert facts.status == 2
    assert facts.status_name == "MODERATE"
    assert {device.name: device.state for device in facts.cooling}["thermal-cpufreq-6"] == 11
    assert value(facts, "skin") == 44.637
    assert facts.thresholds["skin"][2] == 45.0


@dump("thermalservice/qcom-los21-hal-not-ready.txt")
def _no_hal(text: str) -> None:
    facts = thermal(text)
    assert facts.hal_ready is False
    assert facts.status == 0
    assert facts.sensors == ()
    assert any("proves nothing" in note for note in facts.notes)


@dump("thermalservice/samsung-a52-5g-a12.txt")
def _a52(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "AP") == 25.6
    assert state(facts, "SUBBAT") is SensorState.SENTINEL  # 0.0 is no sensor
    battery = facts.hottest(Domain.BATTERY)
    assert battery is not None
    assert battery.celsius == 23.8


@dump("thermalservice/samsung-s24plus-capped-status0.txt")
def _s24(text: str) -> None:
    facts = thermal(text)
    caps = parse_policy_caps(text)
    assert facts.status == 0
    assert caps["policy9"] == (1824000, 3207000)
    assert all(judge_cap(name, *pair).sign is ThrottleSign.CAPPED for name, pair in caps.items())


@dump("thermalservice/samsung-sdhms-shifted-types-skia.txt")
def _sdhms(text: str) -> None:
    facts = thermal(text)
    by_name = {sensor.name: sensor for sensor in facts.sensors}
    assert by_name["TYPE_CPU"].domain is Domain.CPU  # type 1 would be GPU
    assert by_name["TYPE_SKIN"].domain is Domain.SKIN
    assert by_name["TYPE_BATTERY"].domain is Domain.BATTERY
    assert by_name["TYPE_POWER_AMPLIFIER"].state is SensorState.SENTINEL


@dump("thermalservice/xiaomi-13tpro-mtk-a16.txt")
def _xiaomi(text: str) -> None:
    facts = thermal(text)
    assert value(facts, "CPU") == 57.9  # cached says 84.2
    assert facts.hottest(Domain.GPU) is None
    assert not facts.truncated
    assert thermal(text.split("Temperature static")[0]).truncated


# --- time series


@dump("timeseries/realme-rmx5020-kai-sweep-tg-t8-free-b0.txt")
def _kai(text: str) -> None:
    table = parse_telemetry_table(text)
    assert len(table.empty_columns) == 37  # every zone was denied
    assert resolve_sign(table.gauge(plugged=False, loaded=True)).discharge_sign == 1
    verdict = counter_unit(table.gauge(plugged=False, loaded=True))
    # The counter lost 286 mAh where the gauge adds up to 134: outside 0.7..1.4, so nothing is claimed.
    assert verdict.standing is Standing.UNVERIFIED
    assert "no unit fits" in verdict.evidence[0]


@dump("timeseries/realme-rmx5020-stock-control-tg-t2-a75-telemetry-b0.txt")
def _stock_t2(text: str) -> None:
    table = parse_telemetry_table(text)
    times = [t for t in table.times_s if t is not None]
    moved = refresh(times, table.columns["voltage_now"])
    assert not moved.static
    assert moved.interval_s is not None
    assert moved.interval_s > 4.0
    assert table.columns["current_now"][0] == 168.0


@dump("timeseries/realme-rmx5020-stock-control-tg-t6-free-telemetry-b3.txt")
def _stock_t6(text: str) -> None:
    table = parse_telemetry_table(text)
    verdict = resolve_sign(table.gauge(plugged=False, loaded=True))
    assert (verdict.discharge_sign, verdict.standing) == (1, Standing.VERIFIED)
    assert resolve_sign(table.gauge(plugged=True, loaded=True)).discharge_sign is None


def test_every_recording_has_an_expectation() -> None:
    need_shared("recordings", "android", "index.csv")
    assert set(index()) == set(CHECKS)
