"""probe.sh under every shell and tool collection: one call, every text, every outcome."""

from __future__ import annotations

import json
from pathlib import Path

from entity_tui.agent import script
from entity_tui.device.probe_text import parse_probe
from entity_tui.device.snapshot import Outcome, Snapshot
from entity_tui.device.snapshot_json import loads
from tests.agent.toolsets import Toolset, outsider, put_files, put_program
from tests.fixtures.tools import need_shared

NONCE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


def probe(
    toolset: Toolset, root: Path | str = "", *, limit: str = "8", user: int | None = None, **env: str
) -> Snapshot:
    """The snapshot the script takes of `root`."""
    env = {"ENTITY_PREFIX": str(root), **env} if root else env
    done = toolset.run(script("probe"), [NONCE, "/", limit], env=env, user=user)
    assert done.returncode == 0, done.stderr
    return parse_probe(done.stdout, NONCE)


def test_a_phone_tree_is_read_back_text_for_text(toolset: Toolset, tmp_path: Path) -> None:
    dump = json.loads(need_shared("devices", "oneplus-5t.json").read_text())
    put_files(tmp_path, dump["files"])
    snapshot = probe(toolset, tmp_path)
    assert snapshot.origin == ""
    wanted = {path for path in dump["files"] if path.startswith("/sys/devices/system/cpu/cpu0/")} & set(snapshot.files)
    assert len(wanted) >= 8
    for path in wanted | {"/proc/cpuinfo"}:
        assert snapshot.file(path).text.strip() == dump["files"][path].strip(), path
        assert snapshot.file(path).outcome is Outcome.OK


def test_what_is_not_there_is_absent_and_names_itself(toolset: Toolset, tmp_path: Path) -> None:
    put_files(tmp_path, {"/proc/cpuinfo": "processor\t: 0\n"})
    reading = probe(toolset, tmp_path).file("/proc/pressure/cpu")
    assert reading.outcome is Outcome.ABSENT
    assert "No such file" in reading.detail


def test_a_readable_mode_counts_for_nothing_only_the_read_does(toolset: Toolset, open_folder: Path) -> None:
    zone = {"/sys/class/thermal/thermal_zone0/type": "cpu\n", "/sys/class/thermal/thermal_zone0/temp": "41000\n"}
    put_files(open_folder, {**zone, "/sys/class/power_supply/battery/uevent": "POWER_SUPPLY_STATUS=Full\n"})
    (open_folder / "sys/class/thermal/thermal_zone0/temp").chmod(0o000)
    snapshot = probe(toolset, open_folder, user=outsider())
    assert snapshot.file("/sys/class/thermal/thermal_zone0/temp").outcome is Outcome.DENIED
    assert snapshot.file("/sys/class/thermal/thermal_zone0/temp").text == ""
    assert snapshot.file("/sys/class/thermal/thermal_zone0/type").text == "cpu"


def test_termux_denial_with_exit_status_0_is_denied(toolset: Toolset, tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "getprop", "echo '[ro.product.model]: [Pixel 8]'; echo '[ro.multi]: [a\nb]'")
    put_program(
        tmp_path / "bin",
        "dumpsys",
        """echo "Permission Denial: can't dump battery from from pid=1, uid=10234 due to missing permission" """,
    )
    snapshot = probe(toolset, bin=str(tmp_path / "bin"))
    assert snapshot.command("dumpsys battery").outcome is Outcome.DENIED
    assert "uid=10234" in snapshot.command("dumpsys battery").detail
    assert snapshot.props == {"ro.product.model": "Pixel 8", "ro.multi": "a\nb"}
    assert snapshot.command("cmd battery get -f current_now").outcome is Outcome.ABSENT


def test_a_command_that_hangs_is_ended_and_called_timeout(toolset: Toolset, tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "getprop", "true")
    put_program(tmp_path / "bin", "dumpsys", "[ $1 = battery ] && exec sleep 30; echo quick")
    snapshot = probe(toolset, limit="1", bin=str(tmp_path / "bin"))
    assert snapshot.command("dumpsys battery").outcome is Outcome.TIMEOUT
    assert snapshot.command("dumpsys thermalservice").text == "quick\n"


def test_text_that_looks_like_a_header_stays_text(toolset: Toolset, tmp_path: Path) -> None:
    trap = "@deadbeef file 0 - /proc/version\nmodel name: \\n \\t %s $(id) `id`\n@x end\n\n\nlast \xfc line  "
    put_files(tmp_path, {"/proc/cpuinfo": trap + "\n"})
    snapshot = probe(toolset, tmp_path)
    assert snapshot.file("/proc/cpuinfo").text == trap + "\n"
    assert snapshot.file("/proc/version").outcome is Outcome.ABSENT


def test_device_tree_strings_keep_their_nul_bytes(toolset: Toolset, tmp_path: Path) -> None:
    put_files(tmp_path, {"/proc/device-tree/compatible": "radxa,rock-5b\0rockchip,rk3588\0"})
    assert probe(toolset, tmp_path).file("/proc/device-tree/compatible").text == "radxa,rock-5b\0rockchip,rk3588\0"


def test_zones_come_with_their_trip_points_and_odd_names(toolset: Toolset, tmp_path: Path) -> None:
    zone = "/sys/class/thermal/thermal_zone12"
    put_files(
        tmp_path,
        {
            f"{zone}/type": "INT3400 Thermal\n",
            f"{zone}/temp": "-273000\n",
            f"{zone}/trip_point_0_temp": "85000\n",
            f"{zone}/trip_point_0_type": "passive\n",
        },
    )
    snapshot = probe(toolset, tmp_path)
    assert snapshot.file(f"{zone}/type").text == "INT3400 Thermal"
    assert snapshot.file(f"{zone}/temp").text == "-273000"
    assert snapshot.file(f"{zone}/trip_point_0_temp").text == "85000"


def test_a_probe_of_this_computer_survives_being_saved_and_loaded(toolset: Toolset) -> None:
    from entity_tui.device.snapshot import dumps

    snapshot = probe(toolset)
    assert snapshot.file("/proc/sys/kernel/random/boot_id").ok
    assert snapshot.command("uname -a").ok
    assert snapshot.command("df -k /").ok
    again = loads(dumps(snapshot))
    assert (again.files, again.commands, again.props) == (snapshot.files, snapshot.commands, snapshot.props)
