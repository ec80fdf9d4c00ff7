"""Excel's packages: xlsx and xlsm with parts in XML, xlsb with binary ones."""

from mcp_knowledge.adapters.parsers import sheets_xlsb, sheets_xlsx
from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.properties import package_properties
from mcp_knowledge.adapters.parsers.sheets import document_of
from mcp_knowledge.adapters.parsers.sheets_model import CellBudget
from mcp_knowledge.adapters.parsers.sheets_parts import Parts
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """The workbook's document."""
    raw = read_parts(source.data, (".xml", ".rels", ".bin"), source.limits)
    parts = Parts(raw)
    reader = sheets_xlsb if parts.main().lower().endswith(".bin") else sheets_xlsx
    workbook = reader.read_workbook(parts, CellBudget(source.limits))
    return document_of(workbook, package_properties(raw), source.filename)
