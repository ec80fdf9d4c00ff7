"""Spreadsheet packages written part by part: xlsx and ods with just what a test needs."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from mcp_knowledge.adapters.parsers.sheets_model import cell_of

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
