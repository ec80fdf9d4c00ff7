"""Excel's binary packages (xlsb): the parts of an xlsx as records (MS-XLSB 2.4)."""

import struct
from collections.abc import Container, Iterator

from mcp_knowledge.adapters.parsers.sheets.binary import error_text, rk_number
from mcp_knowledge.adapters.parsers.sheets.drawings import sheet_notes
from mcp_knowledge.adapters.parsers.sheets.model import (
    PLAIN,
    Cell,
    CellBudget,
    Filters,
    Note,
    Range,
    Sheet,
    Style,
    Workbook,
)
from mcp_knowledge.adapters.parsers.sheets.parts import Parts
from mcp_knowledge.adapters.parsers.sheets.styles import format_code

_BUNDLE_SHEET, _WORKBOOK_PROPERTIES, _STRING_ITEM = 156, 153, 19
_FORMAT, _FONT, _XF, _BEGIN_CELL_XFS, _END_CELL_XFS = 44, 43, 47, 617, 618
_ROW, _COLUMNS, _MERGED, _FILTER, _FILTER_COLUMN, _LIST = 0, 60, 176, 161, 163, 343
_BEGIN_COMMENT, _COMMENT_TEXT = 635, 637
_ROW_HIDDEN, _ROW_OUTLINE = 0x10, 0x07
_COLUMN_HIDDEN, _COLUMN_OUTLINE = 0x0001, 0x0700
_BOLD_WEIGHT = 600
_CELL_BYTES, _SHORT_CELL_BYTES = 8, 4  # what stands before the value: column and style, or the style alone


def read_workbook(parts: Parts, budget: CellBudget, with_hidden: bool = False) -> Workbook:
    """All sheets that are shown, or all."""
    main = parts.main()
    workbook = Workbook()
    targets = parts.targets(main)
    strings = [
        text
        for path in parts.related(main, "sharedStrings")
        for kind, record in _records(parts.content(path))
        if kind == _STRING_ITEM
        for text in [_wide_string(record, 1)[0]]
    ]
    styles = [style for path in parts.related(main, "styles") for style in _styles(parts.content(path))]
    for kind, record in _records(parts.content(main)):
        if kind == _WORKBOOK_PROPERTIES and record:
            workbook.epoch_1904 = bool(record[0] & 1)
        elif kind == _BUNDLE_SHEET and record[:4] != b"\0\0\0\0" and not with_hidden:
            workbook.hidden_sheets += 1
        elif kind == _BUNDLE_SHEET:
            relation, name = _sheet_names(record, targets)
            sheet = Sheet(name, with_hidden)
            target_kind, path = targets.get(relation, ("", ""))
            if target_kind == "worksheet":
                _SheetReader(sheet, strings, styles, budget).read(parts, path)
            sheet.notes += sheet_notes(parts, path, _comments)
            workbook.sheets.append(sheet)
    return workbook


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, content) of each record of a part, up to the first that is cut off."""
    at, end = 0, len(data)
    try:
        while at < end:
            kind, at = data[at], at + 1
            if kind & 0x80:
                kind, at = kind & 0x7F | (data[at] & 0x7F) << 7, at + 1
            size = shift = 0
            for _ in range(4):
                byte, at = data[at], at + 1
                size |= (byte & 0x7F) << shift
                shift += 7
                if not byte & 0x80:
                    break
            if at + size > end:
                return
            yield kind, data[at : at + size]
            at += size
    except IndexError:
        return


def _wide_string(record: bytes, at: int) -> tuple[str, int]:
    """A string and where it ends; empty where there is none."""
    if at + 4 > len(record):
        return "", len(record)
    (count,) = struct.unpack_from("<I", record, at)
    if count == 0xFFFFFFFF:
        return "", at + 4
    end = min(at + 4 + 2 * count, len(record))
    return record[at + 4 : end].decode("utf-16-le", "replace"), end


def _sheet_names(record: bytes, targets: Container[str]) -> tuple[str, str]:
    """Relation id and name; files of Excel 2007's test versions have one more number before them."""
    for start in (8, 12):
        relation, at = _wide_string(record, start)
        if relation in targets:
            return relation, _wide_string(record, at)[0]
    return "", ""


def _styles(data: bytes) -> list[Style]:
    codes: dict[int, str] = {}
    bold: list[bool] = []
    styles: list[Style] = []
    in_cells = False
    for kind, record in _records(data):
        if kind == _FORMAT and len(record) > 2:
            codes[int.from_bytes(record[:2], "little")] = _wide_string(record, 2)[0]
        elif kind == _FONT:
            bold.append(int.from_bytes(record[4:6], "little") >= _BOLD_WEIGHT)
        elif kind in (_BEGIN_CELL_XFS, _END_CELL_XFS):
            in_cells = kind == _BEGIN_CELL_XFS
        elif kind == _XF and in_cells:
            number, font = int.from_bytes(record[2:4], "little"), int.from_bytes(record[4:6], "little")
            styles.append(Style(format_code(codes.get(number), number), font < len(bold) and bold[font]))
    return styles


def _range(record: bytes, at: int = 0) -> Range:
    top, bottom, left, right = struct.unpack("<4I", record[at : at + 16].ljust(16, b"\0"))
    return Range(top + 1, left + 1, bottom + 1, right + 1)


def _comments(data: bytes) -> list[Note]:
    notes: list[Note] = []
    where: Range | None = None
    for kind, record in _records(data):
        if kind == _BEGIN_COMMENT:
            where = _range(record, 4)
        elif kind == _COMMENT_TEXT and where is not None:
            notes.append(Note(where, "Comment", _wide_string(record, 1)[0].strip()))
    return [note for note in notes if note.text]


class _SheetReader:
    def __init__(self, sheet: Sheet, strings: list[str], styles: list[Style], budget: CellBudget) -> None:
        self._sheet, self._strings, self._styles, self._budget = sheet, strings, styles, budget
        self._filters = Filters(sheet)
        self._row = self._column = 0

    def read(self, parts: Parts, path: str) -> None:
        """Fill the sheet from its part and its tables' parts."""
        for kind, record in _records(parts.content(path)):
            self._record(kind, record)
        for table in parts.related(path, "table"):
            for kind, record in _records(parts.content(table)):
                if kind == _LIST and len(record) >= 28 and record[24:28] != b"\0\0\0\0":
                    self._filters.add(_range(record))
                elif kind in (_FILTER, _FILTER_COLUMN):
                    self._record(kind, record)
        self._filters.finish()

    def _record(self, kind: int, record: bytes) -> None:
        if kind == _ROW and len(record) >= 12:
            self._row, self._column = int.from_bytes(record[:4], "little") + 1, 0
            if record[11] & _ROW_HIDDEN and not record[11] & _ROW_OUTLINE:
                self._filters.hide(self._row)
        elif kind in _VALUES and len(record) >= _CELL_BYTES:
            self._column = int.from_bytes(record[:4], "little") + 1
            self._cell(kind, record[4:7], record[_CELL_BYTES:])
        elif kind in _SHORT_CELLS and len(record) >= _SHORT_CELL_BYTES:
            self._column += 1
            self._cell(_SHORT_CELLS[kind], record[:3], record[_SHORT_CELL_BYTES:])
        elif kind == _COLUMNS and len(record) >= 18:
            first, last = struct.unpack_from("<II", record)
            flags = int.from_bytes(record[16:18], "little")
            if flags & _COLUMN_HIDDEN and not flags & _COLUMN_OUTLINE:
                self._sheet.hidden_columns.append((first + 1, last + 1))
        elif kind in (_MERGED, _FILTER) and len(record) >= 16:
            if kind == _MERGED:
                self._sheet.merged.append(_range(record))
            else:
                self._filters.add(_range(record))
        elif kind == _FILTER_COLUMN:
            self._filters.activate()

    def _cell(self, kind: int, style: bytes, data: bytes) -> None:
        value = self._value(kind, data)
        if value is not None:
            index = int.from_bytes(style, "little")
            shown = self._styles[index] if index < len(self._styles) else PLAIN
            self._sheet.put(self._row, self._column, Cell(value, shown), self._budget)

    def _value(self, kind: int, data: bytes) -> str | float | bool | None:
        match _VALUES[kind]:
            case "rk" if len(data) >= 4:
                return rk_number(int.from_bytes(data[:4], "little"))
            case "real" if len(data) >= 8:
                return float(struct.unpack_from("<d", data)[0])
            case "error" if data:
                return error_text(data[0])
            case "truth" if data:
                return data[0] != 0
            case "text":
                return _wide_string(data, 0)[0]
            case "rich":
                return _wide_string(data, 1)[0]
            case "shared" if len(data) >= 4:
                index = int.from_bytes(data[:4], "little")
                return self._strings[index] if index < len(self._strings) else None
        return None


# What a cell's record holds; formulas begin with the value they had last.
_VALUES = {
    1: "blank",
    2: "rk",
    3: "error",
    4: "truth",
    5: "real",
    6: "text",
    7: "shared",
    8: "text",
    9: "real",
    10: "truth",
    11: "error",
    62: "rich",
}
_SHORT_CELLS = {12: 1, 13: 2, 14: 3, 15: 4, 16: 5, 17: 6, 18: 7}
