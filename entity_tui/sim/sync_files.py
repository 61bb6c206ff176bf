"""The file service of a simulated phone (adb's sync protocol, version 1), run as the phone's shell user in its root."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterator

DATA_LIMIT_BYTES = 64 * 1024
PATH_LIMIT_BYTES = 1024


class Closed(Exception):
    """The other side has gone."""


class Refused(Exception):
    """A request that cannot be done; the text goes to the client as it is."""


class FileService:
    """One sync session on a connected socket or pipe.

    `prefix` is put before every path where the phone has no root of its own; then a path may not leave it.
    """

    def __init__(self, descriptor: int, prefix: str = "") -> None:
        self.descriptor = descriptor
        self.prefix = prefix
        self.buffer = bytearray()

    def serve(self) -> None:
        """Answer requests until QUIT or the end of the stream."""
        handlers: dict[bytes, Callable[[str], None]] = {
            b"STAT": self.stat,
            b"LIST": self.list,
            b"RECV": self.receive,
            b"SEND": self.send,
        }
        while True:
            try:
                word, length = struct.unpack("<4sI", self.take(8))
            except Closed:
                return
            if word == b"QUIT":
                return
            if length > PATH_LIMIT_BYTES:
                self.fail("path too long")
                return
            path = self.take(length).decode("utf-8", "surrogateescape")
            handler = handlers.get(word)
            if handler is None:
                self.fail(f"unknown command {word.hex()}")
                return
            try:
                handler(path)
            except Refused as refusal:
                self.fail(str(refusal))

    def take(self, count: int) -> bytes:
        """Exactly `count` bytes from the client."""
        while len(self.buffer) < count:
            piece = os.read(self.descriptor, max(DATA_LIMIT_BYTES, count - len(self.buffer)))
            if not piece:
                raise Closed
            self.buffer += piece
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def put(self, data: bytes) -> None:
        """All of `data` to the client."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.descriptor, view) :]
            except BrokenPipeError as error:
                raise Closed from error

    def fail(self, text: str) -> None:
        """Tell the client what went wrong."""
        data = text.encode("utf-8", "surrogateescape")
        self.put(b"FAIL" + struct.pack("<I", len(data)) + data)

    def inside(self, path: str) -> str:
        """The path to use for a path of the client."""
        if not self.prefix:
            return path
        full = os.path.realpath(self.prefix + os.path.normpath("/" + path))
        if full != self.prefix and not full.startswith(self.prefix + "/"):
            raise Refused("Permission denied")
        return full

    def stat(self, path: str) -> None:
        """Mode, size and time, all zero for a path that is not there; sizes have 32 bits in this version."""
        try:
            row = os.lstat(self.inside(path))
            mode, size, when = row.st_mode, row.st_size, int(row.st_mtime)
        except (OSError, Refused):
            mode = size = when = 0
        self.put(b"STAT" + struct.pack("<III", mode, size & 0xFFFFFFFF, when & 0xFFFFFFFF))

    def list(self, path: str) -> None:
        """One entry a file; a folder that cannot be read lists empty, as on a phone."""
        try:
            names = os.listdir(self.inside(path))
        except (OSError, Refused):
            names = []
        for name in [".", "..", *names] if names else names:
            try:
                row = os.lstat(os.path.join(self.inside(path), name))
            except OSError:
                continue
            data = name.encode("utf-8", "surrogateescape")
            self.put(
                b"DENT"
                + struct.pack("<IIII", row.st_mode, row.st_size & 0xFFFFFFFF, int(row.st_mtime) & 0xFFFFFFFF, len(data))
                + data
            )
        self.put(b"DONE" + bytes(16))

    def receive(self, path: str) -> None:
        """The content of a file, in pieces."""
        try:
            source = os.open(self.inside(path), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(f"open failed: {error.strerror}") from error
        try:
            while True:
                try:
                    piece = os.read(source, DATA_LIMIT_BYTES)
                except OSError as error:
                    raise Refused(f"read failed: {error.strerror}") from error
                if not piece:
                    break
                self.put(b"DATA" + struct.pack("<I", len(piece)) + piece)
        finally:
            os.close(source)
        self.put(b"DONE" + struct.pack("<I", 0))

    def send(self, request: str) -> None:
        """Write a file (or make a link): parents are made, an old file is unlinked first, a failed one is removed."""
        self.finished = False
        path, comma, mode_text = request.rpartition(",")
        try:
            if not comma or not mode_text.isdigit():
                raise Refused("bad mode" if comma else "missing , in ID_SEND")
            target, mode = self.inside(path), int(mode_text)
            self.parents(target)
            if stat.S_ISLNK(mode):
                self.link(target)
            else:
                self.write(target, mode)
        except Refused as refusal:
            # The reason goes out before the rest of the file is read: a client that sends gigabytes hears it early.
            self.fail(str(refusal))
            self.drain()

    def parents(self, target: str) -> None:
        """Make the missing folders above a file."""
        try:
            os.makedirs(os.path.dirname(target) or "/", mode=0o775, exist_ok=True)
        except OSError as error:
            raise Refused(f"secure_mkdirs failed: {error.strerror}") from error

    def link(self, target: str) -> None:
        """The data of the request is where the link leads."""
        leads_to = b""
        for piece in self.pieces():
            leads_to += piece
        try:
            if os.path.lexists(target):
                os.unlink(target)
            os.symlink(leads_to.rstrip(b"\0"), os.fsencode(target))
        except OSError as error:
            raise Refused(f"couldn't create symlink: {error.strerror}") from error
        self.put(b"OKAY" + bytes(4))

    def write(self, target: str, mode: int) -> None:
        """Owner bits count for group and others too, as adbd does it."""
        owner = mode & 0o700
        bits = owner | owner >> 3 | owner >> 6
        try:
            if os.path.lexists(target) and not os.path.isdir(target):
                os.unlink(target)
            out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, bits)
        except OSError as error:
            raise Refused(f"couldn't create file: {error.strerror}") from error
        try:
            for piece in self.pieces():
                view = memoryview(piece)
                while view:
                    view = view[os.write(out, view) :]
            os.fchmod(out, bits)
        except OSError as error:
            os.unlink(target)
            raise Refused(f"write failed: {error.strerror}") from error
        except Closed:
            os.unlink(target)
            raise
        finally:
            os.close(out)
        if self.modified:
            os.utime(target, (self.modified, self.modified))
        self.put(b"OKAY" + bytes(4))

    finished = False
    """True when the DONE of the file being sent was read."""
    modified = 0

    def pieces(self) -> Iterator[bytes]:
        """The DATA of the file being sent, up to its DONE."""
        while True:
            word, length = struct.unpack("<4sI", self.take(8))
            if word == b"DONE":
                self.finished, self.modified = True, length
                return
            if word != b"DATA" or length > DATA_LIMIT_BYTES:
                raise Closed
            yield self.take(length)

    def drain(self) -> None:
        """Read on until the file's DONE, so that the session can go on with the next request."""
        if not self.finished:
            for _ in self.pieces():
                pass


def serve_files(descriptor: int, prefix: str = "") -> None:
    """Serve one sync session and return when it ends."""
    try:
        FileService(descriptor, prefix).serve()
    except Closed:
        return
