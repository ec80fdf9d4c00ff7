"""What all tables have in common: merged cells to full grids, groups of rows, names of columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_knowledge.adapters.parsers.source import MAX_CELLS
from mcp_knowledge.errors import KnowledgeError

MAX_REPEATED_CHARS = 100  # a merged cell's text stands in each position it covers, unless it is long
_MAX_GROUP_ROWS = 50
_MAX_GROUP_CHARS = 4_000
_NUMBER = re.compile(
    r"[-+(]?[\s$€£¥]*\d[\d.,' ]*[%)]?\s*(?:[€$£¥]|[A-Z]{3})?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|"
    r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A cell: index of its text, and how many columns and rows it covers."""

    cell: int
    columns: int
    rows: int
    header: bool


def span_grid(rows: Sequence[Sequence[Span]], texts: Sequence[str]) -> list[list[str]]:
    """The grid of texts, all rows equally wide; cells right of a merged one keep their column.

    Raises:
        KnowledgeError: DOCUMENT_RESOURCE_LIMIT when spans blow the grid up.
    """
    grid: list[dict[int, str]] = [{} for _ in rows]
    total = 0
    for row_index, row in enumerate(rows):
        column = 0
        for span in row:
            while column in grid[row_index]:
                column += 1
            text = texts[span.cell]
            repeated = text if len(text) <= MAX_REPEATED_CHARS else ""
            below = range(row_index, min(row_index + span.rows, len(rows)))
            total += len(below) * span.columns
            if total > MAX_CELLS:
                raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
            for y in below:
                for x in range(column, column + span.columns):
                    grid[y].setdefault(x, text if (y, x) == (row_index, column) else repeated)
            column += span.columns
    width = max((max(row, default=-1) + 1 for row in grid), default=0)
    if width * len(grid) > MAX_CELLS:
        raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
    return [[row.get(x, "") for x in range(width)] for row in grid]


def row_groups(rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> Iterator[int]:
    """The sizes of consecutive groups of rows for a block each: neighbours by number, at most 50, not too much text."""
    size = chars = 0
    for index, row in enumerate(rows):
        length = sum(map(len, row))
        apart = index > 0 and numbers[index] != numbers[index - 1] + 1
        if size and (apart or size == _MAX_GROUP_ROWS or chars + length > _MAX_GROUP_CHARS):
            yield size
            size = chars = 0
        size += 1
        chars += length
    if size:
        yield size


def is_number(text: str) -> bool:
    """Whether a cell's text is a number, a percentage, an amount of money or a date."""
    return _NUMBER.fullmatch(text) is not None
