"""Excel 97-2003 workbooks (xls) and their ancestors back to Excel 2, record by record (MS-XLS 2.4)."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_knowledge.adapters.parsers import ole
from mcp_knowledge.adapters.parsers.ole_properties import code_page_name, ole_properties
from mcp_knowledge.adapters.parsers.sheets.document import shown_document
from mcp_knowledge.adapters.parsers.sheets.model import CellBudget, Sheet, Style, Workbook
from mcp_knowledge.adapters.parsers.sheets.styles import format_code
from mcp_knowledge.adapters.parsers.sheets.xls_cells import SheetReader
from mcp_knowledge.adapters.parsers.sheets.xls_password import FILE_PASS, decrypted, default_key
from mcp_knowledge.adapters.parsers.sheets.xls_records import Pieces, Record, records, shared_strings
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_BOFS = {0x0009: 2, 0x0209: 3, 0x0409: 4, 0x0809: 5}  # the beginning of a part, by version
_END, _BOUND_SHEET, _SHARED_STRINGS, _FORMAT, _DATE_MODE, _CODE_PAGE = 0x0A, 0x85, 0xFC, 0x1E, 0x22, 0x42
_OLD_FORMAT, _SHEET_NAME, _EXCEL_4_WORKBOOK = 0x41E, 0x8F, b"\x00\x01"
_FONTS, _XFS = (0x31, 0x231), (0xE0, 0x443, 0x243, 0x43)
_BIFF8 = 0x0600
_WORKSHEET, _CHART = 0, 2
_BOLD_WEIGHT = 600
_MAC_ROMAN = 0x8000
_NEWEST_BOF = b"\x09\x08\x10\x00\x00\x06\x05\x00"


@dataclass(slots=True)
class Globals:
    """What all sheets of a workbook share. `version`: of the format, 2 to 8; `encoding` of strings before 8."""

    version: int = 8
    encoding: str = "cp1252"
    epoch_1904: bool = False
    strings: list[str] = field(default_factory=list)
    codes: dict[int, str] = field(default_factory=dict)
    bold_fonts: list[bool] = field(default_factory=list)
    formats: list[tuple[int, int]] = field(default_factory=list)
    sheets: list[tuple[str, int, int]] = field(default_factory=list)
    hidden_sheets: int = 0
    with_hidden: bool = False

    def styles(self) -> list[Style]:
        """The cell formats by index. There is no font 4: later ones count one more."""
        styles = []
        for font, number in self.formats:
            index = font - 1 if font > 4 else font
            bold = index < len(self.bold_fonts) and self.bold_fonts[index]
            styles.append(Style(format_code(self.codes.get(number), number), bold))
        return styles


def parse(source: Source) -> NormalizedDocument:
    """The workbook's document."""
    if not source.data.startswith(ole.MAGIC):
        return _document(source, source.data, {})
    try:
        container = ole.Container(source.data)
    except KnowledgeError:  # its directory is damaged: the workbook may still stand there in one piece
        start = source.data.find(_NEWEST_BOF)
        if start < 0:
            raise
        return _document(source, source.data[start:], {})
    stream = container.stream("Workbook") or container.stream("Book")
    if stream is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return _document(source, stream, ole_properties(container))


def _document(source: Source, stream: bytes, properties: Mapping[str, Any]) -> NormalizedDocument:
    def read(with_hidden: bool) -> Workbook:
        return read_workbook(stream, CellBudget(source.limits), with_hidden)

    return shown_document(read, properties, source.filename)


def read_workbook(stream: bytes, budget: CellBudget, with_hidden: bool = False) -> Workbook:
    """All sheets that are shown, or all. Raises DOCUMENT_MALFORMED, or DOCUMENT_ENCRYPTED."""
    shared = Globals(with_hidden=with_hidden)
    first = next(records(stream), None)
    if first is None or first.kind not in _BOFS:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    stream = _in_clear(stream)
    shared.version = _version(first)
    if first.data[2:4] == _EXCEL_4_WORKBOOK:
        shared.sheets = list(_excel_4_sheets(stream, shared.encoding))
    for record in _part(stream, 0):
        _read_global(record, shared)
    workbook = Workbook(epoch_1904=shared.epoch_1904, hidden_sheets=shared.hidden_sheets)
    styles = shared.styles()
    for name, start, kind in shared.sheets or [("Sheet1", 0, _WORKSHEET)]:
        sheet = Sheet(name, with_hidden)
        encoding = None if shared.version == 8 else shared.encoding
        reader = SheetReader(sheet, shared.strings, styles, budget, encoding)
        for record in _part(stream, start):
            reader.record(record, in_chart=kind == _CHART)
        reader.finish()
        workbook.sheets.append(sheet)
    return workbook


def _in_clear(stream: bytes) -> bytes:
    """The stream without its encryption, if the password is the one that everybody knows."""
    found = next((record.data for record in _part(stream, 0) if record.kind == FILE_PASS), None)
    if found is None:
        return stream
    key = default_key(found)
    if key is None:
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    return decrypted(stream, key)


def _excel_4_sheets(stream: bytes, encoding: str) -> Iterator[tuple[str, int, int]]:
    """The sheets inside an Excel 4 workbook: each has its name in front of it."""
    name = ""
    for record in records(stream):
        if record.kind == _SHEET_NAME and len(record.data) >= 5:
            name = record.data[5 : 5 + record.data[4]].decode(encoding, "replace")
        elif record.kind in _BOFS and name:
            yield name, record.start, _WORKSHEET
            name = ""


def _version(record: Record) -> int:
    version = _BOFS[record.kind]
    return 8 if version == 5 and record.data[:2] == _BIFF8.to_bytes(2, "little") else version


def _part(stream: bytes, start: int) -> Iterator[Record]:
    """The records of the part that begins at a place, with the charts inside it, without its end."""
    depth = 0
    for record in records(stream, start):
        if record.kind in _BOFS:
            depth += 1
        elif depth == 0:
            return
        elif record.kind == _END:
            depth -= 1
            if depth == 0:
                return
        yield record


def _read_global(record: Record, shared: Globals) -> None:
    data = record.data
    match record.kind:
        case _ if record.kind == _BOUND_SHEET and len(data) >= 8:
            _read_bound_sheet(record, shared)
        case _ if record.kind == _SHARED_STRINGS:
            shared.strings = shared_strings(record)
        case _ if record.kind in (_FORMAT, _OLD_FORMAT):
            _read_format(record, shared)
        case _ if record.kind in _FONTS and len(data) >= 8:
            weight = int.from_bytes(data[6:8], "little") if shared.version >= 5 else 700 * (data[2] & 1)
            shared.bold_fonts.append(weight >= _BOLD_WEIGHT)
        case _ if record.kind in _XFS and len(data) >= 4:
            font, number = struct.unpack_from("<HH", data) if shared.version >= 5 else struct.unpack_from("BB", data)
            if shared.version == 2:
                number = data[2] & 0x3F
            shared.formats.append((font, number))
        case _ if record.kind == _DATE_MODE:
            shared.epoch_1904 = data[:1] == b"\x01"
        case _ if record.kind == _CODE_PAGE and len(data) >= 2:
            number = int.from_bytes(data[:2], "little")
            shared.encoding = "mac_roman" if number == _MAC_ROMAN else code_page_name(number)


def _read_bound_sheet(record: Record, shared: Globals) -> None:
    start, state, kind = struct.unpack_from("<IBB", record.data)
    pieces = Pieces(record)
    pieces.skip(6)
    if shared.version == 8:
        try:
            name = pieces.string(1)
        except IndexError:
            name = ""
    else:
        name = record.data[7 : 7 + record.data[6]].decode(shared.encoding, "replace")
    if state & 0x3 and not shared.with_hidden:
        shared.hidden_sheets += 1
    elif kind in (_WORKSHEET, _CHART):
        shared.sheets.append((name, start, kind))


def _read_format(record: Record, shared: Globals) -> None:
    pieces = Pieces(record)
    try:
        number = pieces.number(2) if shared.version >= 4 else len(shared.codes)
        if shared.version == 8:
            shared.codes[number] = pieces.string(2)
        else:
            shared.codes[number] = pieces.take(pieces.number(1)).decode(shared.encoding, "replace")
    except IndexError:
        pass
