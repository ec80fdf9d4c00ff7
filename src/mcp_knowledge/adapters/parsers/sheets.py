"""Spreadsheets: each sheet's tables, with sheet name and cell range of every block."""

from collections.abc import Mapping
from typing import Any

from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.properties import good_title, package_properties
from mcp_knowledge.adapters.parsers.sheets_format import show_numbers
from mcp_knowledge.adapters.parsers.sheets_model import CellBudget, Workbook
from mcp_knowledge.adapters.parsers.sheets_parts import Parts
from mcp_knowledge.adapters.parsers.sheets_tables import sheet_blocks
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import Block, NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """An Excel package: xlsx, xlsm, xlsb."""
    from mcp_knowledge.adapters.parsers.sheets_xlsx import read_workbook

    raw = read_parts(source.data, (".xml", ".rels", ".bin"), source.limits)
    parts = Parts(raw)
    workbook = read_workbook(parts, CellBudget(source.limits))
    return document_of(workbook, package_properties(raw), source.filename)


def document_of(workbook: Workbook, properties: Mapping[str, Any], filename: str) -> NormalizedDocument:
    """The document of a workbook. Its title is only ever a stated one: sheets have names, documents have titles."""
    texts = show_numbers(workbook)
    blocks: list[Block] = []
    for sheet in workbook.sheets:
        blocks += sheet_blocks(sheet, texts)
    metadata = {name: value for name, value in properties.items() if name not in ("title", "pages", "slides")}
    metadata["sheets"] = len(workbook.sheets)
    return NormalizedDocument(good_title(properties.get("title"), filename), metadata, tuple(blocks))
