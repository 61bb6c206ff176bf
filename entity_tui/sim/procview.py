"""What /proc/PID shows inside a simulated phone: the masks the phone's taskset set and the threads its engine has."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from entity_tui.sim.cpu_text import cpu_list, cpu_mask

STATUS_ROOM_BYTES = 3072
STEADY_COLUMNS = 24
CLOCK_TICKS_PER_S = 100
FIRST_INVENTED_TID = 3_000_000
"""Thread ids of threads that do not exist; above every id the kernel hands out by default."""


@dataclass(slots=True)
class Covered:
    """A process whose /proc entries are ours."""

    pid: int
    folder: Path
    full: bool
    threads: int = 0
    """Threads of the stand-in engine; 0 mirrors the real ones."""
    cpu_s: float = 0.0
    """CPU time each of the stand-in's threads has used, in the phone's time."""
    on_cpus: tuple[int, ...] = ()
    last_ticks: dict[int, int] = field(default_factory=dict)
    told: tuple[tuple[int, ...], int, str] | None = None
    """Mask, threads and name that the status text was written with."""


class ProcView:
    """Keeps the masks of a phone's processes and writes what their /proc entries show.

    `raw` is a view of the phone's /proc with nothing laid over it, `shown` the phone's own, `over` a folder of ours.
    """

    def __init__(self, raw: Path, shown: Path, over: Path, cpus: tuple[int, ...]) -> None:
        self.raw, self.shown, self.over, self.cpus = raw, shown, over, cpus
        self.tracked: set[int] | None = None
        """Set where the phone shares this computer's processes: only these are its own."""
        self.masks: dict[int, tuple[int, ...]] = {}
        self.covered: dict[int, Covered] = {}

    def pids(self) -> list[int]:
        """Every process of the phone but its first; without a process namespace those that asked for something."""
        if self.tracked is not None:
            self.tracked = {pid for pid in self.tracked if self.alive(pid)}
            return sorted(self.tracked)
        try:
            return [int(name) for name in os.listdir(self.raw) if name.isdigit() and name != "1"]
        except OSError:
            return []

    def alive(self, pid: int) -> bool:
        """True while the process exists and is not a zombie."""
        fields = self._stat_fields(self.raw / str(pid) / "stat")
        return bool(fields) and fields[2] not in ("Z", "X")

    def cmdline(self, pid: int) -> list[str]:
        """The arguments of a process."""
        try:
            data = (self.raw / str(pid) / "cmdline").read_bytes()
        except OSError:
            return []
        return data.decode("utf-8", "surrogateescape").split("\0")[:-1]

    def folder_of(self, pid: int, root: Path) -> str:
        """The phone path of a process's working folder."""
        try:
            here = os.readlink(self.raw / str(pid) / "cwd")
        except OSError:
            return "/"
        return here.removeprefix(str(root)) or "/"

    def mask_of(self, pid: int) -> tuple[int, ...]:
        """The mask that was set on the process or on the nearest of its ancestors; every core otherwise."""
        for _ in range(64):
            if pid in self.masks:
                return self.masks[pid]
            fields = self._stat_fields(self.raw / str(pid) / "stat")
            if len(fields) < 4 or int(fields[3]) <= 1:
                break
            pid = int(fields[3])
        return self.cpus

    def cover(self, pid: int, *, full: bool, threads: int = 0) -> list[tuple[str, str]]:
        """Begin to show our entries for a process; returns what process 1 has to lay over what."""
        old = self.covered.get(pid)
        if old is not None and (old.full or not full):
            old.threads = threads or old.threads
            self.refresh(pid)
            return []
        folder = self.over / str(pid)
        (folder / "task").mkdir(parents=True, exist_ok=True)
        self.covered[pid] = Covered(pid, folder, full, threads)
        self.refresh(pid)
        names: tuple[str, ...] = ("status", "task") if full else ("status",)
        if old is not None:
            names = tuple(name for name in names if name != "status")
        return [(str(folder / name), str(self.shown / str(pid) / name)) for name in names if (folder / name).exists()]

    def refresh(self, pid: int) -> None:
        """Write the present state of one process."""
        entry = self.covered[pid]
        mask = self.mask_of(pid)
        try:
            status = (self.raw / str(pid) / "status").read_text("utf-8", "surrogateescape")
        except OSError:
            return
        if entry.threads:
            status = re.sub(r"^Threads:.*$", f"Threads:\t{entry.threads}", status, flags=re.MULTILINE)
            status = re.sub(r"^State:.*$", "State:\tR (running)", status, flags=re.MULTILINE)
        status = with_mask(status, mask)
        # Rewritten only when what matters changed: a shell reads a byte at a time, and moving text would be torn.
        told = (mask, entry.threads, status.partition("\n")[0])
        if told != entry.told:
            entry.told = told
            _in_place(entry.folder / "status", _steady(status), STATUS_ROOM_BYTES)
        if not entry.full:
            return
        stat = self._stat_fields(self.raw / str(pid) / "stat")
        if not stat:
            return
        if entry.threads:
            self._invented(entry, status, stat, mask)
        else:
            self._mirrored(entry, mask)

    def _invented(self, entry: Covered, status: str, stat: list[str], mask: tuple[int, ...]) -> None:
        """One entry for every thread the stand-in would have."""
        ticks = round(entry.cpu_s * CLOCK_TICKS_PER_S)
        where = entry.on_cpus or mask
        whole = [*stat]
        whole[2], whole[13], whole[19] = "R", str(ticks * entry.threads), str(entry.threads)
        tids = [entry.pid, *(FIRST_INVENTED_TID + entry.pid * 64 + place for place in range(1, entry.threads))]
        for place, tid in enumerate(tids):
            own = [*whole]
            own[0], own[13], own[38] = str(tid), str(ticks), str(where[place % len(where)])
            text = re.sub(r"^Pid:.*$", f"Pid:\t{tid}", status, flags=re.MULTILINE)
            _task(entry.folder / "task" / str(tid), text, " ".join(own), stat[1][1:-1])
        self._forget(entry, {str(tid) for tid in tids})

    def _mirrored(self, entry: Covered, mask: tuple[int, ...]) -> None:
        """The real threads with the phone's mask; CPU times are real, the core is one of the mask."""
        tasks = self.raw / str(entry.pid) / "task"
        names = set()
        for place, tid in enumerate(sorted(_listed(tasks))):
            stat = self._stat_fields(tasks / tid / "stat")
            try:
                text = (tasks / tid / "status").read_text("utf-8", "surrogateescape")
            except OSError:
                continue
            if len(stat) < 39:
                continue
            stat[38] = str(mask[place % len(mask)])
            _task(entry.folder / "task" / tid, with_mask(text, mask), " ".join(stat), stat[1][1:-1])
            names.add(tid)
        self._forget(entry, names)

    def _forget(self, entry: Covered, keep: set[str]) -> None:
        for name in _listed(entry.folder / "task"):
            if name not in keep:
                shutil.rmtree(entry.folder / "task" / name, ignore_errors=True)

    def busy_threads(self, pid: int, span_s: float) -> list[float]:
        """How busy each real thread of a process was since the last call, as a share of one core."""
        entry = self.covered[pid]
        shares = []
        for tid in _listed(self.raw / str(pid) / "task"):
            stat = self._stat_fields(self.raw / str(pid) / "task" / tid / "stat")
            if len(stat) < 15:
                continue
            ticks = int(stat[13]) + int(stat[14])
            before = entry.last_ticks.get(int(tid), ticks)
            entry.last_ticks[int(tid)] = ticks
            shares.append(min(1.0, (ticks - before) / CLOCK_TICKS_PER_S / max(1e-3, span_s)))
        return shares

    def forget_dead(self, living: Iterable[int]) -> list[int]:
        """Drop what is kept for processes that have gone; returns their ids."""
        alive = set(living)
        # A process may be younger than the list: only one that is not there now has gone.
        gone = [pid for pid in {*self.covered, *self.masks} - alive if not (self.raw / str(pid)).exists()]
        for pid in gone:
            self.masks.pop(pid, None)
            if (entry := self.covered.pop(pid, None)) is not None:
                shutil.rmtree(entry.folder, ignore_errors=True)
        return gone

    @staticmethod
    def _stat_fields(path: Path) -> list[str]:
        """The fields of a stat file; the name may hold blanks and brackets."""
        try:
            text = path.read_text("utf-8", "surrogateescape")
        except OSError:
            return []
        start, end = text.find("("), text.rfind(")")
        return [text[: start - 1], text[start : end + 1], *text[end + 2 :].split()]


def with_mask(status: str, cpus: tuple[int, ...]) -> str:
    """A status text that says these cores."""
    status = re.sub(r"^Cpus_allowed:.*$", f"Cpus_allowed:\t{cpu_mask(cpus)}", status, flags=re.MULTILINE)
    return re.sub(r"^Cpus_allowed_list:.*$", f"Cpus_allowed_list:\t{cpu_list(cpus)}", status, flags=re.MULTILINE)


def _steady(status: str) -> str:
    """The text with the lines whose length varies filled up, so that a rewrite moves nothing behind them."""
    return re.sub(
        r"^((?:Name|State|FDSize|Threads):.*)$",
        lambda found: found[1].ljust(STEADY_COLUMNS),
        status,
        flags=re.MULTILINE,
    )


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _in_place(path: Path, text: str, room: int) -> None:
    """Rewrite a file that is laid over another: same inode, same length, blanks before the last newline."""
    data = text.rstrip("\n").encode("utf-8", "surrogateescape")[: room - 1].ljust(room - 1) + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o444)
    try:
        os.pwrite(descriptor, data, 0)
    finally:
        os.close(descriptor)


def _task(folder: Path, status: str, stat: str, name: str) -> None:
    folder.mkdir(exist_ok=True)
    for file, text in (("status", status), ("stat", stat + "\n"), ("comm", name + "\n")):
        new = folder / f".{file}"
        new.write_text(text, "utf-8", errors="surrogateescape")
        new.replace(folder / file)
