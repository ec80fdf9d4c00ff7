"""A sheet as its reader sees it: texts at their places, without what is hidden, merged cells filled."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.finishing import clean
from mcp_knowledge.adapters.parsers.grids import MAX_REPEATED_CHARS, is_number
from mcp_knowledge.adapters.parsers.sheets_format import Number, shown
from mcp_knowledge.adapters.parsers.sheets_model import Cell, Range, Sheet, within
from mcp_knowledge.adapters.parsers.source import MAX_CELLS
from mcp_knowledge.errors import KnowledgeError

_FIRST_YEAR, _LAST_YEAR = 1900, 2100


class Shown(NamedTuple):
    """A cell's text.

    Args:
        typed: a number, date, truth value or error, also one written as text.
        label: whether it may name a column: words, or a year.
        merged: the range that it shares with others, or None.
    """

    text: str
    typed: bool
    label: bool
    bold: bool
    merged: Range | None = None


Row = dict[int, Shown]


class Grid:
    """The visible cells by row and column, and which rows and columns are neighbours to the eye."""

    def __init__(self, sheet: Sheet, texts: Mapping[Number, str]) -> None:
        self._hidden_rows, self._hidden_columns = _joined(sheet.hidden_rows), _joined(sheet.hidden_columns)
        hidden_rows = _members(sheet.rows, self._hidden_rows)
        columns = {column for row in sheet.rows.values() for column in row}
        hidden_columns = _members(columns, self._hidden_columns)
        merged = {(area.top, area.left): area for area in sheet.merged}
        self.rows: dict[int, Row] = {}
        spread: list[tuple[Range, Shown]] = []
        for number in sorted(sheet.rows):
            row: Row = {}
            for column, cell in sorted(sheet.rows[number].items()):
                area = merged.get((number, column)) if merged else None
                item = _shown(cell, texts, area)
                if item is None:
                    continue
                if area is not None:
                    spread.append((area, item))
                if number not in hidden_rows and column not in hidden_columns:
                    row[column] = item
            if row:
                self.rows[number] = row
        self._spread(spread)

    def _spread(self, areas: list[tuple[Range, Shown]]) -> None:
        """Repeat merged cells over what they cover of the used range."""
        if not areas or not self.rows:
            return
        bottom, right = max(self.rows), max(max(row) for row in self.rows.values())
        total = 0
        for area, item in areas:
            repeated = item if len(item.text) <= MAX_REPEATED_CHARS else item._replace(text="", label=False)
            last, edge = min(area.bottom, bottom), min(area.right, right)
            total += max(0, last - area.top + 1) * max(0, edge - area.left + 1)
            if total > MAX_CELLS:
                raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
            for number in range(area.top, last + 1):
                if within(number, self._hidden_rows):
                    continue
                row = self.rows.setdefault(number, {})
                for column in range(area.left, edge + 1):
                    if column not in row and not within(column, self._hidden_columns):
                        row[column] = repeated
        self.rows = dict(sorted(self.rows.items()))

    def row_gap(self, upper: int, lower: int) -> int:
        """How many rows a reader sees between two rows."""
        return _visible_between(upper, lower, self._hidden_rows)

    def column_gap(self, left: int, right: int) -> int:
        """How many columns a reader sees between two columns."""
        return _visible_between(left, right, self._hidden_columns)

    def shows(self, row: int, column: int) -> bool:
        """Whether neither the row nor the column of a cell is hidden."""
        return not within(row, self._hidden_rows) and not within(column, self._hidden_columns)


def _members(numbers: Iterable[int], spans: list[tuple[int, int]]) -> frozenset[int]:
    """Those of the numbers that lie in one of the spans, which are in order."""
    if not spans:
        return frozenset()
    starts = [first for first, _ in spans]
    return frozenset(
        number for number in numbers if (at := bisect_right(starts, number)) and number <= spans[at - 1][1]
    )


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, with neighbours made one."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def _visible_between(first: int, last: int, hidden: list[tuple[int, int]]) -> int:
    between = last - first - 1
    if between > 0:
        between -= sum(max(0, min(end, last - 1) - max(start, first + 1) + 1) for start, end in hidden)
    return between


def _shown(cell: Cell, texts: Mapping[Number, str], merged: Range | None) -> Shown | None:
    text = clean(shown(cell, texts))
    if not text:
        return None
    typed = cell.typed or not isinstance(cell.value, str) or is_number(text)
    label = not typed or (text.isdecimal() and len(text) == 4 and _FIRST_YEAR <= int(text) <= _LAST_YEAR)
    return Shown(text, typed, label, cell.style.bold, merged)
