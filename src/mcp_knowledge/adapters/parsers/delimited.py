"""Tables as text (CSV, TSV): delimiter, quoting and header row are detected; groups of rows never cut a record."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.grids import column_name, is_number, row_groups
from mcp_knowledge.adapters.parsers.source import MAX_CELLS, Source, TextBudget
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_RECORDS = 100
_SAMPLE_CHARS = 64 * 1024
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SEPARATOR_LINE = re.compile(r"sep=([,;|\t])\r?\n?", re.IGNORECASE)  # Excel's own way to state the delimiter


@dataclass(frozen=True, slots=True)
class _Record:
    """A record: its cells, its number (from 1, header included) and its place in the decoded text."""

    cells: tuple[str, ...]
    number: int
    start: int
    end: int


def parse(source: Source) -> NormalizedDocument:
    """Tables of up to 50 rows, each with the column names, its cell range (`A2:F51`) and its offsets."""
    decoded = decode(source.data)
    text = decoded.text
    start, delimiter = _stated_delimiter(text)
    delimiter = delimiter or _detected_delimiter(text[start:], "\t" if source.extension == "tsv" else ",")
    budget = TextBudget(source.limits.max_extract_bytes)
    records = list(_records(text, start, delimiter, budget))
    width = max((len(record.cells) for record in records), default=0)
    if len(records) * width > MAX_CELLS:
        raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
    before, header, rows = _parted(records, width)
    blocks: list[Block] = [
        Paragraph(" ".join(filter(None, record.cells)), _location([record], width)) for record in before
    ]
    names = header.cells + ("",) * (width - len(header.cells)) if header else None
    if header and not rows:
        blocks.append(Table(None, (header.cells,), _location([header], width)))
    for group in _groups(rows):
        cells = tuple(record.cells + ("",) * (width - len(record.cells)) for record in group)
        blocks.append(Table(names, cells, _location(group, width)))
    metadata = {"rows": len(rows), "columns": width, **decoded.metadata}
    return NormalizedDocument(None, metadata, tuple(blocks))


def _stated_delimiter(text: str) -> tuple[int, str]:
    match = _SEPARATOR_LINE.match(text)
    return (match.end(), match[1]) if match else (0, "")


def _detected_delimiter(text: str, default: str) -> str:
    """The delimiter that cuts most records of a sample into equally many (more than one) cells."""
    sample = text[:_SAMPLE_CHARS]
    best, best_score = default, 0.0
    for delimiter in (default, *(item for item in _DELIMITERS if item != default)):
        widths = []
        try:
            for cells in csv.reader(sample.splitlines(keepends=True), delimiter=delimiter):
                if cells:
                    widths.append(len(cells))
                if len(widths) == _SAMPLE_RECORDS:
                    break
        except csv.Error:
            continue
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        score = count / len(widths) * (1 + min(width, 20) / 100) if width > 1 else 0.0
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _records(text: str, start: int, delimiter: str, budget: TextBudget) -> Iterator[_Record]:
    """All records that are not blank. A quote that never closes is taken as a character."""
    csv.field_size_limit(len(text) + 2)  # a whole file may be one cell; two more for the probe for open quotes
    quoted = not _ends_inside_quotes(text, start, delimiter)
    offsets = [match.end() for match in _LINE.finditer(text, start)]
    lines = (match[0] for match in _LINE.finditer(text, start))
    reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    first = 0
    for number, cells in enumerate(reader, 1):
        begin = offsets[first - 1] if first else start
        first = reader.line_num
        cells = [cell.strip() for cell in cells]
        if any(cells):
            for cell in cells:
                budget.take(cell)
            while not cells[-1]:
                cells.pop()
            end = offsets[first - 1]
            yield _Record(tuple(cells), number, begin, begin + len(text[begin:end].rstrip("\r\n")))


def _ends_inside_quotes(text: str, start: int, delimiter: str) -> bool:
    """Whether a quote is still open at the end: then one more line would belong to the last record."""
    lines = [match[0] for match in _LINE.finditer(text, start)]
    reader = csv.reader(lines, delimiter=delimiter)
    begun = 0
    last = 0
    for _ in reader:
        last, begun = begun, reader.line_num
    return (
        len(list(csv.reader([*lines[last:-1], *(line + "\n" for line in lines[-1:]), "x"], delimiter=delimiter))) == 1
    )


def _parted(records: Sequence[_Record], width: int) -> tuple[Sequence[_Record], _Record | None, Sequence[_Record]]:
    """Lines before the table (one cell where the table has several), the header row if there is one, the rows."""
    first = 0
    while width > 1 and first < len(records) - 1 and len(records[first].cells) == 1:
        first += 1
    if first == len(records) - 1:
        first = 0
    before, table = records[:first], records[first:]
    if len(table) >= 1 and _is_header(table[0]) and (len(table) > 1 or len(table[0].cells) > 1):
        return before, table[0], table[1:]
    return before, None, table


def _is_header(record: _Record) -> bool:
    numbers = sum(is_number(cell) for cell in record.cells)
    return numbers * 2 < len(record.cells)


def _groups(records: Sequence[_Record]) -> Iterator[Sequence[_Record]]:
    start = 0
    for size in row_groups([record.cells for record in records], [record.number for record in records]):
        yield records[start : start + size]
        start += size


def _location(records: Sequence[_Record], width: int) -> SourceLocation:
    first, last = records[0], records[-1]
    return SourceLocation(
        cell_range=f"A{first.number}:{column_name(max(width, 1))}{last.number}",
        char_start=first.start,
        char_end=last.end,
    )
