"""Namespaces, mounts and rights for the first process of a simulated phone; standard library only, like `init.py`."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SHELL_UID = 2000

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


def drop_capabilities() -> None:
    """Give up every capability in this process, also where the user id never was 0."""
    header = struct.pack("<Ii", 0x20080522, 0)
    check(libc.capset(header, struct.pack("<6I", 0, 0, 0, 0, 0, 0)), "capset")


def forbid_new_rights() -> None:
    """Nothing this process starts can gain rights, not even through a setuid program."""
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def die_with_parent(number: int) -> None:
    """Ask the kernel for a signal when the parent ends."""
    libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
