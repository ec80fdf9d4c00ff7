"""Tables with merged cells to full grids."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.adapters.parsers.source import MAX_CELLS
from mcp_knowledge.errors import KnowledgeError

_MAX_REPEATED_CHARS = 100  # a merged cell's text stands in each position it covers, unless it is long


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
            repeated = text if len(text) <= _MAX_REPEATED_CHARS else ""
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
