"""The few facts an ELF file tells that decide whether a device can run it: machine, needed libraries, code."""

from __future__ import annotations

import struct
from dataclasses import dataclass

MACHINES = {62: "x86_64", 183: "arm64", 40: "arm32", 3: "x86", 243: "riscv64"}
_MAX_SECTIONS = 4096


@dataclass(frozen=True, slots=True)
class ElfHead:
    """Word size and machine of an ELF file; `machine` is empty for one we have no name for."""

    bits: int
    machine: str


def read_head(data: bytes) -> ElfHead | None:
    """The head from the first 20 bytes; None when it is no little-endian ELF file (a script, an archive)."""
    if len(data) < 20 or data[:4] != b"\x7fELF" or data[5] != 1 or data[4] not in (1, 2):
        return None
    return ElfHead(64 if data[4] == 2 else 32, MACHINES.get(struct.unpack_from("<H", data, 18)[0], ""))


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int


def _sections(data: bytes) -> tuple[_Section, ...]:
    """The section table of a 64-bit ELF file; empty when it has none or does not add up."""
    head = read_head(data)
    if head is None or head.bits != 64 or len(data) < 64:
        return ()
    table, entry, count, names = (
        struct.unpack_from("<Q", data, 0x28)[0],
        *struct.unpack_from("<HHH", data, 0x3A),
    )
    if entry != 64 or not 0 < count <= _MAX_SECTIONS or names >= count or table + entry * count > len(data):
        return ()
    raw = [struct.unpack_from("<IIQQQQ", data, table + entry * place) for place in range(count)]
    strings = raw[names]
    found = []
    for name, kind, flags, _address, offset, size in raw:
        start = strings[4] + name
        end = data.find(b"\0", start, start + 256)
        label = data[start:end].decode("ascii", "replace") if 0 <= start < end else ""
        found.append(_Section(label, kind, flags, offset, size))
    return tuple(found)


def code_of(data: bytes) -> tuple[bytes, ...]:
    """The executable sections of a 64-bit ELF file."""
    return tuple(
        data[section.offset : section.offset + section.size]
        for section in _sections(data)
        if section.kind == 1 and section.flags & 0x4 and section.offset + section.size <= len(data)
    )


def needed_libraries(data: bytes) -> tuple[str, ...]:
    """Names of the shared libraries a 64-bit ELF file asks its loader for, in order."""
    sections = {section.name: section for section in _sections(data)}
    dynamic, strings = sections.get(".dynamic"), sections.get(".dynstr")
    if dynamic is None or strings is None or dynamic.offset + dynamic.size > len(data):
        return ()
    names = []
    for place in range(dynamic.offset, dynamic.offset + dynamic.size - 15, 16):
        tag, value = struct.unpack_from("<qQ", data, place)
        if tag == 0:
            break
        if tag == 1:
            start = strings.offset + value
            end = data.find(b"\0", start, start + 512)
            if 0 <= start < end:
                names.append(data[start:end].decode("utf-8", "replace"))
    return tuple(names)
