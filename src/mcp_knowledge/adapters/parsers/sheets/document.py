"""Spreadsheets: each sheet's tables, with sheet name and cell range of every block."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.sheets.format import show_numbers
from mcp_knowledge.adapters.parsers.sheets.model import Workbook
from mcp_knowledge.adapters.parsers.sheets.tables import sheet_blocks, sheet_heading
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument


def shown_document(
    read: Callable[[bool], Workbook], properties: Mapping[str, Any], filename: str
) -> NormalizedDocument:
    """The document of what a workbook shows; of all that it has when it shows nothing.

    Args:
        read: reads the workbook, with what is hidden or without.
    """
    workbook = read(False)
    document = document_of(workbook, properties, filename)
    hides = workbook.hidden_sheets or any(sheet.hidden_rows or sheet.hidden_columns for sheet in workbook.sheets)
    if _has_text(document) or not hides:
        return document
    whole = document_of(read(True), properties, filename)
    return whole if _has_text(whole) else document


def _has_text(document: NormalizedDocument) -> bool:
    """Whether there is more than names of sheets."""
    return any(not isinstance(block, Heading) or block.level > 1 for block in document.blocks)


def document_of(workbook: Workbook, properties: Mapping[str, Any], filename: str) -> NormalizedDocument:
    """The document of a workbook.

    Its title is only ever a stated one: a sheet's name is no document's title. A workbook whose sheets are blank shows
    their names.
    """
    texts = show_numbers(workbook)
    blocks: list[Block] = []
    for sheet in workbook.sheets:
        blocks += sheet_blocks(sheet, texts)
    if not blocks:
        blocks += [sheet_heading(sheet) for sheet in workbook.sheets]
    metadata = {name: value for name, value in properties.items() if name not in ("title", "pages", "slides")}
    metadata["sheets"] = len(workbook.sheets)
    if workbook.hidden_sheets:
        metadata["hiddenSheets"] = workbook.hidden_sheets
    return NormalizedDocument(good_title(properties.get("title"), filename), metadata, tuple(blocks))
