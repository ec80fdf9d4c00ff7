"""A worksheet of an old Excel file: cells, and what is merged and hidden.

Sources: MS-XLS 2.4; for Excel 2 to 4, OpenOffice's documentation of the Excel file format, 5.
"""

import struct

from mcp_knowledge.adapters.parsers.sheets.binary import error_text, rk_number
from mcp_knowledge.adapters.parsers.sheets.model import PLAIN, Cell, CellBudget, Filters, Range, Sheet, Style
from mcp_knowledge.adapters.parsers.sheets.xls_objects import SERIES_TEXT, Objects
from mcp_knowledge.adapters.parsers.sheets.xls_records import Pieces, Record

_BEGINS, _END = (0x0009, 0x0209, 0x0409, 0x0809), 0x0A
_ROW, _COLUMNS, _MERGED, _FILTER_MODE = 0x208, 0x7D, 0xE5, 0x9B
_MANY_NUMBERS = 0xBD
# What a cell's record holds. Those of Excel 2 have three bytes of appearance where later ones have the format's index.
_CELLS = {
    0xFD: "shared",
    0x204: "text",
    0xD6: "text",
    0x203: "real",
    0x27E: "rk",
    0x205: "truth",
    0x06: "formula",
    0x206: "formula",
    0x406: "formula",
}
_OLD_CELLS = {0x02: "integer", 0x03: "real", 0x04: "text", 0x05: "truth", 0x06: "formula"}
_STRINGS = (0x207, 0x07)
_ROW_HIDDEN, _ROW_OUTLINE = 0x20, 0x07
_COLUMN_HIDDEN, _COLUMN_OUTLINE = 0x0001, 0x0700
_NO_NUMBER = b"\xff\xff"  # at the end of a formula's value: it is no number


class SheetReader:
    """Fills a sheet from its records."""

    def __init__(
        self, sheet: Sheet, strings: list[str], styles: list[Style], budget: CellBudget, encoding: str | None
    ) -> None:
        """`encoding` of the strings of a file before Excel 97; None for later ones."""
        self._sheet, self._strings, self._styles, self._budget = sheet, strings, styles, budget
        self._encoding = encoding
        self._filters = Filters(sheet)
        self._filtered = False
        self._objects = Objects(encoding)
        self._depth = 0
        self._old = False
        self._awaited: tuple[int, int, Style] | None = None
        self._chart: list[str] = []

    def record(self, record: Record, in_chart: bool) -> None:
        """Take a record. `in_chart`: the sheet itself is a chart."""
        if record.kind in _BEGINS:
            self._depth += 1
            self._old = record.kind == _BEGINS[0]
        elif record.kind == _END:
            self._depth -= 1
            self._end_chart()
        elif self._depth > 1 or in_chart:
            if record.kind == SERIES_TEXT:
                self._series_text(record)
        else:
            self._sheet_record(record)

    def finish(self) -> None:
        """Give the sheet what is known only when all of it is read."""
        self._end_chart()
        if not self._filtered:
            self._filters.finish()
        self._sheet.notes += self._objects.finished()

    def _sheet_record(self, record: Record) -> None:
        kind, data = record.kind, record.data
        cells = _OLD_CELLS if self._old else _CELLS
        if kind in cells and len(data) >= 7:
            self._cell(cells[kind], record)
        elif kind == _MANY_NUMBERS:
            self._many_numbers(data)
        elif kind in _STRINGS and self._awaited is not None:
            self._formula_text(record)
        elif kind == _ROW and len(data) >= 14:
            flags = data[12]
            if flags & _ROW_HIDDEN and not flags & _ROW_OUTLINE:
                self._filters.hide(int.from_bytes(data[:2], "little") + 1)
        elif kind == _COLUMNS and len(data) >= 10:
            first, last, _, _, shown = struct.unpack_from("<5H", data)
            if shown & _COLUMN_HIDDEN and not shown & _COLUMN_OUTLINE:
                self._sheet.hidden_columns.append((first + 1, last + 1))
        elif kind == _MERGED:
            for at in range(2, len(data) - 7, 8):
                top, bottom, left, right = struct.unpack_from("<4H", data, at)
                self._sheet.merged.append(Range(top + 1, left + 1, bottom + 1, right + 1))
        elif kind == _FILTER_MODE:
            self._filtered = True
        else:
            self._objects.record(record)

    def _cell(self, kind: str, record: Record) -> None:
        data = record.data
        row, column, index = struct.unpack_from("<3H", data)
        style = PLAIN if self._old else self._style(index)
        start = 7 if self._old else 6
        self._awaited = None
        value: str | float | bool | None = None
        match kind:
            case "shared" if len(data) >= 10:
                (number,) = struct.unpack_from("<I", data, 6)
                value = self._strings[number] if number < len(self._strings) else None
            case "text":
                value = self._text(record, start, 1 if self._old else 2)
            case "real" if len(data) >= start + 8:
                (value,) = struct.unpack_from("<d", data, start)
            case "integer" if len(data) >= 9:
                value = float(int.from_bytes(data[7:9], "little"))
            case "rk" if len(data) >= 10:
                value = rk_number(int.from_bytes(data[6:10], "little"))
            case "truth" if len(data) >= start + 2:
                value = error_text(data[start]) if data[start + 1] else data[start] != 0
            case "formula" if len(data) >= start + 8:
                value = self._formula_value(data[start : start + 8])
                if data[start] == 0 and data[start + 6 : start + 8] == _NO_NUMBER:
                    self._awaited = (row + 1, column + 1, style)
        if value is not None:
            self._sheet.put(row + 1, column + 1, Cell(value, style), self._budget)

    def _style(self, index: int) -> Style:
        return self._styles[index] if index < len(self._styles) else PLAIN

    def _many_numbers(self, data: bytes) -> None:
        if len(data) < 12:
            return
        row, column = struct.unpack_from("<HH", data)
        for at in range(4, len(data) - 7, 6):
            index, packed = struct.unpack_from("<HI", data, at)
            self._sheet.put(row + 1, column + 1, Cell(rk_number(packed), self._style(index)), self._budget)
            column += 1

    def _formula_value(self, data: bytes) -> float | str | bool | None:
        if data[6:] != _NO_NUMBER:
            return float(struct.unpack("<d", data)[0])
        match data[0]:
            case 1:
                return data[2] != 0
            case 2:
                return error_text(data[2])
        return None

    def _formula_text(self, record: Record) -> None:
        assert self._awaited is not None
        row, column, style = self._awaited
        self._awaited = None
        self._sheet.put(row, column, Cell(self._text(record, 0, 1 if self._old else 2), style), self._budget)

    def _text(self, record: Record, start: int, count_bytes: int) -> str:
        pieces = Pieces(record)
        try:
            pieces.skip(start)
            if self._encoding is None:
                return pieces.string(count_bytes)
            return pieces.take(pieces.number(count_bytes)).decode(self._encoding, "replace")
        except IndexError:
            return ""

    def _series_text(self, record: Record) -> None:
        pieces = Pieces(record)
        try:
            pieces.skip(2)
            if self._encoding is None:
                self._chart.append(pieces.string(1))
            else:
                self._chart.append(pieces.take(pieces.number(1)).decode(self._encoding, "replace"))
        except IndexError:
            return

    def _end_chart(self) -> None:
        self._objects.chart(self._chart)
        self._chart = []
