"""The records of old Excel files (BIFF), pieces that go on in the next one, and strings (MS-XLS 2.1.4, 2.5.293)."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

CONTINUE = 0x3C
_HIGH_BYTE, _EXTENDED, _RICH = 0x01, 0x04, 0x08


class Record(NamedTuple):
    """A record: its type, where it begins in the stream, its content, and that of the records that go on with it."""

    kind: int
    start: int
    data: bytes
    more: tuple[bytes, ...] = ()


def records(stream: bytes, start: int = 0) -> Iterator[Record]:
    """The records from a place on, up to the first that is cut off."""
    pending: tuple[int, int, bytes] | None = None
    more: list[bytes] = []
    at = start
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        data = stream[at + 4 : at + 4 + size]
        if kind == CONTINUE and pending is not None:
            more.append(data)
        else:
            if pending is not None:
                yield Record(*pending, tuple(more))
            pending, more = (kind, at, data), []
        at += 4 + size
    if pending is not None:
        yield Record(*pending, tuple(more))


class Pieces:
    """Reads over the borders between a record and those that go on with it. Raises IndexError at the end."""

    def __init__(self, record: Record) -> None:
        self._pieces = (record.data, *record.more)
        self._index = 0
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        taken = b""
        while True:
            piece = self._pieces[self._index]
            part = piece[self._at : self._at + size - len(taken)]
            taken += part
            self._at += len(part)
            if len(taken) >= size:
                return taken
            self._next()

    def skip(self, size: int) -> None:
        """Pass over bytes."""
        while size > (left := len(self._pieces[self._index]) - self._at):
            size -= left
            self._next()
        self._at += size

    def number(self, size: int) -> int:
        """The next bytes as a number without sign."""
        return int.from_bytes(self.take(size), "little")

    def string(self, count_bytes: int) -> str:
        """A Unicode string after its count of characters, with what may follow it (rich text, phonetics)."""
        count = self.number(count_bytes)
        flags = self.number(1)
        runs = self.number(2) if flags & _RICH else 0
        extension = self.number(4) if flags & _EXTENDED else 0
        text = self.characters(count, bool(flags & _HIGH_BYTE))
        self.skip(4 * runs + extension)
        return text

    def characters(self, count: int, wide: bool) -> str:
        """Characters of two bytes, or of their lower bytes only; each further piece states anew which."""
        parts: list[str] = []
        while count > 0:
            piece = self._pieces[self._index]
            width = 2 if wide else 1
            part = piece[self._at : self._at + count * width]
            parts.append(part.decode("utf-16-le" if wide else "latin-1", "replace"))
            self._at += len(part)
            count -= -(-len(part) // width)
            if count > 0:
                self._next()
                wide = bool(self.number(1) & _HIGH_BYTE)
        return "".join(parts)

    def _next(self) -> None:
        self._index += 1
        self._at = 0
        if self._index >= len(self._pieces):
            raise IndexError


def shared_strings(record: Record) -> list[str]:
    """The workbook's table of strings, up to the first that is damaged."""
    pieces = Pieces(record)
    strings: list[str] = []
    try:
        pieces.skip(4)
        for _ in range(pieces.number(4)):
            strings.append(pieces.string(2))
    except IndexError:
        pass
    return strings
