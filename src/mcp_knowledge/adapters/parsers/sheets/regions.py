"""Where the tables of a sheet are: it is cut at blank rows, and at blank columns between tables side by side."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.sheets.grid import Grid
from mcp_knowledge.adapters.parsers.sheets.model import Range

_MAX_SIDE_BY_SIDE = 50  # runs of columns; with more, the cells are scattered
_WIDE_GAP = 2  # blank columns that no table has inside


class Region(NamedTuple):
    """A table to the eye: its rows from top to bottom, its first and last column.

    Args:
        named: whether the file itself says that the first row holds the column names.
    """

    rows: list[int]
    left: int
    right: int
    named: bool = False

    @property
    def range(self) -> Range:
        """The cells from the first to the last."""
        return Range(self.rows[0], self.left, self.rows[-1], self.right)


def find_regions(grid: Grid, headers: list[Range]) -> Iterator[Region]:
    """The sheet's regions in reading order.

    Args:
        headers: rows of column names that the file defines; a region begins at each.
    """
    if not grid.rows:
        return
    left, right = min(map(min, grid.rows.values())), max(map(max, grid.rows.values()))
    named: dict[int, list[Range]] = {}
    for header in headers:
        named.setdefault(header.top, []).append(header)
    for region in _cut(grid, list(grid.rows), left, right):
        yield from _cut_at_headers(region, named)


def _cut(grid: Grid, rows: list[int], left: int, right: int) -> Iterator[Region]:
    for band in _runs(rows, grid.row_gap):
        columns = sorted({column for number in band for column in grid.rows[number] if left <= column <= right})
        runs = _runs(columns, grid.column_gap)
        parts = _side_by_side(grid, band, runs) if len(runs) <= _MAX_SIDE_BY_SIDE else [(left, right)]
        if len(parts) == 1:
            yield Region(band, columns[0], columns[-1])
            continue
        for first, last in parts:
            yield from _cut(grid, _filled(grid, band, first, last), first, last)


def _runs(numbers: list[int], gap: Callable[[int, int], int]) -> list[list[int]]:
    """Neighbours together: numbers with nothing visible between them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and (number == runs[-1][-1] + 1 or gap(runs[-1][-1], number) == 0):
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _filled(grid: Grid, band: list[int], first: int, last: int) -> list[int]:
    """The rows that have a cell between two columns."""
    return [number for number in band if any(first <= column <= last for column in grid.rows[number])]


def _side_by_side(grid: Grid, band: list[int], runs: list[list[int]]) -> list[tuple[int, int]]:
    """First and last column of each table in a band: runs of columns, joined where a gap is only space in a table."""
    parts = [(runs[0][0], runs[0][-1])]
    for run in runs[1:]:
        before, after = parts[-1], (run[0], run[-1])
        if _apart(grid, band, before, after):
            parts.append(after)
        else:
            parts[-1] = (before[0], after[1])
    return parts


def _apart(grid: Grid, band: list[int], before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether two runs of columns are two tables.

    What belongs together must not be torn apart: the right one must have labels of its own in its first column, and
    more than one blank column, other rows or the same names must speak for two tables.
    """
    left, right = _filled(grid, band, *before), _filled(grid, band, *after)
    wide = grid.column_gap(before[1], after[0]) >= _WIDE_GAP
    if before[0] == before[1] or after[0] == after[1]:  # one column alone is a label or a remark, unless far away
        return wide and 2 * len(set(left) & set(right)) < min(len(left), len(right))
    if len(left) < 2 or len(right) < 2:
        return False
    labels = [grid.rows[number][after[0]] for number in right if after[0] in grid.rows[number]]
    own_labels = 2 * sum(not label.typed for label in labels) > len(right)
    if _first_wide_row(grid, left, before) != _first_wide_row(grid, right, after):
        return own_labels or wide
    shorter, length = (left, right) if len(left) < len(right) else (right, left)
    shorter_whole = left[-1] != right[-1] and length[: len(shorter)] == shorter
    return own_labels and (wide or shorter_whole or _same_names(grid, right[0], before, after))


def _first_wide_row(grid: Grid, rows: list[int], columns: tuple[int, int]) -> int:
    """The first row with more than one cell: titles above are one."""
    first, last = columns
    wide = (number for number in rows if sum(first <= column <= last for column in grid.rows[number]) > 1)
    return next(wide, rows[0])


def _same_names(grid: Grid, row: int, before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether the first row names columns on both sides alike."""
    names = [
        {grid.rows[row][column].text for column in range(first, last + 1) if column in grid.rows[row]}
        for first, last in (before, after)
    ]
    return bool(names[0] & names[1])


def _cut_at_headers(region: Region, headers: Mapping[int, list[Range]]) -> Iterator[Region]:
    starts = {
        number
        for number in (region.rows if headers else ())
        if any(area.left <= region.right and area.right >= region.left for area in headers.get(number, ()))
    }
    rows: list[int] = []
    for number in region.rows:
        if number in starts and rows:
            yield region._replace(rows=rows, named=rows[0] in starts)
            rows = []
        rows.append(number)
    yield region._replace(rows=rows, named=rows[0] in starts)
