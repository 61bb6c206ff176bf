"""A program that is killed while it writes leaves whole files, and the next one opens them."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from entity_tui.records.run_directory import RUN_FILE, RunInfo
from entity_tui.records.store import RunStore
from tests.analysis.rows import session
from tests.fixtures.tools import REPOSITORY

NOW = datetime(2026, 8, 22, tzinfo=UTC)

WRITER = """
import sys
from pathlib import Path
from entity_tui.records.run_directory import RUN_FILE, RunInfo
from entity_tui.records.store import RunStore
from tests.analysis.rows import session

store = RunStore(Path(sys.argv[1]))
for count in range(1, 10_000):
    name = f"run{count % 7}"
    rows = session({"naive": [10.0] * count, "optimized": [17.0] * count}, session_id=name)
    store.save(RunInfo(name, "2026-08-22T10:00:00+00:00", state="done", note=str(count)), rows)
    print(count, flush=True)
"""


@pytest.mark.parametrize("saves", [1, 3, 8, 13])
def test_killed_while_saving_no_file_is_half_written(tmp_path: Path, saves: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= saves:
            break
    process.kill()
    process.stdout.close()
    process.wait()
    with RunStore(tmp_path) as store:
        entries = store.select(now=NOW)
        assert len(entries) >= min(saves, 7)
        for name in store.unreadable:
            assert not (store.run(name).path / RUN_FILE).exists(), "only a run whose first save was cut may be left out"
            assert len(store.run(name).rows()) % 2 == 0
        for entry in entries:
            run = store.find(entry.session_id)
            rows = run.rows()
            assert len(rows) % 2 == 0
            assert [row.block for row in rows if row.arm == "naive"] == list(range(1, len(rows) // 2 + 1))
            assert run.info().session_id == entry.session_id


def test_two_programs_share_one_store(tmp_path: Path) -> None:
    with RunStore(tmp_path) as one, RunStore(tmp_path) as other:
        one.save(RunInfo("a", "2026-08-22T10:00:00+00:00"), session({"naive": [10.0]}, session_id="a"))
        assert other.count(now=NOW) == 1
        other.delete("a")
        assert one.count(now=NOW) == 0


def test_threads_share_one_store(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    with RunStore(tmp_path) as store:

        def work(number: int) -> None:
            try:
                for turn in range(5):
                    name = f"run{number}"
                    rows = session({"naive": [10.0 + turn]}, session_id=name)
                    store.save(RunInfo(name, "2026-08-22T10:00:00+00:00"), rows)
                    store.select("naive", now=NOW)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.count(now=NOW) == 4
