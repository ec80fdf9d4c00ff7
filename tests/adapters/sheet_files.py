"""Spreadsheet packages written part by part: xlsx and ods with just what a test needs."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from mcp_knowledge.adapters.parsers.sheets.model import cell_of, range_of
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.domain.blocks import Block, Heading, Table

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


class Number(NamedTuple):
    """A number under a format code."""

    value: float
    code: str


class Bold(NamedTuple):
    """Text in bold."""

    text: str


class Formula(NamedTuple):
    """A formula and the value it had last, if the program that wrote the file computed it."""

    text: str
    value: str | float | None = None


class Error(NamedTuple):
    """An error value."""

    text: str


Value = str | float | bool | Number | Bold | Formula | Error


@dataclass
class SheetFile:
    """A worksheet: `cells` by reference (`B2`), XML `before` and `after` them, attributes of `rows`."""

    name: str
    cells: Mapping[str, Value] = field(default_factory=dict)
    before: str = ""
    after: str = ""
    rows: Mapping[int, str] = field(default_factory=dict)
    state: str = "visible"
    relations: Mapping[str, str] = field(default_factory=dict)


def make_xlsx(
    *sheets: SheetFile, parts: Mapping[str, str | bytes] | None = None, epoch_1904: bool = False, prolog: str = ""
) -> bytes:
    """A workbook. `parts` are added or replace others; `prolog` stands before the root of each worksheet."""
    codes: list[str] = []
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/></Types>',
        "_rels/.rels": _relations({"officeDocument": "xl/workbook.xml"}),
        "xl/_rels/workbook.xml.rels": _relations(
            {
                "styles": "styles.xml",
                **{f"worksheet{index}": f"worksheets/s{index}.xml" for index in range(len(sheets))},
            }
        ),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
        f'<workbookPr date1904="{int(epoch_1904)}"/><sheets>'
        + "".join(
            f'<sheet name={quoteattr(sheet.name)} sheetId="{index + 1}" state="{sheet.state}" r:id="worksheet{index}"/>'
            for index, sheet in enumerate(sheets)
        )
        + "</sheets></workbook>",
    }
    for index, sheet in enumerate(sheets):
        files[f"xl/worksheets/s{index}.xml"] = prolog + _worksheet(sheet, codes)
        if sheet.relations:
            files[f"xl/worksheets/_rels/s{index}.xml.rels"] = _relations(sheet.relations)
    files["xl/styles.xml"] = _styles(codes)
    return zipped({**files, **(parts or {})})


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return buffer.getvalue()


def _relations(targets: Mapping[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{name.rstrip("0123456789")}" Target={quoteattr(target)}/>'
        for name, target in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'


def _styles(codes: Iterable[str]) -> str:
    listed = list(codes)
    formats = "".join(f'<numFmt numFmtId="{200 + i}" formatCode={quoteattr(code)}/>' for i, code in enumerate(listed))
    styles = "".join(f'<xf numFmtId="{200 + i}" fontId="0"/>' for i in range(len(listed)))
    return (
        f'<styleSheet xmlns="{_MAIN}"><numFmts>{formats}</numFmts><fonts><font/><font><b/></font></fonts>'
        f'<cellXfs><xf numFmtId="0" fontId="0"/><xf numFmtId="0" fontId="1"/>{styles}</cellXfs></styleSheet>'
    )


def _worksheet(sheet: SheetFile, codes: list[str]) -> str:
    rows: dict[int, list[tuple[int, str]]] = {row: [] for row in sheet.rows}
    for reference, value in sheet.cells.items():
        place = cell_of(reference)
        assert place is not None
        rows.setdefault(place[0], []).append((place[1], _cell(reference, value, codes)))
    lines = "".join(
        f'<row r="{row}" {sheet.rows.get(row, "")}>{"".join(xml for _, xml in sorted(cells))}</row>'
        for row, cells in sorted(rows.items())
    )
    return (
        f'<worksheet xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">{sheet.before}<sheetData>{lines}</sheetData>'
        f"{sheet.after}</worksheet>"
    )


def _cell(reference: str, value: Value, codes: list[str]) -> str:
    match value:
        case bool():
            return f'<c r="{reference}" t="b"><v>{int(value)}</v></c>'
        case Number(number, code):
            if code not in codes:
                codes.append(code)
            return f'<c r="{reference}" s="{codes.index(code) + 2}"><v>{number!r}</v></c>'
        case Bold(text):
            return f'<c r="{reference}" s="1" t="inlineStr"><is><t>{escape(text)}</t></is></c>'
        case Formula(text, None):
            return f'<c r="{reference}"><f>{escape(text)}</f></c>'
        case Formula(text, str(shown)):
            return f'<c r="{reference}" t="str"><f>{escape(text)}</f><v>{escape(shown)}</v></c>'
        case Formula(text, number):
            return f'<c r="{reference}"><f>{escape(text)}</f><v>{number!r}</v></c>'
        case Error(text):
            return f'<c r="{reference}" t="e"><v>{text}</v></c>'
        case str():
            return f'<c r="{reference}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f'<c r="{reference}"><v>{value!r}</v></c>'


_COMMENTS = (
    f'<comments xmlns="{_MAIN}"><authors><author>Eve</author></authors><commentList><comment ref="C6" authorId="0">'
    "<text><r><t>Ask Bob again</t></r></text></comment></commentList></comments>"
)


def orders_xlsx() -> bytes:
    """A workbook with formats, a hidden row, column and sheet, merged cells, a comment, two tables side by side.

    `fixtures/orders.xls` and `fixtures/orders.ods` are this file, saved by LibreOffice.
    """
    orders: dict[str, Value] = {
        "B2": Bold("Orders of 2024"),
        **{f"{column}4": Bold(name) for column, name in zip("BCDEF", _COLUMN_NAMES, strict=True)},
        **{"B5": Number(45306.0, "dd.mm.yyyy"), "C5": "Ann & Co", "D5": Number(1234.5, _EUROS), "E5": "s1", "F5": True},
        **{"B6": Number(45307.5, "yyyy-mm-dd hh:mm"), "C6": "Bob", "D6": Number(-17.25, _EUROS), "E6": "s2"},
        **{"F6": False, "B7": Number(45308.0, "mmm d, yyyy"), "C7": "hidden row", "D7": Number(1.0, "0"), "E7": "s3"},
        **{"F7": True, "B8": Number(45309.0, "d-mmm-yy"), "C8": "Cid", "D8": Number(0.155, "0.0%"), "E8": "s4"},
        **{"F8": Error("#DIV/0!"), "C9": "Total", "D9": Formula("SUM(D5:D8)", 1218.405)},
        **{"H4": "Region", "I4": "Share", "H5": "North", "I5": Number(0.25, "0%"), "H6": "South"},
        **{"I6": Number(0.75, "0%"), "B12": "A remark far below."},
    }
    grouped: dict[str, Value] = {
        **{"A1": "Region", "B1": "2023", "D1": "2024", "B2": "Q1", "C2": "Q2", "D2": "Q1", "E2": "Q2"},
        **{"A3": "North", "B3": 1.0, "C3": 2.0, "D3": 3.0, "E3": 4.0},
        **{"A4": "South", "B4": 5.0, "C4": 6.0, "D4": 7.0, "E4": 8.0},
    }
    return make_xlsx(
        SheetFile(
            "Orders",
            orders,
            before='<cols><col min="5" max="5" width="9" hidden="1"/></cols>',
            rows={7: 'hidden="1"'},
            after=merged("B2:F2"),
            relations={"comments": "../comments1.xml"},
        ),
        SheetFile("Hidden", {"A1": "not shown"}, state="hidden"),
        SheetFile("Grouped", grouped, after=merged("A1:A2", "B1:C1", "D1:E1")),
        parts={"xl/comments1.xml": _COMMENTS},
    )


def merged(*ranges: str) -> str:
    """What a worksheet says after its cells about merged ones."""
    return f"<mergeCells>{''.join(f'<mergeCell ref={quoteattr(area)}/>' for area in ranges)}</mergeCells>"


_COLUMN_NAMES = ("Date", "Customer", "Amount", "Secret", "Paid")
_EUROS = '#,##0.00\\ "€"'
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_ODF_NAMESPACES = "".join(
    f' xmlns:{prefix}="{_ODF}:{name}:1.0"'
    for prefix, name in (
        ("office", "office"),
        ("table", "table"),
        ("text", "text"),
        ("style", "style"),
        ("fo", "xsl-fo-compatible"),
        ("draw", "drawing"),
        ("svg", "svg-compatible"),
    )
)


def make_ods(tables: str, styles: str = "", parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """An OpenDocument spreadsheet. `tables`: XML of its tables, `styles`: of its automatic styles."""
    content = (
        f'<?xml version="1.0"?><office:document-content{_ODF_NAMESPACES}><office:automatic-styles>{styles}'
        f"</office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    return zipped(
        {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content, **(parts or {})}
    )


def cells_of(blocks: Iterable[Block]) -> dict[tuple[str, int, int], str]:
    """The text at each place (sheet, row, column) that the blocks' ranges give it; names of columns at their first row.

    Every block must have a sheet and a range, and every table exactly as many rows and columns as its range.
    """
    found: dict[tuple[str, int, int], str] = {}
    for block in blocks:
        sheet = block.location.sheet
        area = range_of(block.location.cell_range or "")
        assert sheet is not None and area is not None
        if not isinstance(block, Table):
            text = plain_text(block)
            if not text.startswith("[Comment on ") and (not isinstance(block, Heading) or block.level > 1):
                found[sheet, area.top, area.left] = text
            continue
        header_rows = area.bottom - area.top + 1 - len(block.rows)
        assert header_rows >= 0 and (block.headers is not None or header_rows == 0)
        for row, texts in enumerate([block.headers or ()] * min(header_rows, 1) + list(block.rows)):
            assert len(texts) == area.right - area.left + 1
            number = area.top + row + (max(0, header_rows - 1) if row else 0)
            found |= {(sheet, number, area.left + column): text for column, text in enumerate(texts) if text}
    return found
