"""The moving window through which a GGUF header is read, and the bounds on what is remembered of it."""

from __future__ import annotations

import struct
from collections.abc import Generator

from entity_tui.errors import EntityError, Where

MAX_STRINGS = 4_000_000
"""Strings walked over in one header; the largest vocabularies with their merges have under a million."""
MAX_HEADER_BYTES = 256 << 20
MAX_STRING_BYTES = 1 << 20
"""Longest string that is kept; a chat template is some kilobytes."""
MAX_KEPT_BYTES = 8 << 20
_FIRST_CHUNK, _LAST_CHUNK = 1 << 16, 1 << 22

Need = tuple[int, int]
"""(offset, bytes) of the range the parser wants next; it may be given fewer only at the end of the file."""


class GgufError(EntityError):
    """A file that is no GGUF, is cut, or contradicts itself; nothing is guessed about it."""

    where = Where.WORKLOAD


class Window:
    """The part of the file that is in memory, moving forward only; each method is a step of the parser."""

    def __init__(self, size_bytes: int) -> None:
        self.size = size_bytes
        self.data = b""
        self.base = 0
        self.pos = 0
        self.read_bytes = 0
        self.chunk = _FIRST_CHUNK
        self.order = "<"
        self.wide = True

    @property
    def offset(self) -> int:
        """Where the next byte is in the file."""
        return self.base + self.pos

    def remaining(self) -> int:
        """Bytes of the file not passed yet."""
        return self.size - self.offset

    def ensure(self, count: int) -> Generator[Need, bytes, None]:
        """Have `count` bytes in memory from here on."""
        if self.pos + count <= len(self.data):
            return
        if count > self.remaining():
            raise GgufError("The file ends inside its header.", detail=f"{count} bytes wanted at {self.offset}")
        start = self.offset
        if start + count > MAX_HEADER_BYTES:
            raise GgufError("The header is larger than any real one.", detail=f"over {MAX_HEADER_BYTES} bytes")
        kept = self.data[self.pos :]
        wanted = min(max(count, self.chunk), self.size - start) - len(kept)
        self.chunk = min(self.chunk * 2, _LAST_CHUNK)
        got = yield (start + len(kept), wanted)
        self.read_bytes += len(got)
        self.data, self.base, self.pos = kept + got[:wanted], start, 0
        if len(self.data) < count:
            raise GgufError("The file ends inside its header.", detail=f"{len(got)} of {wanted} bytes came")

    def skip(self, count: int) -> None:
        """Pass `count` bytes without reading those that are not in memory."""
        if count > self.remaining():
            raise GgufError("The file ends inside its header.", detail=f"{count} bytes to pass at {self.offset}")
        self.pos += count
        if self.pos > len(self.data):
            self.data, self.base, self.pos = b"", self.offset, 0

    def number(self, code: str, size: int) -> Generator[Need, bytes, int | float]:
        """One number of struct format `code`."""
        yield from self.ensure(size)
        value: int | float = struct.unpack_from(self.order + code, self.data, self.pos)[0]
        self.pos += size
        return value

    def count(self) -> Generator[Need, bytes, int]:
        """A length or a count: 32 bits in version 1, 64 bits since."""
        value = yield from self.number(*(("Q", 8) if self.wide else ("I", 4)))
        return int(value)

    def string(self, limit: int, what: str) -> Generator[Need, bytes, str | None]:
        """A string, or None (passed over) when it is longer than `limit`. Bytes that are not UTF-8 become U+FFFD."""
        length = yield from self.count()
        if length > self.remaining():
            raise GgufError(f"{what} is longer than the file.", detail=f"{length} bytes at {self.offset}")
        if length > limit:
            self.skip(length)
            return None
        yield from self.ensure(length)
        raw = self.data[self.pos : self.pos + length]
        self.pos += length
        return raw.decode("utf-8", "replace")

    def pass_strings(self, count: int) -> Generator[Need, bytes, None]:
        """Walk over `count` strings without keeping them; this is where a vocabulary's time goes."""
        width = 8 if self.wide else 4
        unpack = struct.Struct(self.order + ("Q" if self.wide else "I")).unpack_from
        while count:
            data, pos, end = self.data, self.pos, len(self.data) - width
            while count and pos <= end:
                after = pos + width + unpack(data, pos)[0]
                if after > len(data):
                    break
                pos, count = after, count - 1
            self.pos = pos
            if count:
                length = yield from self.count()
                self.skip(length)
                count -= 1


class Keeper:
    """Bounds what is remembered, whatever a header says."""

    def __init__(self) -> None:
        self.bytes = 0
        self.strings = 0

    def keep(self, size: int) -> None:
        """Account for `size` more bytes. Raises GgufError over the limit."""
        self.bytes += size
        if self.bytes > MAX_KEPT_BYTES:
            raise GgufError("The header's values are larger than any real one's.", detail=f"over {MAX_KEPT_BYTES} B")

    def walk(self, strings: int) -> None:
        """Account for `strings` more strings to walk over."""
        self.strings += strings
        if self.strings > MAX_STRINGS:
            raise GgufError("The header holds more strings than any real one.", detail=f"over {MAX_STRINGS}")
