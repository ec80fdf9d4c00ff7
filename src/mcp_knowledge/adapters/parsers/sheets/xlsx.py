"""Excel workbooks in XML (xlsx, xlsm): their cells, read from the parts themselves (ECMA-376, part 1, 18)."""

import re
from collections.abc import Mapping
from datetime import datetime
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.sheets.drawings import sheet_notes, xml_comments
from mcp_knowledge.adapters.parsers.sheets.model import (
    PLAIN,
    Cell,
    CellBudget,
    Filters,
    Sheet,
    Style,
    Workbook,
    cell_of,
    range_of,
)
from mcp_knowledge.adapters.parsers.sheets.parts import Parts, feed_leniently
from mcp_knowledge.adapters.parsers.sheets.styles import format_code
from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.errors import KnowledgeError

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # ST_Xstring, 22.9.2.19
_TRUE = frozenset({"1", "true", "on"})
_EPOCH = datetime(1899, 12, 30)


def read_workbook(parts: Parts, budget: CellBudget, with_hidden: bool = False) -> Workbook:
    """All sheets that are shown, or all. Raises DOCUMENT_MALFORMED when there is no workbook in the package."""
    main = parts.main()
    listing = _Listing(with_hidden)
    feed(parts.content(main), listing)
    if not listing.found:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    strings = _Strings()
    styles = _Styles()
    for kind, handler in (("sharedStrings", strings), ("styles", styles)):
        for path in parts.related(main, kind):
            feed_leniently(parts.content(path), handler)
    workbook = Workbook(epoch_1904=listing.epoch_1904, hidden_sheets=listing.hidden)
    targets = parts.targets(main)
    for name, relation in listing.shown:
        kind, path = targets.get(relation, ("", ""))
        sheet = Sheet(name, with_hidden)
        if kind == "worksheet" and path in parts:
            reader = _SheetReader(sheet, strings.texts, styles.styles, budget, listing.epoch_1904)
            feed_leniently(parts.content(path), reader)
            for table in parts.related(path, "table"):
                feed_leniently(parts.content(table), _TableReader(reader.filters))
            reader.filters.finish()
        sheet.notes += sheet_notes(parts, path, xml_comments)
        workbook.sheets.append(sheet)
    return workbook


class _Listing(Handler):
    """The workbook part: names and relations of the sheets that are not hidden."""

    def __init__(self, with_hidden: bool) -> None:
        self._with_hidden = with_hidden
        self.shown: list[tuple[str, str]] = []
        self.epoch_1904 = False
        self.found = False
        self.hidden = 0

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "workbookPr":
            self.epoch_1904 = attributes.get("date1904", "") in _TRUE
        elif name == "sheet":
            self.found = True
            if self._with_hidden or attributes.get("state", "visible") == "visible":
                self.shown.append((attributes.get("name", ""), attributes.get("r:id", "")))
            else:
                self.hidden += 1


class _Text(Handler):
    """Rich text of `si` and `is`: its runs, without phonetic hints."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._in_text = False
        self._phonetic = False

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "t":
            self._in_text = not self._phonetic
        elif name == "rPh":
            self._phonetic = True

    def text(self, text: str) -> None:
        if self._in_text:
            self.pieces.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "t":
            self._in_text = False
        elif name == "rPh":
            self._phonetic = False


class _Strings(_Text):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        super().end(name, parser)
        if name == "si":
            self.texts.append(unescaped("".join(self.pieces)))
            self.pieces = []


def unescaped(text: str) -> str:
    """Text with `_x000D_` and the like replaced by what they stand for."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


class _Styles(Handler):
    """The cell formats by index."""

    def __init__(self) -> None:
        self.styles: list[Style] = []
        self._codes: dict[str, str] = {}
        self._bold_fonts: list[bool] = []
        self._path: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if name == "numFmt" and parent == "numFmts":
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name == "font" and parent == "fonts":
            self._bold_fonts.append(False)
        elif name == "b" and parent == "font" and self._bold_fonts and self._path[-3] == "fonts":
            self._bold_fonts[-1] = attributes.get("val", "1") in _TRUE
        elif name == "xf" and parent == "cellXfs":
            font = attributes.get("fontId", "")
            bold = font.isdecimal() and int(font) < len(self._bold_fonts) and self._bold_fonts[int(font)]
            number = attributes.get("numFmtId", "0")
            self.styles.append(Style(format_code(self._codes.get(number), number), bold))

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        self._path.pop()


class _SheetReader(_Text):
    """A worksheet part: cells and what is hidden, merged and filtered."""

    def __init__(
        self, sheet: Sheet, strings: list[str], styles: list[Style], budget: CellBudget, epoch_1904: bool
    ) -> None:
        super().__init__()
        self.sheet = sheet
        self.filters = Filters(sheet)
        self._strings, self._styles, self._budget, self._epoch_1904 = strings, styles, budget, epoch_1904
        self._row = 0
        self._cell: Mapping[str, str] = {}
        self._reference, self._steps = "", 0  # the last reference that a cell of the row states, and cells since then
        self._type, self._style = "n", PLAIN
        self._value: list[str] | None = None
        self._formula: list[str] | None = None
        self._sink: list[str] | None = None

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "c":
            self._start_cell(attributes)
        elif name == "v":
            self._sink = self._value = []
        elif name == "f":
            self._sink = self._formula = []
        elif name in ("t", "rPh"):
            super().start(name, attributes, parser)
        elif name == "row":
            self._start_row(attributes)
        elif name == "col":
            if attributes.get("hidden") in _TRUE and attributes.get("outlineLevel", "0") == "0":
                first, last = attributes.get("min", ""), attributes.get("max", "")
                if first.isdecimal() and last.isdecimal():
                    self.sheet.hidden_columns.append((int(first), int(last)))
        elif name == "mergeCell":
            if merged := range_of(attributes.get("ref", "")):
                self.sheet.merged.append(merged)
        elif name == "autoFilter":
            self.filters.add(range_of(attributes.get("ref", "")))
        elif name == "filterColumn":
            self.filters.activate()

    def text(self, text: str) -> None:
        if self._sink is not None:
            self._sink.append(text)
        else:
            super().text(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "c":
            self._end_cell()
        elif name in ("v", "f"):
            self._sink = None
        elif name in ("t", "rPh"):
            super().end(name, parser)

    def _start_row(self, attributes: Mapping[str, str]) -> None:
        number = attributes.get("r", "")
        self._row = int(number) if number.isdecimal() and len(number) < 8 else self._row + 1
        self._reference, self._steps = "", 0
        hidden = attributes.get("hidden") in _TRUE
        if hidden and attributes.get("outlineLevel", "0") == "0":
            self.filters.hide(self._row)

    def _start_cell(self, attributes: Mapping[str, str]) -> None:
        """Begin a cell. Most of a formatted sheet's cells are blank: nothing is worked out that only others need."""
        if "r" in attributes:
            self._reference, self._steps = attributes["r"], 0
        else:
            self._steps += 1
        self._cell = attributes
        self._value = self._formula = None
        if self.pieces:
            self.pieces = []

    def _end_cell(self) -> None:
        if self._value is None and self._formula is None and not self.pieces:
            return
        self._type = self._cell.get("t", "n")
        style = self._cell.get("s", "0")
        index = int(style) if style.isdecimal() else 0
        self._style = self._styles[index] if index < len(self._styles) else PLAIN
        value = self._cell_value()
        if value is not None:
            row, column = cell_of(self._reference) or (self._row, 0)
            self.sheet.put(row, column + self._steps, Cell(value, self._style), self._budget)

    def _cell_value(self) -> str | float | bool | None:
        text = "".join(self._value) if self._value is not None else ""
        if self._type == "inlineStr":
            return unescaped("".join(self.pieces)) or text or None
        if not text:
            formula = "".join(self._formula or ()).strip()
            return f"={formula}" if formula and self._type != "str" else None
        match self._type:
            case "s":
                index = int(text) if text.strip().isdecimal() else -1
                return self._strings[index] if 0 <= index < len(self._strings) else None
            case "b":
                return text.strip() in _TRUE
            case "str":
                return unescaped(text)
            case "e":
                return text
            case "d":
                return self._serial(text)
        try:
            return float(text)
        except ValueError:
            return text

    def _serial(self, text: str) -> str | float:
        """A date in ISO 8601 as the number that other dates are."""
        try:
            moment = datetime.fromisoformat(text.strip().removesuffix("Z"))
        except ValueError:
            return text
        if not self._style.code or moment.tzinfo is not None:
            return text
        days: float = (moment - _EPOCH).total_seconds() / 86_400
        return days - 1462 if self._epoch_1904 else days


class _TableReader(Handler):
    """A table part: its range, and whether it filters."""

    def __init__(self, filters: Filters) -> None:
        self._filters = filters

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "table" and attributes.get("headerRowCount", "1") != "0":
            if table := range_of(attributes.get("ref", "")):
                self._filters.add(table)
        elif name == "autoFilter":
            self._filters.add(range_of(attributes.get("ref", "")))
        elif name == "filterColumn" and attributes.get("hiddenButton") not in _TRUE:
            self._filters.activate()
