"""A sheet as its reader sees it: texts at their places, without what is hidden, merged cells filled."""

from collections.abc import Mapping
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.finishing import clean
from mcp_knowledge.adapters.parsers.grids import MAX_REPEATED_CHARS, is_number
from mcp_knowledge.adapters.parsers.sheets.dates import date_tokens
from mcp_knowledge.adapters.parsers.sheets.format import Number, shown
from mcp_knowledge.adapters.parsers.sheets.model import Cell, Range, Sheet, Spans
from mcp_knowledge.adapters.parsers.source import MAX_CELLS
from mcp_knowledge.errors import KnowledgeError

_FIRST_YEAR, _LAST_YEAR = 1900, 2100


class Shown(NamedTuple):
    """A cell's text.

    Args:
        typed: a number, date, truth value or error, also one written as text.
        label: whether it may name a column: words, a year or a date.
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
        self._hidden_rows = Spans(() if sheet.with_hidden else sheet.hidden_rows)
        self._hidden_columns = Spans(() if sheet.with_hidden else sheet.hidden_columns)
        columns = {column for row in sheet.rows.values() for column in row}
        hidden_columns = {column for column in columns if column in self._hidden_columns}
        merged = {(area.top, area.left): area for area in sheet.merged}
        self.rows: dict[int, Row] = {}
        spread: list[tuple[Range, Shown]] = []
        for number in sorted(sheet.rows):
            row: Row = {}
            hidden = number in self._hidden_rows
            for column, cell in sorted(sheet.rows[number].items()):
                area = merged.get((number, column)) if merged else None
                item = _shown(cell, texts, area)
                if item is None:
                    continue
                if area is not None:
                    spread.append((area, item))
                if not hidden and column not in hidden_columns:
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
            if len(item.text) > MAX_REPEATED_CHARS:
                continue
            last, edge = min(area.bottom, bottom), min(area.right, right)
            total += max(0, last - area.top + 1) * max(0, edge - area.left + 1)
            if total > MAX_CELLS:
                raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
            for number in range(area.top, last + 1):
                if number in self._hidden_rows:
                    continue
                row = self.rows.get(number, {})
                covered = (at for at in range(area.left, edge + 1) if at not in row and at not in self._hidden_columns)
                row |= dict.fromkeys(covered, item)
                if row:
                    self.rows[number] = row
        self.rows = dict(sorted(self.rows.items()))

    def row_gap(self, upper: int, lower: int) -> int:
        """How many rows a reader sees between two rows."""
        return lower - upper - 1 - self._hidden_rows.between(upper, lower)

    def column_gap(self, left: int, right: int) -> int:
        """How many columns a reader sees between two columns."""
        return right - left - 1 - self._hidden_columns.between(left, right)

    def shows(self, row: int, column: int) -> bool:
        """Whether neither the row nor the column of a cell is hidden."""
        return row not in self._hidden_rows and column not in self._hidden_columns


def _shown(cell: Cell, texts: Mapping[Number, str], merged: Range | None) -> Shown | None:
    text = clean(shown(cell, texts))
    if not text:
        return None
    typed = cell.typed or not isinstance(cell.value, str) or is_number(text)
    return Shown(text, typed, not typed or _is_period(cell, text), cell.style.bold, merged)


def _is_period(cell: Cell, text: str) -> bool:
    """Whether a value is a year or a date."""
    if text.isdecimal() and len(text) == 4 and _FIRST_YEAR <= int(text) <= _LAST_YEAR:
        return True
    return isinstance(cell.value, float) and date_tokens(cell.style.code) is not None
