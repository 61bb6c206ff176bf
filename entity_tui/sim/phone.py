"""A simulated phone: its clock, its body, its files and its adbd, put together and kept moving."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

from entity_tui.errors import UsageError
from entity_tui.sim.adbd import Adbd
from entity_tui.sim.clock import PhoneClock
from entity_tui.sim.enclosure import Enclosure, EnclosureKind, enclose
from entity_tui.sim.lend import lend
from entity_tui.sim.live import LiveFiles
from entity_tui.sim.packets import VERSION_SKIP_CHECKSUM
from entity_tui.sim.physics import Body
from entity_tui.sim.procview import ProcView
from entity_tui.sim.profile import PhoneImage
from entity_tui.sim.real_engine import unpack, with_cpu
from entity_tui.sim.services import Services
from entity_tui.sim.tree import ENGINE_FOLDER, build_tree, choose_programs
from entity_tui.sim.workload import Workload

AWAKE_TICK_S, ASLEEP_TICK_S = 0.01, 0.2
REFRESH_S = 0.05
"""How often, in this computer's time, everything but the uptime is written."""
FOLDER_PREFIX = "entity-sim-"
QUICK_ROOM_BYTES = 48 << 20
BOOTED_AGO_S = 5400.0
PATH = "/product/bin:/apex/com.android.runtime/bin:/system_ext/bin:/system/bin:/system/xbin:/vendor/bin"


def _quick_folder() -> str | None:
    """Where a phone's files are best kept: in memory, as they change many times a second; None is the usual place."""
    shared_memory = Path("/dev/shm")
    with contextlib.suppress(OSError):
        row = os.statvfs(shared_memory)
        room = row.f_bavail * row.f_frsize
        if room > QUICK_ROOM_BYTES and not row.f_flag & os.ST_NOEXEC and os.access(shared_memory, os.W_OK):
            return str(shared_memory)
    return None


def _sweep(base: Path) -> None:
    """Remove the folders of phones whose process was killed before it could."""
    for folder in base.glob(f"{FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            if folder.stat().st_uid == os.getuid():
                pid = int((folder / "pid").read_text())
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    shutil.rmtree(folder, ignore_errors=True)


class Phone:
    """One simulated phone on one loopback port. Make it, `await start()`, and in the end `await stop()`."""

    def __init__(
        self,
        image: PhoneImage,
        *,
        speed: float = 1.0,
        shell: str | None = None,
        tools: str | None = None,
        enclosure: EnclosureKind | None = None,
        must_authorize: bool = False,
        version: int = VERSION_SKIP_CHECKSUM,
        engine: Path | None = None,
        qemu_cpu: str = "",
        lend_engine: bool = False,
        lend_model: Path | None = None,
    ) -> None:
        if speed != int(speed) or not 1 <= speed <= 1000:
            raise UsageError(f"a clock cannot run {speed:g} times as fast", fix="a whole number from 1 to 1000")
        image = with_cpu(image, qemu_cpu) if qemu_cpu else image
        self.image = image
        self.qemu_cpu = qemu_cpu
        self.speed = speed
        self.programs = choose_programs(shell, tools)
        self.clock = PhoneClock(speed, BOOTED_AGO_S)
        self.body = Body(image.silicon, offline=set(image.offline))
        base = _quick_folder() or tempfile.gettempdir()
        _sweep(Path(base))
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=base)).resolve()
        (self.folder / "pid").write_text(str(os.getpid()))
        self.folder.chmod(0o711)
        self._wanted = enclosure
        self._engine = engine
        self._lend = (lend_engine, lend_model)
        self.services = Services(
            enclosure=lambda: self.enclosure,
            environment=self.environment,
            shell="/system/bin/sh",
            reboot=self.reboot,
            before_start=self.freshen,
        )
        identity = {
            key: image.props.get(key, "") for key in ("ro.product.name", "ro.product.model", "ro.product.device")
        }
        self.adbd = Adbd(identity, self.services.open, version=version, must_authorize=must_authorize)
        self.enclosure: Enclosure
        self.live: LiveFiles
        self.view: ProcView
        self.workload: Workload
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._last_uptime_s = 0.0
        self._refresh_due = 0.0

    @property
    def inside(self) -> str:
        """The phone's root as this process reaches it."""
        root = self.folder / "root"
        return str(root) if self.enclosure.kind is EnclosureKind.PREFIX else f"/proc/{self.enclosure.pid}/root{root}"

    async def start(self, port: int = 0) -> None:
        """Boot the phone and listen. Raises UsageError (also for a port in use), NoShell, EnclosureFailed."""
        root = self.folder / "root"
        with tempfile.TemporaryDirectory(prefix="entity-engine-") as unpacked:
            engine = unpack(self._engine, Path(unpacked)) if self._engine else None
            boot = build_tree(self.image, self.folder, self.programs, self.speed, engine, self.qemu_cpu)
            if self._lend[0]:
                lent = lend(root, self.folder / "seed", ENGINE_FOLDER, self._lend[1])
                boot = replace(boot, binds=(*boot.binds, *lent.binds), files=(*boot.files, *lent.files))
            self.live = LiveFiles(self.image, root, self.folder / "live", self.body)
            boot = replace(boot, proc_files=self.live.prepare())
            self.enclosure = enclose(boot, self._wanted)
        prefix = self.enclosure.kind is EnclosureKind.PREFIX
        raw = Path("/proc" if prefix else f"/proc/{self.enclosure.pid}/root{self.folder}/raw")
        self.view = ProcView(raw, root / "proc", self.folder / "live/over", self.image.silicon.cpus)
        self.view.tracked = set() if prefix else None
        self.workload = Workload(self.image, self.body, self.view, self.enclosure, root, self.inside, self.reboot)
        self._last_uptime_s = self.clock.uptime_s()
        self._tasks.append(asyncio.create_task(self._move()))
        self.workload.listen()
        try:
            await self.adbd.listen(port)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be listened on",
                detail=error.strerror or "",
                fix="name another --port, or 0 for a free one",
            ) from error

    def environment(self) -> dict[str, str]:
        """What a shell of the phone starts with."""
        env = {
            "PATH": PATH,
            "HOME": "/",
            "TMPDIR": "/data/local/tmp",
            "SHELL": "/system/bin/sh",
            "USER": "shell",
            "LOGNAME": "shell",
            "HOSTNAME": self.image.props.get("ro.product.device", "phone"),
            "TERM": "dumb",
            "ANDROID_ROOT": "/system",
            "ANDROID_DATA": "/data",
        }
        if self.enclosure.kind is EnclosureKind.PREFIX:
            root = str(self.folder / "root")
            env |= {"PATH": f"{root}/system/bin", "ENTITY_PREFIX": root, "HOME": root}
            env |= {"TMPDIR": f"{root}/data/local/tmp", "SHELL": f"{root}/system/bin/sh"}
        if self.speed != 1:
            env["ENTITY_CLOCK_FACTOR"] = f"{self.speed:g}"
        return env

    def freshen(self) -> None:
        """A command is about to begin: the clock must be right for its first look at it."""
        self.live.uptime(self.clock.uptime_s())
        self._wake.set()

    async def _move(self) -> None:
        """Let time pass, often while something runs on the phone, seldom otherwise."""
        loop = asyncio.get_running_loop()
        while True:
            awake = self.enclosure.busy or bool(self.view.pids())
            with contextlib.suppress(TimeoutError):
                # Not wait_for: before Python 3.12 that one loses a cancellation which meets its own time limit.
                async with asyncio.timeout(AWAKE_TICK_S if awake else ASLEEP_TICK_S):
                    await self._wake.wait()
            if self._wake.is_set():
                self._wake.clear()
                await asyncio.sleep(AWAKE_TICK_S / 2)
            uptime_s = self.clock.uptime_s()
            span_s, self._last_uptime_s = max(0.0, uptime_s - self._last_uptime_s), uptime_s
            await self.workload.advance(span_s, span_s / self.speed)
            self.live.uptime(uptime_s)
            if loop.time() >= self._refresh_due:
                self._refresh_due = loop.time() + REFRESH_S
                self.live.refresh(uptime_s)

    async def reboot(self, how: str = "", off_s: float = 1.5) -> None:
        """End everything that runs, go off the network for a while, and come back with another boot id."""
        del how
        await self.adbd.stop_listening()
        self.adbd.drop()
        await self.enclosure.kill_all()
        self.live.boot_id = str(uuid.uuid4())
        descriptor = os.open(self.folder / "live/proc/boot_id", os.O_WRONLY)
        os.pwrite(descriptor, self.live.boot_id.encode() + b"\n", 0)
        os.close(descriptor)
        self.workload.forget_all()
        await asyncio.sleep(off_s)
        self.clock.reboot()
        self._last_uptime_s = 0.0
        await self.adbd.listen()

    async def stop(self) -> None:
        """End the phone and remove its folder."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.adbd.stop_listening()
        self.adbd.drop()
        if hasattr(self, "workload"):
            self.workload.close()
        if hasattr(self, "enclosure"):
            self.enclosure.close()
        if hasattr(self, "live"):
            self.live.close()
        shutil.rmtree(self.folder, ignore_errors=True)
