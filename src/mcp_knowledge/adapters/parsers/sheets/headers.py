"""Which rows at the top of a table name its columns."""

from collections.abc import Collection, Sequence

from mcp_knowledge.adapters.parsers.sheets.grid import Grid, Row
from mcp_knowledge.adapters.parsers.sheets.regions import Region

_SAMPLE_ROWS = 50
_MAX_HEADER_ROWS = 5
_MAX_NAME_CHARS = 60
_SHORT_NAME_CHARS = 20
_MUCH_LONGER = 1.5  # than the values below, on average, no names are, unless they are short


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
    if not body or not _are_labels(head) or len(head) * 2 < len(columns) or _periods_go_on(head, body):
        return False
    if len(columns) == 1:
        return len(body) > 1 and (_is_bold(head, body) or all(cell.typed for row in body for cell in row.values()))
    if _is_cross_table(head, body, columns):
        return True
    if all(cell.typed for cell in head.values()):
        return False
    if _is_bold(head, body) or (_typed_below([head], body) and (len(head) > 1 or len(columns) == 2)):
        return True
    return len(head) == len(columns) and len(body) > 1 and _are_names(head, body)


def _periods_go_on(head: Row, body: Sequence[Row]) -> bool:
    """Whether a year or date in the first row is one of many below it, and not the name of a column."""
    periods = [column for column, cell in head.items() if cell.typed]
    return any(row[column].typed and row[column].label for row in body for column in periods if column in row)


def _is_bold(head: Row, body: Sequence[Row]) -> bool:
    return all(cell.bold for cell in head.values()) and not all(cell.bold for cell in body[0].values())


def _is_cross_table(head: Row, body: Sequence[Row], columns: Collection[int]) -> bool:
    """Whether the corner is blank, between names above all other columns and words in front of all rows."""
    corner = min(columns)
    complete = corner not in head and len(head) == len(columns) - 1 > 1
    return complete and all(corner in row for row in body) and len({cell.text for cell in head.values()}) == len(head)


def _are_names(head: Row, body: Sequence[Row]) -> bool:
    """Whether words are names: short, all different, without numbers, and none of them a value below."""
    texts = [cell.text for cell in head.values()]
    if len(set(texts)) < len(texts) or max(map(len, texts)) > _MAX_NAME_CHARS:
        return False
    if any(character.isdigit() for cell in head.values() if not cell.typed for character in cell.text):
        return False
    if any(row[column].text == cell.text for row in body for column, cell in head.items() if column in row):
        return False
    below = [cell.text for row in body for cell in row.values()]
    return sum(map(len, texts)) <= max(_SHORT_NAME_CHARS, _MUCH_LONGER * sum(map(len, below)) / len(below)) * len(texts)
