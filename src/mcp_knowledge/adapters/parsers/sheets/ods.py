"""OpenDocument spreadsheets (ods): cells show the text that stands in them (ODF 1.3, part 3, 9)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.sheets.document import shown_document
from mcp_knowledge.adapters.parsers.sheets.model import (
    MAX_COLUMN,
    MAX_ROW,
    PLAIN,
    Cell,
    CellBudget,
    Note,
    Range,
    Sheet,
    Style,
    Workbook,
    cell_of,
)
from mcp_knowledge.adapters.parsers.sheets.ods_values import value_text
from mcp_knowledge.adapters.parsers.sheets.parts import feed_leniently
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.odt import open_document_properties, read_open_document
from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_BOLD = Style(bold=True)
_BOLD_WEIGHTS = frozenset({"bold", "600", "700", "800", "900"})
_SHAPES = frozenset(
    {
        "frame",
        "custom-shape",
        "rect",
        "ellipse",
        "circle",
        "line",
        "connector",
        "caption",
        "polygon",
        "polyline",
        "path",
    }
)
_MAX_SPACES = 1_000


def parse(source: Source) -> NormalizedDocument:
    """The spreadsheet's document."""
    parts = read_open_document(source)

    def read(with_hidden: bool) -> Workbook:
        return read_workbook(parts, CellBudget(source.limits), with_hidden)

    return shown_document(read, open_document_properties(parts), source.filename)


def read_workbook(parts: Mapping[str, bytes], budget: CellBudget, with_hidden: bool = False) -> Workbook:
    """All sheets that are shown, or all. Raises DOCUMENT_MALFORMED for what is no such file."""
    content = parts.get("content.xml")
    if content is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    reader = _ContentReader(parts, budget, with_hidden)
    try:
        feed(content, reader)
    except KnowledgeError as error:
        if error.code != "DOCUMENT_MALFORMED" or not reader.workbook.sheets:
            raise
    return reader.workbook


class _Place(NamedTuple):
    """Where a comment or shape began to be read, and the cell to which it reaches."""

    depth: int
    label: str
    end: str


class _ContentReader(Handler):
    """The content part: automatic styles, sheets, and filters at the end.

    Rows that a filter leaves out are no hidden ones: the file itself tells them apart.
    """

    def __init__(self, parts: Mapping[str, bytes], budget: CellBudget, with_hidden: bool) -> None:
        self._with_hidden = with_hidden
        self.workbook = Workbook()
        self._by_name: dict[str, Sheet] = {}
        self._parts, self._budget = parts, budget
        self._depth = 0
        self._style = ""
        self._bold_styles: set[str] = set()
        self._hidden_tables: set[str] = set()
        self._sheet: Sheet | None = None
        self._table_depth = 0
        self._outlines: list[bool] = []
        self._row = self._column = 0
        self._row_repeat = self._cell_repeat = 1
        self._cell: Mapping[str, str] | None = None
        self._covered = False
        self._lines: list[str] = []
        self._open_lines: list[list[str]] = []
        self._texts: list[tuple[int, int, Cell]] = []
        self._aside: _Place | None = None
        self._aside_lines: list[str] = []
        self._starts: dict[str, Callable[[Mapping[str, str]], None]] = {
            "style": self._start_style,
            "text-properties": self._text_properties,
            "table-properties": self._table_properties,
            "table": self._start_table,
            "table-column": self._column_span,
            "table-row": self._start_row,
            "table-cell": self._start_cell,
            "covered-table-cell": self._start_cell,
            "annotation": self._start_annotation,
            "p": self._start_line,
            "h": self._start_line,
            "s": self._spaces,
            "tab": lambda _: self.text("\t"),
            "line-break": lambda _: self.text("\n"),
            "object": self._object,
            "database-range": self._database_range,
        }

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        self._depth += 1
        if name in ("table-row-group", "table-column-group"):
            self._outlines.append(attributes.get("display") == "false")
        elif name in _SHAPES:
            self._start_shape(attributes)
        elif name in self._starts:
            if name == "covered-table-cell":
                self._covered = True
            self._starts[name](attributes)

    def text(self, text: str) -> None:
        if self._open_lines:
            self._open_lines[-1].append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name in ("p", "h"):
            self._end_line()
        elif self._aside is not None and self._depth == self._aside.depth:
            self._end_aside()
        elif name in ("table-cell", "covered-table-cell"):
            self._end_cell()
        elif name == "table-row" and self._table_depth == 1:
            self._end_row()
        elif name == "table":
            self._table_depth = max(0, self._table_depth - 1)
            if self._table_depth == 0:
                self._sheet = None
        elif name in ("table-row-group", "table-column-group") and self._outlines:
            self._outlines.pop()
        self._depth -= 1

    def _start_style(self, attributes: Mapping[str, str]) -> None:
        self._style = attributes.get("name", "")

    def _text_properties(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("font-weight") in _BOLD_WEIGHTS:
            self._bold_styles.add(self._style)

    def _table_properties(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("display") == "false":
            self._hidden_tables.add(self._style)

    def _start_table(self, attributes: Mapping[str, str]) -> None:
        self._table_depth += 1
        if self._table_depth > 1:  # a table inside a cell is text of that cell
            return
        sheet = Sheet(attributes.get("name", ""), self._with_hidden)
        self._sheet = sheet
        self._by_name[sheet.name] = sheet
        self._outlines = []
        self._row = self._column = 0
        if self._with_hidden or attributes.get("style-name", "") not in self._hidden_tables:
            self.workbook.sheets.append(sheet)
        else:
            self.workbook.hidden_sheets += 1
            self._sheet = None

    def _column_span(self, attributes: Mapping[str, str]) -> None:
        repeat = _count(attributes, "number-columns-repeated", MAX_COLUMN)
        if self._sheet is not None and attributes.get("visibility") == "collapse" and not any(self._outlines):
            self._sheet.hidden_columns.append((self._column + 1, self._column + repeat))
        self._column += repeat

    def _start_row(self, attributes: Mapping[str, str]) -> None:
        if self._table_depth != 1:
            return
        self._row_repeat = _count(attributes, "number-rows-repeated", MAX_ROW)
        self._column = 0
        self._texts = []
        if self._sheet is not None and attributes.get("visibility") == "collapse" and not any(self._outlines):
            self._sheet.hidden_rows.append((self._row + 1, self._row + self._row_repeat))

    def _end_row(self) -> None:
        if self._sheet is not None and self._texts:
            for offset in range(self._row_repeat):
                for first, last, cell in self._texts:
                    for column in range(first, last + 1):
                        self._sheet.put(self._row + 1 + offset, column, cell, self._budget)
        self._row += self._row_repeat

    def _start_cell(self, attributes: Mapping[str, str]) -> None:
        if self._table_depth != 1:
            return
        self._cell = attributes
        self._cell_repeat = _count(attributes, "number-columns-repeated", MAX_COLUMN)
        self._lines = []

    def _end_cell(self) -> None:
        if self._table_depth != 1 or self._cell is None:
            return
        cell, covered, self._cell, self._covered = self._cell, self._covered, None, False
        first, self._column = self._column + 1, self._column + self._cell_repeat
        if covered or self._sheet is None:
            return
        kind = cell.get("value-type", "")
        text = "\n".join(self._lines).strip() or value_text(cell, kind)
        if not text:
            return
        style = _BOLD if cell.get("style-name", "") in self._bold_styles else PLAIN
        self._texts.append((first, self._column, Cell(text, style, typed=kind not in ("", "string"))))
        columns = _count(cell, "number-columns-spanned", MAX_COLUMN)
        rows = _count(cell, "number-rows-spanned", MAX_ROW)
        if columns > 1 or rows > 1:
            self._sheet.merged.append(Range(self._row + 1, first, self._row + rows, first + columns - 1))

    def _start_annotation(self, attributes: Mapping[str, str]) -> None:
        self._begin_aside(_Place(self._depth, "Comment", ""))

    def _start_shape(self, attributes: Mapping[str, str]) -> None:
        self._begin_aside(_Place(self._depth, "", attributes.get("end-cell-address", "")))

    def _begin_aside(self, place: _Place) -> None:
        if self._aside is None:
            self._aside, self._aside_lines = place, []

    def _end_aside(self) -> None:
        place, self._aside = self._aside, None
        text = "\n".join(self._aside_lines).strip()
        if place is None or not text or self._sheet is None:
            return
        row, column = (self._row + 1, self._column + 1) if self._cell is not None else (1, 1)
        end = cell_of(place.end.rpartition(".")[2]) or (row, column)
        where = Range(row, column, max(row, end[0]), max(column, end[1]))
        self._sheet.notes.append(Note(where, place.label, text))

    def _start_line(self, attributes: Mapping[str, str]) -> None:
        if self._cell is not None or self._aside is not None:
            self._open_lines.append([])

    def _end_line(self) -> None:
        if self._open_lines:
            line = "".join(self._open_lines.pop())
            (self._lines if self._aside is None else self._aside_lines).append(line)

    def _spaces(self, attributes: Mapping[str, str]) -> None:
        self.text(" " * _count(attributes, "c", _MAX_SPACES))

    def _object(self, attributes: Mapping[str, str]) -> None:
        """A chart inside the file: the words of its titles."""
        path = attributes.get("href", "").removeprefix("./").rstrip("/")
        if self._aside is not None and (part := self._parts.get(f"{path}/content.xml")):
            reader = _ChartTitles()
            feed_leniently(part, reader)
            self._aside_lines += reader.lines

    def _database_range(self, attributes: Mapping[str, str]) -> None:
        first, _, last = attributes.get("target-range-address", "").partition(":")
        start, end = cell_of(first.rpartition(".")[2]), cell_of(last.rpartition(".")[2])
        sheet = self._by_name.get(first.rpartition(".")[0].strip("$").strip("'"))
        named = attributes.get("contains-header", "true") == attributes.get("display-filter-buttons") == "true"
        if sheet is not None and start and end and named:
            sheet.headers.append(Range(start[0], start[1], start[0], end[1]))


class _ChartTitles(Handler):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._titles = 0

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name in ("title", "subtitle"):
            self._titles += 1
            self.lines.append("")

    def text(self, text: str) -> None:
        if self._titles:
            self.lines[-1] += text

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name in ("title", "subtitle"):
            self._titles -= 1


def _count(attributes: Mapping[str, str], name: str, most: int) -> int:
    """How often something is repeated, or how far it spans: at least once, at most as often as there is room."""
    stated = attributes.get(name, "1")
    if not (stated.isascii() and stated.isdecimal()):
        return 1
    return min(max(int(stated[:12]), 1), most)
