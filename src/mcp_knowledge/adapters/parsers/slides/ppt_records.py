"""Records of binary PowerPoint files: typed stretches of bytes, some of which hold further records (MS-PPT 2.3.1)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEADER_BYTES = 8
_CONTAINER_VERSION = 0xF
_TAG_DATA = 0x138B  # BinaryTagDataBlob: an atom whose bytes are records of a later version


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its type and instance, and where its content stands in the data."""

    data: bytes
    kind: int
    instance: int
    is_container: bool
    start: int
    end: int

    @property
    def content(self) -> bytes:
        """The bytes behind the header."""
        return self.data[self.start : self.end]

    def children(self) -> Iterator["Record"]:
        """The records inside; none for an atom."""
        return records(self.data, self.start, self.end) if self.is_container else iter(())

    def child(self, *kinds: int) -> "Record | None":
        """The record at the end of a path of types, the first of each; or None."""
        found: Record | None = self
        for kind in kinds:
            found = None if found is None else next((item for item in found.children() if item.kind == kind), None)
        return found

    def find(self, kind: int, max_depth: int = 16) -> Iterator["Record"]:
        """The records of a type anywhere inside, in order."""
        waiting = [(item, 1) for item in reversed(list(self.children()))]
        while waiting:
            item, depth = waiting.pop()
            if item.kind == kind:
                yield item
            elif depth < max_depth:
                waiting.extend((inner, depth + 1) for inner in reversed(list(item.children())))

    def unpack(self, layout: str, offset: int = 0) -> tuple[int, ...] | None:
        """Little-endian numbers of the content; None when it is too short."""
        if struct.calcsize("<" + layout) + offset > self.end - self.start:
            return None
        return struct.unpack_from("<" + layout, self.data, self.start + offset)


def record_at(data: bytes, at: int, end: int | None = None) -> Record | None:
    """The record whose header stands at an offset. A length that lies is cut at the end of what holds the record."""
    limit = len(data) if end is None else end
    if at < 0 or at + HEADER_BYTES > limit:
        return None
    head, kind, size = struct.unpack_from("<HHI", data, at)
    start = at + HEADER_BYTES
    holds_records = head & 0xF == _CONTAINER_VERSION or kind == _TAG_DATA
    return Record(data, kind, head >> 4, holds_records, start, min(start + size, limit))


def records(data: bytes, at: int, end: int) -> Iterator[Record]:
    """The records that stand one after the other."""
    while (record := record_at(data, at, end)) is not None:
        yield record
        at = record.end


def utf16(data: bytes) -> str:
    """A string as PowerPoint stores it."""
    return data[: len(data) // 2 * 2].decode("utf-16-le", "replace")
