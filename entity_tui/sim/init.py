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
import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SHELL_UID = 2000
MESSAGE_LIMIT_BYTES = 1 << 18
MAX_DESCRIPTORS = 4

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError for a failed call into the C library."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    check(
        libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None),
        f"mount {source} on {target}",
    )


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Show `source` at `target` as well."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        # A remount inside a user namespace must keep the flags the original mount is locked to.
        locked = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | 8 | 1024)
        mount("none", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | locked)


def unshare(kind: str, shell_host_uid: int) -> None:
    """Move this process into new namespaces and map the phone's users; raises OSError where the host refuses."""
    maps = {"root": f"0 0 1\n{SHELL_UID} {shell_host_uid} 1\n", "user": f"{SHELL_UID} {os.getuid()} 1\n"}[kind]
    groups = {"root": maps, "user": f"{SHELL_UID} {os.getgid()} 1\n"}[kind]
    me, (ready_read, ready_write) = os.getpid(), os.pipe()
    writer = os.fork() if kind == "root" else 0
    if kind == "root" and writer == 0:
        os.close(ready_write)
        os.read(ready_read, 1)
        Path(f"/proc/{me}/uid_map").write_text(maps)
        Path(f"/proc/{me}/gid_map").write_text(groups)
        os._exit(0)
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET
    result, number = libc.unshare(flags), ctypes.get_errno()
    if kind == "root":
        os.close(ready_read)
        os.write(ready_write, b"x")
        os.close(ready_write)
        if os.waitpid(writer, 0)[1] != 0 and result == 0:
            raise OSError(errno.EPERM, "the user map was refused")
    if result != 0:
        raise OSError(number, f"unshare: {os.strerror(number)}")
    if kind == "user":
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(maps)
        Path("/proc/self/gid_map").write_text(groups)


def loopback_up() -> None:
    """Switch the network namespace's own lo on, so that a server inside can be reached at 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(probe, 0x8914, request)


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
        loopback_up()

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
        from sync_files import serve_files  # type: ignore[import-not-found]

        self._fork(request, descriptors, lambda: serve_files(0, "" if self.kind != "prefix" else self.root))

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
            check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
            if self.kind == "root":
                os.setgroups([])
            os.setresgid(SHELL_UID, SHELL_UID, SHELL_UID)
            os.setresuid(SHELL_UID, SHELL_UID, SHELL_UID)
            drop_capabilities()
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


def drop_capabilities() -> None:
    """Give up every capability in this process, also where the user id never was 0."""
    header = struct.pack("<Ii", 0x20080522, 0)
    check(libc.capset(header, struct.pack("<6I", 0, 0, 0, 0, 0, 0)), "capset")


def main() -> None:
    """Read the boot message, enclose, and serve as process 1."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    boot = json.loads(channel.recv(MESSAGE_LIMIT_BYTES))
    sys.path.insert(0, HERE)
    import sync_files  # noqa: F401 - loaded before the root changes

    init = Init(channel, boot)
    if boot["kind"] == "prefix":
        init.make_prefix()
        init.tell({"pid": os.getpid()})
        init.serve()
        return
    try:
        unshare(boot["kind"], boot["shell_host_uid"])
    except OSError as error:
        init.tell({"refused": str(error)})
        return
    pid = os.fork()
    if pid:
        init.tell({"pid": pid})
        channel.close()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        init.make_root()
    except OSError as error:
        init.tell({"refused": str(error)})
        return
    init.serve()


if __name__ == "__main__":
    main()
