"""A workbook as its readers find it: cells at their exact places, before they become tables."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.source import Limits, TextBudget
from mcp_knowledge.domain.cell_ranges import column_name
from mcp_knowledge.errors import KnowledgeError

MAX_ROW, MAX_COLUMN = 1_048_576, 16_384  # of the largest grid that any of the programs has
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")


class Range(NamedTuple):
    """A rectangle of cells; rows and columns count from 1, ends included."""

    top: int
    left: int
    bottom: int
    right: int

    def __str__(self) -> str:
        return f"{column_name(self.left)}{self.top}:{column_name(self.right)}{self.bottom}"


TOP_LEFT = Range(1, 1, 1, 1)


class Style(NamedTuple):
    """How a cell shows its value: an Excel number format code ("" for General), and whether in bold."""

    code: str = ""
    bold: bool = False


PLAIN = Style()


class Cell(NamedTuple):
    """A filled cell. Text is shown as it is, a number as its style says, a truth value as TRUE or FALSE.

    Args:
        typed: for text: whether it stands for a number, date or the like that its file states with its appearance.
    """

    value: str | float | bool
    style: Style = PLAIN
    typed: bool = False


class Note(NamedTuple):
    """Text that hangs at cells: a comment, or the words of a drawing (`label` tells which)."""

    where: Range
    label: str
    text: str


@dataclass(slots=True)
class Sheet:
    """A sheet.

    Args:
        with_hidden: whether its hidden rows and columns are read, too.
        rows: the filled cells by row and column.
        hidden_rows, hidden_columns: spans (first, last) that are hidden on purpose, without filter or outline.
        headers: the header rows that the file itself defines, by tables or filters.
    """

    name: str
    with_hidden: bool = False
    rows: dict[int, dict[int, Cell]] = field(default_factory=dict)
    merged: list[Range] = field(default_factory=list)
    hidden_rows: list[tuple[int, int]] = field(default_factory=list)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    headers: list[Range] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def put(self, row: int, column: int, cell: Cell, budget: "CellBudget") -> None:
        """Fill a cell; one outside of every program's grid is left out. Raises DOCUMENT_RESOURCE_LIMIT."""
        if cell.value == "" or not (0 < row <= MAX_ROW and 0 < column <= MAX_COLUMN):
            return
        budget.take(cell.value)
        self.rows.setdefault(row, {})[column] = cell


class Spans:
    """Numbers of rows or columns, as spans from a first to a last one."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for first, last in sorted(spans):
            if self._ends and first <= self._ends[-1] + 1:
                self._ends[-1] = max(self._ends[-1], last)
            else:
                self._starts.append(first)
                self._ends.append(last)
        lengths = (last - first + 1 for first, last in zip(self._starts, self._ends, strict=True))
        self._before = [0, *accumulate(lengths)]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number)
        return at > 0 and number <= self._ends[at - 1]

    def between(self, first: int, last: int) -> int:
        """How many numbers of the spans are greater than `first` and less than `last`."""
        return max(0, self._up_to(last - 1) - self._up_to(first))

    def _up_to(self, number: int) -> int:
        at = bisect_right(self._starts, number)
        if at == 0:
            return 0
        return self._before[at - 1] + min(number, self._ends[at - 1]) - self._starts[at - 1] + 1


class Filters:
    """Tells rows that are hidden on purpose from those that a filter leaves out."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._rows: list[int] = []
        self._last: Range | None = None
        self._active: set[Range] = set()

    def add(self, area: Range | None) -> None:
        """A filter over a range, whose first row holds the column names."""
        self._last = area
        if area is not None:
            self._sheet.headers.append(area._replace(bottom=area.top))

    def activate(self) -> None:
        """The filter added last has a condition, so that it may leave out rows."""
        if self._last is not None:
            self._active.add(self._last)

    def hide(self, row: int) -> None:
        """A row that is not shown."""
        self._rows.append(row)

    def finish(self) -> None:
        """Give the sheet its hidden rows, when all rows and filters are known."""
        filtered = Spans((area.top + 1, area.bottom) for area in self._active)
        self._sheet.hidden_rows += [(row, row) for row in self._rows if row not in filtered]


@dataclass(slots=True)
class Workbook:
    """The sheets that are shown, in order, and how many are hidden. `epoch_1904`: dates count from 1904, not 1900."""

    sheets: list[Sheet] = field(default_factory=list)
    epoch_1904: bool = False
    hidden_sheets: int = 0


class CellBudget:
    """Counts filled cells and their text while a workbook is read."""

    def __init__(self, limits: Limits) -> None:
        self._left = limits.max_spreadsheet_cells
        self._text = TextBudget(limits.max_extract_bytes)

    def take(self, value: str | float | bool) -> None:
        """Count a cell. Raises DOCUMENT_RESOURCE_LIMIT beyond the limit of cells or of text."""
        self._left -= 1
        if self._left < 0:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        if isinstance(value, str):
            self._text.take(value)


def cell_of(reference: str) -> tuple[int, int] | None:
    """Row and column (from 1) of `B2` or `$B$2`; None for what is no cell."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    row = int(match[2])
    return (row, column) if 0 < row <= MAX_ROW and column <= MAX_COLUMN else None


def range_of(reference: str) -> Range | None:
    """The range of `B2:F40` or `B2`; None for anything else."""
    first, _, last = reference.partition(":")
    start, end = cell_of(first), cell_of(last or first)
    if start is None or end is None:
        return None
    return Range(min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1]))
