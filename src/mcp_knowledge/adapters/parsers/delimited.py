"""Tables as text (CSV, TSV): each with its column names, in groups of rows that never cut a record."""

from collections.abc import Iterator, Sequence

from mcp_knowledge.adapters.parsers.delimited_records import Record, read_records
from mcp_knowledge.adapters.parsers.delimited_tables import DelimitedTable, find_tables
from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.grids import row_groups
from mcp_knowledge.adapters.parsers.source import MAX_CELLS, Source, TextBudget
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, Paragraph, SourceLocation, Table
from mcp_knowledge.domain.cell_ranges import column_name
from mcp_knowledge.errors import KnowledgeError


def parse(source: Source) -> NormalizedDocument:
    """Tables of up to 50 rows, each with the column names, its cell range (`A2:F51`) and its offsets."""
    decoded = decode(source.data)
    budget = TextBudget(source.limits.max_extract_bytes)
    records: list[Record] = []
    width = 0
    for record in read_records(decoded.text, "\t" if source.extension == "tsv" else ",", budget):
        records.append(record)
        width = max(width, len(record.cells))
        if len(records) * width > MAX_CELLS:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
    tables = list(find_tables(records))
    metadata = {
        "rows": sum(len(table.rows) for table in tables),
        "columns": max((table.width for table in tables), default=0),
        **decoded.metadata,
    }
    return NormalizedDocument(None, metadata, tuple(block for table in tables for block in _blocks(table)))


def _blocks(table: DelimitedTable) -> Iterator[Block]:
    for record in table.before:
        yield Paragraph(" ".join(filter(None, record.cells)), _location([record], len(record.cells)))
    width = table.width
    if table.header and not table.rows:
        yield Table(None, (table.header.cells,), _location([table.header], width))
    names = table.names
    start = 0
    for size in row_groups([record.cells for record in table.rows], [record.number for record in table.rows]):
        group = table.rows[start : start + size]
        cells = tuple(record.cells + ("",) * (width - len(record.cells)) for record in group)
        yield Table(names, cells, _location(group, width))
        start += size


def _location(records: Sequence[Record], width: int) -> SourceLocation:
    first, last = records[0], records[-1]
    return SourceLocation(
        cell_range=f"A{first.number}:{column_name(max(width, 1))}{last.number}",
        char_start=first.start,
        char_end=last.end,
    )
