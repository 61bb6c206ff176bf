"""Reads files of a simulated phone from outside without following its links out of its root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MAX_LINKS = 16


@contextmanager
def open_inside(root: str, path: str) -> Iterator[int]:
    """A read-only descriptor of `path` as a process of the phone would find it; raises OSError.

    `root` may lead through /proc/PID/root into another mount namespace. Absolute links and `..` stay below it.
    """
    descriptor, links = _walk(root, path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
    del links


def _walk(root: str, path: str) -> tuple[int, int]:
    links, parts, at = 0, _parts(path), [os.open(root, os.O_PATH | os.O_DIRECTORY)]
    try:
        while parts:
            name = parts.pop(0)
            if name == "..":
                if len(at) > 1:
                    os.close(at.pop())
                continue
            try:
                target = os.readlink(name, dir_fd=at[-1])
            except OSError:
                target = None
            if target is not None:
                links += 1
                if links > MAX_LINKS:
                    raise OSError(40, "too many links", path)
                parts = _parts(target) + parts
                while target.startswith("/") and len(at) > 1:
                    os.close(at.pop())
                continue
            flags = os.O_PATH | os.O_NOFOLLOW if parts else os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            at.append(os.open(name, flags, dir_fd=at[-1]))
        return at.pop(), links
    finally:
        for descriptor in at:
            os.close(descriptor)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def list_inside(root: str, path: str) -> list[str]:
    """The names in a folder of the phone; empty when it cannot be read."""
    try:
        with open_inside(root, path) as descriptor:
            return sorted(os.listdir(descriptor))
    except OSError:
        return []
