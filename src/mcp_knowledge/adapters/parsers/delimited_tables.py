"""Records to tables: lines before a table, the row of its column names, and where another one begins."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mcp_knowledge.adapters.parsers.delimited_records import Record
from mcp_knowledge.adapters.parsers.grids import is_number

_FEW_LINES = 3
_MAX_LINES_BEFORE = 30
_SAMPLE_ROWS = 50
_PERIOD = re.compile(r"(?:1[6-9]|20)\d\d|\d{1,4}([-/.])\d{1,2}(?:\1\d{1,4})?")


@dataclass(slots=True)
class DelimitedTable:
    """Lines before a table, the record that names the columns, and the rows."""

    before: Sequence[Record]
    header: Record | None
    rows: list[Record] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Columns of the widest record."""
        return max((len(record.cells) for record in (*self.rows, *filter(None, [self.header]))), default=0)

    @property
    def names(self) -> tuple[str, ...] | None:
        """A name for each column, "" where it has none."""
        if self.header is None:
            return None
        names = self.header.cells
        if len(names) == self.width - 1 and _are_numbered(self.rows):
            names = ("", *names)  # R leaves out the name of the column of row numbers
        return names + ("",) * (self.width - len(names))


def find_tables(records: Sequence[Record]) -> Iterator[DelimitedTable]:
    """The tables of a file, one or several below each other with blank lines between."""
    table: DelimitedTable | None = None
    for part in _parts(records):
        before, header, rows = _parted(part)
        if table is None or _begins_another(table, before, header, rows):
            if table:
                yield table
            table = DelimitedTable(before, header, list(rows))
        else:
            table.rows += part
    if table:
        yield table


def _parts(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Stretches without blank lines; lines of one cell alone belong to what follows."""
    start = 0
    for index in range(1, len(records)):
        if records[index].number == records[index - 1].number + 1:
            continue
        if any(len(record.cells) > 1 for record in records[start : min(index, start + _MAX_LINES_BEFORE)]):
            yield records[start:index]
            start = index
    if records:
        yield records[start:]


def _parted(part: Sequence[Record]) -> tuple[Sequence[Record], Record | None, Sequence[Record]]:
    """Lines before the table (narrower than it is), the row of names if there is one, the rows."""
    first = _first_row(part)
    before, table = part[:first], part[first:]
    if _is_header(table[0], table[1 : _SAMPLE_ROWS + 1]) and (len(table) > 1 or len(table[0].cells) > 1):
        return before, table[0], table[1:]
    return before, None, table


def _first_row(part: Sequence[Record]) -> int:
    width = max(len(record.cells) for record in part)
    first = 0
    while width > 1 and first < len(part) - 1 and len(part[first].cells) == 1:
        first += 1
    if first == len(part) - 1:
        return first if first <= _FEW_LINES else 0  # many lines of one cell are a column, whatever the last one has
    sample = part[first : first + _MAX_LINES_BEFORE + _SAMPLE_ROWS]
    usual = Counter(len(record.cells) for record in sample).most_common(1)[0][0]
    full = next(index for index, record in enumerate(sample) if len(record.cells) >= usual)
    names_values = full <= _MAX_LINES_BEFORE and _names_values(sample[full], sample[full + 1 :])
    return first + full if names_values else first


def _is_header(record: Record, rows: Sequence[Record]) -> bool:
    """Whether a record names the columns: words, or years, dates or numbers unlike what stands below them."""
    numbers = [(index, cell) for index, cell in enumerate(record.cells) if is_number(cell)]
    if 2 * len(numbers) < len(record.cells):
        return True
    below = [
        row.cells[index] for row in rows for index, _ in numbers if row.cells[index : index + 1] not in ((), ("",))
    ]
    cells = [cell for _, cell in numbers]
    if not below or len(set(cells)) < len(cells):
        return False
    if not any(map(is_number, below)) or (not record.cells[0] and cells == list(map(str, range(len(cells))))):
        return True
    if is_number(record.cells[0]) or not all(map(_PERIOD.fullmatch, cells)):
        return False
    return 2 * sum(_PERIOD.fullmatch(cell) is not None for cell in below) < len(below)


def _names_values(record: Record, rows: Sequence[Record]) -> bool:
    """Whether a record is all words, and stands above numbers."""
    if any(map(is_number, record.cells)) or len(set(record.cells)) < len(record.cells):
        return False
    return any(is_number(cell) for row in rows for cell in row.cells[: len(record.cells)])


def _begins_another(
    table: DelimitedTable, before: Sequence[Record], header: Record | None, rows: Sequence[Record]
) -> bool:
    """Whether a part below a blank line is another table, and not more rows of the one above."""
    if header is None or not rows or len(header.cells) < 2 or any(map(is_number, header.cells)):
        return False
    if table.header is None or header.cells == table.header.cells or (before and table.width > 1):
        return True
    widths = Counter(len(record.cells) for record in rows)
    return len(header.cells) == widths.most_common(1)[0][0] != len(table.header.cells)


def _are_numbered(rows: Sequence[Record]) -> bool:
    """Whether the first cells are consecutive numbers."""
    firsts = [row.cells[0] for row in rows[:_SAMPLE_ROWS]]
    numbers = [int(cell) for cell in firsts if cell.isascii() and cell.isdecimal() and len(cell) < 10]
    return 1 < len(numbers) == len(firsts) and all(after == number + 1 for number, after in pairwise(numbers))
