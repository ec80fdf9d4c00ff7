"""Excel's packages: xlsx and xlsm with parts in XML, xlsb with binary ones."""

from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.properties import package_properties
from mcp_knowledge.adapters.parsers.sheets import xlsb as sheets_xlsb
from mcp_knowledge.adapters.parsers.sheets import xlsx as sheets_xlsx
from mcp_knowledge.adapters.parsers.sheets.document import shown_document
from mcp_knowledge.adapters.parsers.sheets.model import CellBudget, Workbook
from mcp_knowledge.adapters.parsers.sheets.parts import Parts
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument


def parse(source: Source) -> NormalizedDocument:
    """The workbook's document."""
    raw = read_parts(source.data, (".xml", ".rels", ".bin"), source.limits)
    parts = Parts(raw)
    binary = parts.main().lower().endswith(".bin")
    read_workbook = sheets_xlsb.read_workbook if binary else sheets_xlsx.read_workbook

    def read(with_hidden: bool) -> Workbook:
        return read_workbook(parts, CellBudget(source.limits), with_hidden)

    return shown_document(read, package_properties(raw), source.filename)
