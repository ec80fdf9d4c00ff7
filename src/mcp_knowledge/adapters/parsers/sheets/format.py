"""Cell values as text. Dates are shown by us, all other number formats by anydoc.

anydoc shows numbers as Excel does, but a whole workbook's grid comes out of it cropped, and without the origin. So it
gets a workbook that we write: one sheet, each different number once, at a place that we know.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import quoteattr

import anydoc

from mcp_knowledge.adapters.parsers.packages import write_parts
from mcp_knowledge.adapters.parsers.sheets.dates import date_tokens, show_date
from mcp_knowledge.adapters.parsers.sheets.model import Cell, Workbook

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_FRAME = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/>'
    f'<Override PartName="/xl/sheet.xml" ContentType="{_TYPES}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="a" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="a" Type="{_RELATIONS}/worksheet" Target="sheet.xml"/>'
    f'<Relationship Id="b" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
    '<sheets><sheet name="a" sheetId="1" r:id="a"/></sheets></workbook>',
}
_FIRST_OWN_FORMAT = 164  # numFmtId below are built in
_COLUMNS = 50
_BATCH = 10_000  # numbers a workbook: it bounds the memory
_EDGE = '<c t="inlineStr"><is><t>x</t></is></c>'  # on both sides of each row, so that none is cropped
# What a format code is made of, and any other character: programs show it though only quotes make it a literal.
_CODE = re.compile(
    r"(\"[^\"]*\"?|\\.|_.|\*.|\[[^\]]*\]|general|am/pm|e[+-]|[0-9#?.,%/+\-()$:@; ])|(.)", re.IGNORECASE | re.DOTALL
)
_PADDED_FRACTION = re.compile(r"(?<=\d)/ +(?=\d)")
_DIGITS, _SMALLEST_PLAIN, _LAST_WHOLE = 10, 1e-4, 1e20

Number = tuple[float, str]  # a value and its format code


def show_numbers(workbook: Workbook) -> dict[Number, str]:
    """The text of every number in a workbook, by value and format code."""
    texts: dict[Number, str] = {}
    rest: dict[Number, None] = {}
    for value, code in _numbers(workbook):
        key = (value, code)
        if key in texts or key in rest:
            continue
        text = show_date(value, code, workbook.epoch_1904)
        if text is None and (date_tokens(code) is not None or not code):
            text = _general(value)
        if text is None:
            rest[key] = None
        else:
            texts[key] = text
    numbers = list(rest)
    for start in range(0, len(numbers), _BATCH):
        texts |= _shown_by_anydoc(numbers[start : start + _BATCH])
    return texts


def _numbers(workbook: Workbook) -> Iterable[Number]:
    for sheet in workbook.sheets:
        for row in sheet.rows.values():
            for cell in row.values():
                if isinstance(cell.value, float):
                    yield cell.value, cell.style.code


def _general(value: float) -> str:
    """A number in Excel's General format: ten digits and a point, an exponent for the very large and small.

    Unlike there, whole numbers have all their digits: they may be somebody's account.
    """
    if not math.isfinite(value):
        return "#NUM!"
    if value == int(value) and abs(value) < _LAST_WHOLE:
        return str(int(value))
    if _SMALLEST_PLAIN <= abs(value) < _LAST_WHOLE:
        text = f"{value:.{max(0, _DIGITS - len(str(int(abs(value)))))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{value:.5E}".partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{exponent}"


def _shown_by_anydoc(numbers: Sequence[Number]) -> dict[Number, str]:
    if not numbers:
        return {}
    codes = {code: index for index, code in enumerate(dict.fromkeys(code for _, code in numbers))}
    data = write_parts((name, part.encode("utf-8", "replace")) for name, part in _parts(numbers, codes).items())
    try:
        document = anydoc.to_document(data, "xlsx")
        grid = next((block.table.grid for block in document.blocks if block.table is not None), None)
        if grid is None:  # all are shown as nothing
            return dict.fromkeys(numbers, "")
        slots = [slot for row in grid for slot in row[1:-1]]
        cells = [slot.cell for slot in slots if slot.cell is not None]
        texts = ["".join(i.text or "" for block in cell.blocks for i in block.content or ()) for cell in cells]
    except anydoc.ConvertError:
        texts = []
    if len(texts) != -(-len(numbers) // _COLUMNS) * _COLUMNS:  # it could not read a format: the bare numbers then
        return {number: _general(number[0]) for number in numbers}
    return {number: _one_line(text) for number, text in zip(numbers, texts, strict=False)}


def _one_line(text: str) -> str:
    """Text without the blanks that line up numbers of a column."""
    return _PADDED_FRACTION.sub("/", " ".join(text.split()))


def _plain_code(code: str) -> str:
    """A format code whose literals are all marked as such: anydoc reads no `0 €` or `#'##0`."""
    return _CODE.sub(lambda match: match[1] or f"\\{match[2]}", code)


def _parts(numbers: Sequence[Number], codes: Mapping[str, int]) -> dict[str, str]:
    ids = {code: _FIRST_OWN_FORMAT + index for code, index in codes.items()}
    formats = "".join(
        f'<numFmt numFmtId="{number}" formatCode={quoteattr(_plain_code(code))}/>' for code, number in ids.items()
    )
    styles = "".join(f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in ids.values())
    rows = []
    for start in range(0, len(numbers), _COLUMNS):
        cells = [f'<c s="{codes[code]}"><v>{value!r}</v></c>' for value, code in numbers[start : start + _COLUMNS]]
        cells += ["<c/>"] * (_COLUMNS - len(cells))
        rows.append(f"<row>{_EDGE}{''.join(cells)}{_EDGE}</row>")
    return {
        **_FRAME,
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts>{formats}</numFmts>'
        f"<cellXfs>{styles}</cellXfs></styleSheet>",
        "xl/sheet.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>',
    }


def shown(cell: Cell, texts: Mapping[Number, str]) -> str:
    """What a cell shows."""
    value = cell.value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return texts[value, cell.style.code]
    return value
