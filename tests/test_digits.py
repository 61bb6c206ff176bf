"""Numbers in a device's text: what Python's own int() refuses or reads too widely is no number, and no exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.sample import SampleParser, parse_cpu_times
from entity_tui.digits import whole
from entity_tui.engine.log_lines import parse_log
from entity_tui.engine.server_log import read_start_log
from entity_tui.models.on_device import parse_models
from entity_tui.records.journal import parse_journal
from entity_tui.transport.device_text import parse_df_free_bytes, parse_stat
from entity_tui.transport.jobs import parse_spawned

LONG = "9" * 5000
ODD = ("²", "١٢", "1_000", " 1", "+1", "1e3", "0x1f", "-", "", LONG, f"-{LONG}", "1\n")
JOURNAL = (
    "{0} 1.5 run_start version=1 pid=7 ;\n1 {0} run_start version=1 pid=7 ;\n"
    "2 1.5 cell_start n={0} attempt={0} block={0} ;\n"
    "3 1.5 gate n={0} attempt=1 outcome=passed run=1 wait={0} temp={0} status={0} ;\n"
    "4 1.5 launch_end n=1 attempt=1 phase=decode code={0} from={0} to={0} threads={0} seen={0} moves={0} "
    "cpu=0:{0},{0}:1 own={0} total={0} readback={0}:f:{0}:1:{0}:{0} ;\n"
    "5 1.5 cell n=1 attempt=1 block={0} pos={0} dir=cells/1.1 ;\n"
)


@pytest.mark.parametrize("odd", ODD)
def test_no_reader_of_a_devices_text_raises_on_what_is_no_number(odd: str) -> None:
    assert whole(odd) is None
    parse_journal(JOURNAL.format(odd).encode())
    parse_cpu_times(f"cpu{odd} 1 2 3 4\ncpu0 {odd} 2 3 4\n")
    for line in (f"s {odd} {odd}", f"b {odd}", f"n 0 {odd}", f"cpu0 {odd} {odd} {odd} {odd}"):
        SampleParser().feed(line)
    parse_models([f"model {odd} {odd} /data/x.gguf"])
    parse_stat(f"1 (x) S {' '.join([odd] * 30)}")
    parse_df_free_bytes(f"Filesystem 1K-blocks Used Available\n/dev/x {odd} {odd} {odd} 1% /data\n")
    parse_spawned(f"boot b\npid {odd}\nstat 1 (x) S {' '.join([odd] * 30)}\n")
    read_start_log(f"listening on http://127.0.0.1:{odd}\nn_ctx_slot = {odd}\nkv_cache: size = {odd} MiB\n")
    parse_log(f"system_info: n_threads = {odd} | CPU : NEON = {odd} |\nCPU model buffer size = {odd} MiB\n")


@given(st.integers(-(10**19) + 1, 10**19 - 1))
def test_every_number_of_nineteen_digits_reads_back(number: int) -> None:
    assert whole(str(number)) == number
