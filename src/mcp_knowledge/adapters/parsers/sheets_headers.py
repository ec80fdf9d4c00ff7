"""Which rows at the top of a table name its columns."""

from collections.abc import Sequence

from mcp_knowledge.adapters.parsers.sheets_grid import Grid, Row
from mcp_knowledge.adapters.parsers.sheets_regions import Region

_SAMPLE_ROWS = 50
_MAX_HEADER_ROWS = 5
_MAX_NAME_CHARS = 60


def header_rows(grid: Grid, region: Region) -> int:
    """How many rows name the columns; 0 when none does."""
    rows = [_within(grid.rows[number], region) for number in region.rows[: _MAX_HEADER_ROWS + _SAMPLE_ROWS]]
    if region.named:
        return 1 if len(rows) > 1 else 0
    depth = _merged_depth(rows, region)
    head, body = rows[:depth], rows[depth:]
    if head and body and all(map(_are_labels, head)) and (_names(rows[depth - 1 :]) or _typed_below(head, body)):
        return depth
    return 1 if _names(rows) else 0


def _within(row: Row, region: Region) -> Row:
    return {column: cell for column, cell in row.items() if region.left <= column <= region.right}


def _merged_depth(rows: Sequence[Row], region: Region) -> int:
    """Rows of a header whose groups are merged over their columns: one more than the groups; 0 without groups."""
    depth = 0
    top = region.rows[0]
    for index, row in enumerate(rows[:_MAX_HEADER_ROWS]):
        areas = {cell.merged for cell in row.values() if cell.merged is not None}
        groups = [area for area in areas if area.right > area.left and area.top == top + index]
        tall = [area.bottom - top + 1 for area in areas if area.bottom > area.top]
        if groups:
            depth = max(depth, index + 2)
        if index < max(depth, 1):
            depth = max([depth, *tall]) if len(areas) < len(row) or groups else depth
        if index + 1 >= depth:
            break
    return depth if depth <= _MAX_HEADER_ROWS else 0


def _are_labels(row: Row) -> bool:
    return bool(row) and all(cell.label for cell in row.values())


def _typed_below(header: Sequence[Row], body: Sequence[Row]) -> bool:
    """Whether a column that the header names holds mostly numbers, dates or the like."""
    for column in {column for row in header for column in row}:
        cells = [row[column] for row in body if column in row]
        if cells and 2 * sum(cell.typed for cell in cells) > len(cells):
            return True
    return False


def _names(rows: Sequence[Row]) -> bool:
    """Whether the first of the rows names the columns: labels above numbers, in bold, or short words all different."""
    head, body = rows[0], rows[1:]
    columns = {column for row in rows for column in row}
    if not body or not _are_labels(head) or len(head) * 2 < len(columns) or all(c.typed for c in head.values()):
        return False
    single = len(columns) == 1
    if all(cell.bold for cell in head.values()) and not all(cell.bold for cell in body[0].values()):
        return True
    if single:
        return len(body) > 1 and all(cell.typed for row in body for cell in row.values())
    if _typed_below([head], body) and (len(head) > 1 or len(columns) == 2):
        return True
    texts = [cell.text for cell in head.values()]
    if len(head) < len(columns) or len(set(texts)) < len(texts) or len(body) < 2:
        return False
    again = any(row[column].text == cell.text for row in body for column, cell in head.items() if column in row)
    return not again and max(map(len, texts)) <= _MAX_NAME_CHARS and _shorter(head, body)


def _shorter(head: Row, body: Sequence[Row]) -> bool:
    """Whether the names are, all in all, no longer than what stands below them."""
    texts = [cell.text for row in body for cell in row.values()]
    return sum(len(cell.text) for cell in head.values()) * len(texts) <= sum(map(len, texts)) * len(head) * 1.5
