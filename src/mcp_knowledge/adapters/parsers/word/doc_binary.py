"""The structures of a Word 97-2003 file that anydoc leaves aside (MS-DOC): hidden and deleted runs, boxes, comments.

Positions: an FC is a byte offset in the stream WordDocument, a CP counts characters (UTF-16 units) over all of the
document's texts: main text, footnotes, headers, comments, endnotes, text boxes.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from mcp_knowledge.errors import KnowledgeError

# Offsets in the FIB (MS-DOC 2.5.1 to 2.5.7).
_FLAGS = 0x0A
_LENGTHS = 0x4C  # ccpText, ccpFtn, ccpHdd, (reserved), ccpAtn, ccpEdn, ccpTxbx
_CHARACTER_RUNS, _PIECES = 0xFA, 0x1A2
_COMMENT_PLACES, _COMMENT_TEXTS, _COMMENT_AUTHORS = 0xBA, 0xC2, 0x1BA
_SHAPE_PLACES, _BOX_TEXTS = 0x1DA, 0x25A
_SECOND_TABLE = 0x0200
_STYLES = 0xA2
TABLE_STREAMS = ("0Table", "1Table")

_PAGE_BYTES = 512  # of formatting (FKP)
_SHAPE_BYTES, _BOX_BYTES, _COMMENT_BYTES = 26, 22, 30
_DELETED, _HIDDEN = 0x0800, 0x083C  # sprmCFRMarkDel, sprmCFVanish
_TITLE, _HEADING = 62, 1  # built-in styles (sti, MS-DOC 2.9.260)
_STI = 0x0FFF
_OPERAND_BYTES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}  # by the sprm's spra; 6 states its length
_MAX_PIECES = 100_000
_WINDOW = 4_000  # characters around a place in which its paragraph is looked for
_MARKS = re.compile("[\r\x07\x0c]")  # ends of paragraphs, cells and pages
_NOTHING = 0x1F  # an optional hyphen: every reader passes it over
# What is structure and not text: marks of paragraphs, cells and fields, and line and page ends.
_STRUCTURE = frozenset((0x07, 0x0B, 0x0C, 0x0D, 0x0E, 0x13, 0x14, 0x15))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters from `first` up to `last` (CPs) that stand from `offset` (FC) on, one or two bytes each."""

    first: int
    last: int
    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Aside:
    """A text beside the main text, and the paragraph that it belongs to: empty for the beginning, None for the end."""

    anchor: str | None
    text: str
    author: str | None = None  # None: a text box


class WordFile:
    """The streams WordDocument and Table of a file; `visible_stream` is the first without hidden text."""

    def __init__(self, document: bytes, tables: Mapping[str, bytes | None]) -> None:
        """Raises DOCUMENT_MALFORMED when the beginning or the list of pieces cannot be read."""
        self._document = document
        try:
            (flags,) = struct.unpack_from("<H", document, _FLAGS)
            lengths = struct.unpack_from("<7I", document, _LENGTHS)
        except struct.error:
            raise KnowledgeError("DOCUMENT_MALFORMED") from None
        names = TABLE_STREAMS[::-1] if flags & _SECOND_TABLE else TABLE_STREAMS
        self.table_name = next((name for name in names if tables.get(name) is not None), names[0])
        self._table = tables.get(self.table_name) or b""
        main, footnotes, headers, _, comments, endnotes, _ = lengths
        self._headers_at = main + footnotes
        self._comments_at = main + footnotes + headers
        self._boxes_at = self._comments_at + comments + endnotes
        self._main_length = main
        self._pieces = list(self._read_pieces())
        self._piece_starts = [piece.first for piece in self._pieces]
        self.visible_stream = self._without_hidden_text()

    # ---------------------------------------------------------------- hidden and deleted text

    def _without_hidden_text(self) -> bytes:
        """The stream WordDocument, equally long, with the characters of hidden and deleted runs overwritten."""
        ranges = sorted(self._hidden_ranges())
        if not ranges:
            return self._document
        document = bytearray(self._document)
        ends = list(accumulate((last for _, last in ranges), max))
        for piece in self._pieces:
            start, end = piece.offset, piece.offset + (piece.last - piece.first) * piece.width
            for first, last in ranges[bisect_right(ends, start) :]:
                if first >= end:
                    break
                _blank(document, max(first, start), min(last, end, len(document)), piece.width)
        return bytes(document)

    def _hidden_ranges(self) -> Iterator[tuple[int, int]]:
        """FCs of runs that are hidden or deleted."""
        places, pages = self._places(_CHARACTER_RUNS, 4)
        for data in pages[: len(places) - 1]:
            page_number = int.from_bytes(data, "little") & 0x3FFFFF
            page = self._document[page_number * _PAGE_BYTES : (page_number + 1) * _PAGE_BYTES]
            if len(page) < _PAGE_BYTES:
                continue
            count = page[-1]
            if (count + 1) * 4 + count > _PAGE_BYTES:
                continue
            bounds = struct.unpack_from(f"<{count + 1}I", page)
            for index in range(count):
                at = page[(count + 1) * 4 + index] * 2
                if at and _hides(page[at + 1 : at + 1 + page[at]]):
                    yield bounds[index], bounds[index + 1]

    # ---------------------------------------------------------------- styles

    def table_with_titles(self) -> bytes:
        """The table stream, equally long, with the style of titles as a heading's: readers know those only."""
        start, length = self._range(_STYLES)
        table = bytearray(self._table)
        end = min(start + length, len(table))
        at = start + 2 + int.from_bytes(table[start : start + 2], "little")
        while at + 4 <= end:
            size, style = struct.unpack_from("<HH", table, at)
            if size and style & _STI == _TITLE:
                struct.pack_into("<H", table, at + 2, (style & ~_STI) | _HEADING)
            at += 2 + size + size % 2
        return bytes(table)

    # ---------------------------------------------------------------- text beside the main text

    def comments(self) -> list[Aside]:
        """Comments in the order of their places."""
        places, details = self._places(_COMMENT_PLACES, _COMMENT_BYTES)
        texts, _ = self._places(_COMMENT_TEXTS, 0)
        authors = self._authors()
        found = []
        for place, detail, first, last in zip(places, details, texts, texts[1:], strict=False):
            text = self._clean(self._comments_at + first, self._comments_at + last)
            index = int.from_bytes(detail[20:22], "little")
            author = authors[index] if index < len(authors) else ""
            if text:
                found.append(Aside(self._paragraph_at(place), text, author))
        return found

    def boxes(self) -> list[Aside]:
        """Texts of text boxes in the order of the shapes that hold them."""
        places, shapes = self._places(_SHAPE_PLACES, _SHAPE_BYTES)
        anchors = {shape[:4]: place for shape, place in zip(shapes, places, strict=False)}
        texts, details = self._places(_BOX_TEXTS, _BOX_BYTES)
        found = []
        for detail, first, last in zip(details, texts, texts[1:], strict=False):
            text = self._clean(self._boxes_at + first, self._boxes_at + last, "\n")
            if text:
                place = anchors.get(detail[14:18], self._main_length)
                found.append((place, Aside(self._paragraph_at(place), text)))
        return [aside for _, aside in sorted(found, key=lambda item: item[0])]

    def main_text(self) -> str:
        """The main text, with all marks."""
        return self.text(0, self._main_length)

    def furniture(self) -> str:
        """The texts of page headers and footers, with all marks."""
        return self.text(self._headers_at, self._comments_at)

    def _authors(self) -> list[str]:
        start, length = self._range(_COMMENT_AUTHORS)
        data = self._table[start : start + length]
        names, at = [], 0
        while at + 2 <= len(data):
            size = int.from_bytes(data[at : at + 2], "little") * 2
            names.append(data[at + 2 : at + 2 + size].decode("utf-16-le", "replace").strip())
            at += 2 + size
        return names

    def _paragraph_at(self, place: int) -> str | None:
        """The text of the main text's paragraph around a CP, or of the last one before it that has any.

        Empty at the beginning of the document, None beyond its end.
        """
        if place >= self._main_length:
            return None
        before = _MARKS.split(self.text(max(0, place - _WINDOW), place))
        after = _MARKS.split(self.text(place, min(self._main_length, place + _WINDOW)))
        candidates = [before[-1] + after[0], *reversed(before[:-1])]
        return next((text for text in map(visible, candidates) if any(map(str.isalnum, text))), "")

    def _clean(self, first: int, last: int, joint: str = " ") -> str:
        lines = (" ".join(visible(line).split()) for line in self.text(first, last).replace("\x07", "\r").split("\r"))
        return joint.join(filter(None, lines))

    def text(self, first: int, last: int) -> str:
        """The visible characters between two CPs, with all marks."""
        parts = []
        index = max(0, bisect_right(self._piece_starts, first) - 1)
        for piece in self._pieces[index:]:
            if piece.first >= last:
                break
            start, end = max(first, piece.first), min(last, piece.last)
            if start < end:
                at = piece.offset + (start - piece.first) * piece.width
                raw = self.visible_stream[at : at + (end - start) * piece.width]
                parts.append(raw.decode("utf-16-le" if piece.width == 2 else "cp1252", "replace"))
        return "".join(parts)

    # ---------------------------------------------------------------- tables of places

    def _range(self, at: int) -> tuple[int, int]:
        try:
            start, length = struct.unpack_from("<2I", self._document, at)
        except struct.error:
            return 0, 0
        return start, length

    def _places(self, at: int, size: int) -> tuple[tuple[int, ...], list[bytes]]:
        """A table of n + 1 positions and n pieces of data of this size (PLC)."""
        start, length = self._range(at)
        data = self._table[start : start + length]
        count = (len(data) - 4) // (4 + size)
        if count < 1 or len(data) < length:
            return (), []
        places = struct.unpack_from(f"<{count + 1}I", data)
        first = (count + 1) * 4
        return places, [data[first + index * size : first + (index + 1) * size] for index in range(count)]

    def _read_pieces(self) -> Iterator[_Piece]:
        start, length = self._range(_PIECES)
        data = self._table[start : start + length]
        at = 0
        while at + 3 <= len(data) and data[at] == 1:
            at += 3 + int.from_bytes(data[at + 1 : at + 3], "little")
        if at + 5 > len(data) or data[at] != 2:
            raise KnowledgeError("DOCUMENT_MALFORMED")
        data = data[at + 5 :]
        count = min((len(data) - 4) // 12, _MAX_PIECES)
        places = struct.unpack_from(f"<{count + 1}I", data) if count > 0 else ()
        for index in range(len(places) - 1):
            (position,) = struct.unpack_from("<I", data, (count + 1) * 4 + index * 8 + 2)
            compressed = bool(position & 0x40000000)
            offset = (position & 0x3FFFFFFF) // (2 if compressed else 1)
            yield _Piece(places[index], places[index + 1], offset, 1 if compressed else 2)


def visible(text: str) -> str:
    """Text without marks and without the instructions of fields; of a field only its result is seen."""
    parts: list[str] = []
    in_instruction: list[bool] = []
    for character in text:
        if character == "\x13":
            in_instruction.append(True)
        elif character == "\x14" and in_instruction:
            in_instruction[-1] = False
        elif character == "\x15" and in_instruction:
            in_instruction.pop()
        elif not any(in_instruction):
            parts.append(" " if character in "\t\x0b\x0c\x0e\xa0" else character if character >= " " else "")
    return "".join(parts)


def _hides(grpprl: bytes) -> bool:
    """Whether a run's properties delete or hide it; the last word counts."""
    hidden = deleted = False
    at = 0
    while at + 3 <= len(grpprl):
        (sprm,) = struct.unpack_from("<H", grpprl, at)
        size = _OPERAND_BYTES.get(sprm >> 13)
        if size is None:
            size = 1 + grpprl[at + 2]
        if sprm == _DELETED:
            deleted = grpprl[at + 2] != 0
        elif sprm == _HIDDEN:
            hidden = grpprl[at + 2] in (1, 0x81)  # on, or the reverse of the style's, which hardly ever hides
        at += 2 + size
    return hidden or deleted


def _blank(document: bytearray, start: int, end: int, width: int) -> None:
    for at in range(start, end - width + 1, width):
        code = int.from_bytes(document[at : at + width], "little")
        if code not in _STRUCTURE:
            document[at : at + width] = _NOTHING.to_bytes(width, "little")
