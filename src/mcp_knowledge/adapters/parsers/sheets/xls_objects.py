"""Comments, text boxes and charts of old Excel files (MS-XLS 2.4.179, 2.4.181, 2.4.329)."""

import struct

from mcp_knowledge.adapters.parsers.sheets.model import TOP_LEFT, Note, Range
from mcp_knowledge.adapters.parsers.sheets.xls_records import Pieces, Record

NOTE, OBJECT, TEXT, DRAWING, SERIES_TEXT = 0x1C, 0x5D, 0x1B6, 0xEC, 0x100D
_COMMENT_OBJECT = 0x19
_CLIENT_ANCHOR = 0xF010  # MS-XLS 2.5.193
_CONTAINER = 0xF
_NO_ROW = 0xFFFF


class Objects:
    """Collects what hangs at a sheet's cells while its records are read."""

    def __init__(self, encoding: str | None) -> None:
        """`encoding` of strings in files before Excel 97, whose comments are texts in one piece; else None."""
        self._encoding = encoding
        self._anchor = TOP_LEFT
        self._object = (0, 0)
        self._comment_texts: dict[int, str] = {}
        self._comment_places: dict[int, Range] = {}
        self.notes: list[Note] = []

    def record(self, record: Record) -> None:
        """Take a record of the sheet, of whatever type."""
        match record.kind:
            case _ if record.kind == DRAWING:
                self._anchor = _anchor(record.data) or self._anchor
            case _ if record.kind == OBJECT and len(record.data) >= 8:
                kind, number = struct.unpack_from("<HH", record.data, 4)
                self._object = (kind, number)
            case _ if record.kind == TEXT:
                self._text(record)
            case _ if record.kind == NOTE and len(record.data) >= 6:
                self._note(record.data)

    def chart(self, texts: list[str]) -> None:
        """A chart at the last anchor: its titles, and the names of its series."""
        if text := "\n".join(dict.fromkeys(filter(None, map(str.strip, texts)))):
            self.notes.append(Note(self._anchor, "", text))

    def finished(self) -> list[Note]:
        """All notes, with comments at their cells."""
        comments = [
            Note(place, "Comment", text)
            for number, place in self._comment_places.items()
            if (text := self._comment_texts.get(number, ""))
        ]
        return comments + self.notes

    def _text(self, record: Record) -> None:
        if len(record.data) < 12 or not record.more:
            return
        count = int.from_bytes(record.data[10:12], "little")
        pieces = Pieces(record._replace(data=record.more[0], more=record.more[1:]))
        try:
            text = pieces.characters(count, bool(pieces.number(1) & 1)).replace("\r", "\n").strip()
        except IndexError:
            return
        kind, number = self._object
        if kind == _COMMENT_OBJECT:
            self._comment_texts[number] = text
        elif text:
            self.notes.append(Note(self._anchor, "", text))

    def _note(self, data: bytes) -> None:
        row, column, third = struct.unpack_from("<HHH", data)
        place = Range(row + 1, column + 1, row + 1, column + 1)
        if self._encoding is None:
            if len(data) >= 8:
                self._comment_places[int.from_bytes(data[6:8], "little")] = place
            return
        text = data[6 : 6 + third].decode(self._encoding, "replace")
        if row == _NO_ROW and self.notes:  # a long comment goes on in further records
            self.notes[-1] = self.notes[-1]._replace(text=self.notes[-1].text + text)
        elif text.strip():
            self.notes.append(Note(place, "Comment", text.strip()))


def _anchor(data: bytes) -> Range | None:
    """The cells that a drawing's last shape lies on."""
    found: Range | None = None
    at = 0
    while at + 8 <= len(data):
        version, kind, size = struct.unpack_from("<HHI", data, at)
        if kind == _CLIENT_ANCHOR and at + 26 <= len(data):
            left, _, top, _, right, _, bottom = struct.unpack_from("<7H", data, at + 10)
            found = Range(top + 1, left + 1, max(top, bottom) + 1, max(left, right) + 1)
        at += 8 if version & _CONTAINER == _CONTAINER else 8 + size
    return found
