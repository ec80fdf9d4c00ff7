"""Workbooks of Excel 2003's XML format (SpreadsheetML), which programs still write under the name `.xls`."""

import re
from typing import Any

from mcp_knowledge.adapters.parsers.sheets.document import document_of
from mcp_knowledge.adapters.parsers.sheets.model import PLAIN, Cell, CellBudget, Range, Sheet, Style, Workbook
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.xml_tree import Node
from mcp_knowledge.domain.blocks import NormalizedDocument

_NAMED_FORMATS = {
    "Percent": "0.00%",
    "Fixed": "0.00",
    "Standard": "#,##0.00",
    "Scientific": "0.00E+00",
    "General": "",
    "General Number": "",
}
_PROPERTIES = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Description": "description",
    "Created": "created",
    "LastSaved": "modified",
}
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?$")


def read_workbook(root: Node, source: Source) -> NormalizedDocument:
    """The sheets that are shown. Raises DOCUMENT_RESOURCE_LIMIT beyond the limit of cells."""
    budget = CellBudget(source.limits)
    styles = {style.attributes.get("ID", ""): _style(style) for style in root.find("Style")}
    sheets = [_sheet(node, styles, budget) for node in root.find("Worksheet") if not _hidden(node)]
    return document_of(Workbook(sheets), _properties(root), source.filename)


def _properties(root: Node) -> dict[str, Any]:
    stated = next(root.find("DocumentProperties"), None)
    found = {item.name: " ".join(item.text().split()) for item in stated.children} if stated else {}
    return {name: found[stated_name] for stated_name, name in _PROPERTIES.items() if found.get(stated_name)}


def _hidden(worksheet: Node) -> bool:
    return any(node.text().startswith("SheetHidden") for node in worksheet.find("Visible"))


def _style(node: Node) -> Style:
    code = next((item.attributes.get("Format", "") for item in node.find("NumberFormat")), "")
    bold = any(item.attributes.get("Bold") == "1" for item in node.find("Font"))
    return Style(_NAMED_FORMATS.get(code, code), bold)


def _sheet(worksheet: Node, styles: dict[str, Style], budget: CellBudget) -> Sheet:
    sheet = Sheet(worksheet.attributes.get("Name", ""))
    row = 0
    for node in worksheet.find("Row"):
        row = _number(node, "Index", row + 1)
        column = 0
        for item in node.children:
            if item.name != "Cell":
                continue
            column = _number(item, "Index", column + 1)
            across, down = _number(item, "MergeAcross", 0), _number(item, "MergeDown", 0)
            if across or down:
                sheet.merged.append(Range(row, column, row + down, column + across))
            for data in item.children:
                if data.name == "Data":
                    style = styles.get(item.attributes.get("StyleID", ""), PLAIN)
                    sheet.put(row, column, _cell(data, style), budget)
            column += across
        row += _number(node, "Span", 0)
    return sheet


def _cell(data: Node, style: Style) -> Cell:
    text = data.text()
    match data.attributes.get("Type"):
        case "Number":
            try:
                return Cell(float(text), style)
            except ValueError:
                return Cell(text, style)
        case "Boolean":
            return Cell(text.strip() == "1", style)
        case "DateTime":
            return Cell(_MIDNIGHT.sub("", text).replace("T", " "), style, typed=True)
        case _:
            return Cell(text, style)


def _number(node: Node, name: str, default: int) -> int:
    stated = node.attributes.get(name, "")
    return int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 8 else default
