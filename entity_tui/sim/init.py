"""Process 1 of a simulated phone: makes its private root and starts every command in it as the unprivileged user.

It runs as a script of its own (`python -I -S init.py FD`), needs the standard library only and is driven through one
socket by `enclosure.py`. Requests are JSON datagrams, file descriptors travel beside them. Three kinds of enclosure:

root    user ids 0 and 2000 are mapped, commands are uid 2000 (started by a host root)
user    only uid 2000 is mapped, to the user who started the phone
prefix  no namespaces on this host: commands run as the caller, below a path prefix
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Run as a script without site packages: the folder that holds the package is put on the path by hand.
sys.path.append(str(Path(__file__).resolve().parents[2]))
from entity_tui.sim import namespaces, sync_files
from entity_tui.sim.namespaces import (
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    MS_REMOUNT,
    SHELL_UID,
    bind,
    mount,
)

MESSAGE_LIMIT_BYTES = 1 << 18
MAX_DESCRIPTORS = 4


class Init:
    """Serves the requests of the enclosure and reaps every process of the phone."""

    def __init__(self, channel: socket.socket, boot: dict[str, Any]) -> None:
        self.channel = channel
        self.boot = boot
        self.kind: str = boot["kind"]
        self.root: str = boot["root"]
        self.running: dict[int, int] = {}
        self.foreign_programs = False

    def make_root(self) -> None:
        """Mount everything the phone shows; the folder tree itself was made before."""
        mount("none", "/", flags=MS_REC | MS_PRIVATE)
        bind(self.root, self.root)
        mount("proc", self.boot["raw_proc"], "proc", MS_NOSUID | MS_NODEV)
        mount("proc", f"{self.root}/proc", "proc", MS_NOSUID | MS_NODEV)
        mount("data", f"{self.root}/data", "tmpfs", MS_NOSUID | MS_NODEV, self.boot["data_options"])
        for source, target in self.boot["binds"]:
            bind(source, target, read_only=not target.startswith(f"{self.root}/dev/"))
        for source, target in self.boot["proc_files"]:
            if os.path.exists(target):
                bind(source, target)
        self.plant()
        self.take_foreign_programs()
        socket.sethostname("localhost")
        namespaces.loopback_up()

    def make_prefix(self) -> None:
        """Without namespaces: links where files would be laid over /proc, and stand-ins that know the prefix."""
        for source, target in [*self.boot["proc_files"], ("/proc/self", f"{self.root}/proc/self")]:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(source, target)
        self.plant()
        for folder in (f"{self.root}/system/bin", *(f"{self.root}{name}" for name in self.boot["folders"])):
            for path in Path(folder).iterdir():
                if path.is_file() and not path.is_symlink() and path.open("rb").read(16) == b"#!/system/bin/sh":
                    text = path.read_text()
                    for place in (
                        "/system/bin/",
                        "/dev/entity",
                        "/etc/entity-props",
                        "/sys/devices",
                        "/data/local/tmp",
                    ):
                        text = text.replace(place, self.root + place)
                    path.write_text(text.replace("/proc/version", f"{self.root}/proc/version"))

    def take_foreign_programs(self) -> None:
        """Let the kernel hand programs of another architecture to qemu, in this user namespace only (Linux 6.7)."""
        if not self.boot["foreign_programs"]:
            return
        place = f"{self.boot['raw_proc']}/sys/fs/binfmt_misc"
        try:
            mount("none", place, "binfmt_misc", MS_NOSUID | MS_NODEV)
            Path(f"{place}/register").write_bytes(self.boot["foreign_programs"].encode())
        except OSError:
            return
        self.foreign_programs = True

    def plant(self) -> None:
        """Fill the phone's data partition with the folders and files it is delivered with."""
        for folder in self.boot["folders"]:
            self._own(f"{self.root}{folder}", make=True)
        for path, source, size, mode in self.boot["files"]:
            target = f"{self.root}{path}"
            Path(target).write_bytes(Path(source).read_bytes())
            if size:
                os.truncate(target, size)
            os.chmod(target, mode)
            self._own(target, make=False)

    def _own(self, path: str, *, make: bool) -> None:
        if make:
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o771)
        if self.kind == "root":
            os.chown(path, SHELL_UID, SHELL_UID)

    def serve(self) -> None:
        """Answer requests until the channel closes; then the kernel ends everything that is left in the phone."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        channel = self.channel.fileno()
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.tell({"ready": True, "foreign_programs": self.foreign_programs})
        while True:
            readable, _, _ = select.select([channel, wake_read], [], [])
            if wake_read in readable:
                os.read(wake_read, 512)
                self.reap()
            if channel in readable and not self.one_request():
                return

    def tell(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        """Send one message, with file descriptors beside it."""
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self.channel.sendmsg([json.dumps(message).encode()], extra)
        except OSError:
            os._exit(0)

    def reap(self) -> None:
        """Collect every dead process, ours and the orphans of the phone, and report those we were asked to start."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self.running.pop(pid, None)
            if number is not None:
                self.tell({"exit": number, "status": status})

    def one_request(self) -> bool:
        """Handle one request; False when the enclosure has gone."""
        try:
            data, extra, _, _ = self.channel.recvmsg(MESSAGE_LIMIT_BYTES, socket.CMSG_SPACE(MAX_DESCRIPTORS * 4))
        except OSError:
            return False
        if not data:
            return False
        descriptors = array.array("i")
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[: len(content) // 4 * 4])
        request = json.loads(data)
        try:
            getattr(self, f"do_{request['do']}")(request, list(descriptors))
        except OSError as error:
            self.tell({"reply": request["number"], "error": str(error), "errno": error.errno})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def do_spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Start a command with the given stdin, stdout and stderr; its end is reported as `exit`."""
        self._fork(request, descriptors, lambda: self._exec(request))

    def do_files(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Serve the sync protocol on the given socket, with the rights of the phone's shell user."""
        self._fork(request, descriptors, lambda: sync_files.serve_files(0, "" if self.kind != "prefix" else self.root))

    def _fork(self, request: dict[str, Any], descriptors: list[int], work: Callable[[], None]) -> None:
        held_read, held_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(held_write)
                os.read(held_read, 1)
                self._become(request, descriptors)
                work()
                os._exit(0)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(127)
        os.close(held_read)
        self.running[pid] = request["number"]
        self.tell({"reply": request["number"], "pid": pid})
        if not request.get("held"):
            os.write(held_write, b"x")
        os.close(held_write)

    def _become(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """In the child: new session, the given descriptors as 0, 1, 2, the phone's root and its shell user."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        os.closerange(len(descriptors) if len(descriptors) >= 3 else 3, 256)
        if request.get("terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if self.kind == "prefix":
            os.chdir(self.root)
        else:
            os.chroot(self.root)
            os.chdir("/")
            namespaces.forbid_new_rights()
            if self.kind == "root":
                os.setgroups([])
            os.setresgid(SHELL_UID, SHELL_UID, SHELL_UID)
            os.setresuid(SHELL_UID, SHELL_UID, SHELL_UID)
            namespaces.drop_capabilities()
        os.umask(0)

    def _exec(self, request: dict[str, Any]) -> None:
        program = request["argv"][0]
        os.execve(self.root + program if self.kind == "prefix" else program, request["argv"], request["env"])

    def do_connect(self, request: dict[str, Any], _: list[int]) -> None:
        """Open a connection to a port of the phone's own loopback and hand it over."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
            link.settimeout(5)
            link.connect(("127.0.0.1", request["port"]))
            link.setblocking(False)
            self.tell({"reply": request["number"]}, [link.fileno()])

    def do_bind(self, request: dict[str, Any], _: list[int]) -> None:
        """Lay files or folders over others; a target that has gone meanwhile is left out."""
        for source, target in request["pairs"]:
            try:
                mount(source, target, flags=MS_BIND)
            except FileNotFoundError:
                continue
        self.tell({"reply": request["number"]})

    def do_data_size(self, request: dict[str, Any], _: list[int]) -> None:
        """Give the data partition another size."""
        mount("data", f"{self.root}/data", "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, request["options"])
        self.tell({"reply": request["number"]})

    def do_kill(self, request: dict[str, Any], _: list[int]) -> None:
        """Send a signal to a process of the phone."""
        os.kill(request["pid"], request["signal"])
        self.tell({"reply": request["number"]})

    def do_kill_all(self, request: dict[str, Any], _: list[int]) -> None:
        """End everything but this process; without a process namespace only what was started here."""
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in list(self.running):
                os.killpg(pid, signal.SIGKILL)
        self.tell({"reply": request["number"]})


def main() -> None:
    """Read the boot message, enclose, and serve as process 1."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    boot = json.loads(channel.recv(MESSAGE_LIMIT_BYTES))
    init = Init(channel, boot)
    if boot["kind"] == "prefix":
        init.make_prefix()
        init.tell({"pid": os.getpid()})
        init.serve()
        return
    try:
        namespaces.unshare(boot["kind"], boot["shell_host_uid"])
    except OSError as error:
        init.tell({"refused": str(error)})
        return
    pid = os.fork()
    if pid:
        init.tell({"pid": pid})
        channel.close()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    namespaces.die_with_parent(signal.SIGKILL)
    try:
        init.make_root()
    except OSError as error:
        init.tell({"refused": str(error)})
        return
    init.serve()


if __name__ == "__main__":
    main()
