"""A sheet's blocks: its name, titles, tables with their column names, comments; each with its exact range."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.grids import row_groups
from mcp_knowledge.adapters.parsers.sheets.format import Number
from mcp_knowledge.adapters.parsers.sheets.grid import Grid, Shown
from mcp_knowledge.adapters.parsers.sheets.headers import header_rows
from mcp_knowledge.adapters.parsers.sheets.model import TOP_LEFT, Note, Range, Sheet
from mcp_knowledge.adapters.parsers.sheets.regions import Region, find_regions
from mcp_knowledge.adapters.parsers.sinks import merge_headers
from mcp_knowledge.domain.blocks import Block, Heading, Paragraph, SourceLocation, Table
from mcp_knowledge.domain.cell_ranges import column_name

_MAX_TITLE_CHARS = 120
_FEW_LINES = 3
_PROSE_CHARS = 80  # a column whose cells are longer than that, on average, is running text
_SPARSE = 8  # a region with fewer filled cells than one in eight is no table
_SMALL_REGION = 40  # cells: its blank ones do no harm
_NO_TITLE = re.compile(r"\n|\w://")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",", "。")


class _Names(NamedTuple):
    """The column names of a table that later ones go on with."""

    left: int
    right: int
    texts: tuple[str, ...]


def sheet_blocks(sheet: Sheet, texts: Mapping[Number, str]) -> list[Block]:
    """The blocks of a sheet; none when it shows no text."""
    return _SheetBlocks(sheet, texts).blocks()


def sheet_heading(sheet: Sheet, area: Range = TOP_LEFT) -> Heading:
    """A sheet's name above everything in it."""
    return Heading(1, sheet.name, SourceLocation(sheet=sheet.name, cell_range=str(area)))


class _SheetBlocks:
    def __init__(self, sheet: Sheet, texts: Mapping[Number, str]) -> None:
        self._sheet = sheet
        self._grid = Grid(sheet, texts)
        self._names: _Names | None = None

    def blocks(self) -> list[Block]:
        """Name, then the regions, each followed by its comments, then what hangs elsewhere."""
        regions = list(find_regions(self._grid, self._sheet.headers))
        notes: dict[int, list[Note]] = {}
        for note in sorted(self._sheet.notes):
            if self._grid.shows(note.where.top, note.where.left):
                notes.setdefault(note.where.top, []).append(note)
        result: list[Block] = []
        for index, region in enumerate(regions):
            below = regions[index + 1] if index + 1 < len(regions) else None
            result += self._region(region, below)
            for number in filter(notes.__contains__, region.rows):
                columns = range(region.left, region.right + 1)
                inside = [note for note in notes[number] if note.label and note.where.left in columns]
                result += map(self._note, inside)
                notes[number] = [note for note in notes[number] if note not in inside]
        result += [self._note(note) for row in notes.values() for note in row]
        if not result:
            return []
        ranges = [region.range for region in regions] + [note.where for row in notes.values() for note in row]
        return [sheet_heading(self._sheet, _cover(ranges)), *result]

    def _place(self, area: Range) -> SourceLocation:
        return SourceLocation(sheet=self._sheet.name, cell_range=str(area))

    def _note(self, note: Note) -> Block:
        cell = f"{column_name(note.where.left)}{note.where.top}"
        text = f"[{note.label} on {cell}: {' '.join(note.text.split())}]" if note.label else note.text
        return Paragraph(text, self._place(note.where))

    def _region(self, region: Region, below: Region | None) -> Iterator[Block]:
        cells = sum(len(self._grid.rows[number]) for number in region.rows)
        if len(region.rows) * (region.right - region.left + 1) > cells * _SPARSE + _SMALL_REGION:
            yield from self._scattered(region)
            return
        start, titled = 0, False
        while start < len(region.rows) and (line := self._line(region, start)) is not None:
            area, cell = line
            end = bisect_right(region.rows, area.bottom, start)
            ends_region = end == len(region.rows)
            near = below is not None and self._grid.row_gap(region.rows[-1], below.rows[0]) <= 1
            first = not titled and (not ends_region or self._is_first(region, start))
            block = self._line_block(area, cell, is_title=(near or not ends_region) and (cell.bold or first))
            titled = titled or isinstance(block, Heading)
            yield block
            start = end
        if start < len(region.rows):
            yield from self._table(region._replace(rows=region.rows[start:]))

    def _is_first(self, region: Region, start: int) -> bool:
        return region.rows[start] == next(iter(self._grid.rows))

    def _line(self, region: Region, start: int) -> tuple[Range, Shown] | None:
        """A row's range and cell if it is one cell, alone in its row, of a region that is no column."""
        top = region.rows[start]
        row = [(column, cell) for column, cell in self._grid.rows[top].items() if region.left <= column <= region.right]
        column, cell = min(row, key=lambda item: item[0])
        if cell.merged is None:
            alone = len(row) == 1 and (region.left < region.right or len(region.rows) - start == 1)
            return (Range(top, column, top, column), cell) if alone else None
        area = cell.merged
        if any(other.merged != area for _, other in row) or area.top != top:
            return None
        tall = region.rows[start : bisect_right(region.rows, area.bottom, start)]
        if any(
            other.merged != area
            for number in tall
            for at, other in self._grid.rows[number].items()
            if region.left <= at <= region.right
        ):
            return None
        return area._replace(bottom=tall[-1], right=max(at for at, _ in row)), cell

    def _line_block(self, area: Range, cell: Shown, is_title: bool) -> Block:
        """A heading if the line is to be a title and looks like one, else a paragraph."""
        text, place = cell.text, self._place(area)
        looks_so = len(text) <= _MAX_TITLE_CHARS and not text.endswith(_SENTENCE_ENDS) and not _NO_TITLE.search(text)
        return Heading(2, text, place) if is_title and looks_so and not cell.typed else Paragraph(text, place)

    def _table(self, region: Region) -> Iterator[Block]:
        columns = range(region.left, region.right + 1)
        depth = header_rows(self._grid, region)
        rows = [self._texts(number, columns) for number in region.rows]
        if len(columns) == 1 and not depth and self._is_prose(rows):
            for number in region.rows:
                area = Range(number, region.left, number, region.left)
                yield self._line_block(area, self._grid.rows[number][region.left], number == region.rows[0])
            return
        names = merge_headers([list(row) for row in rows[:depth]]) if depth else self._continued(region)
        if depth and names:
            self._names = _Names(region.left, region.right, names)
        elif names is None:
            self._names = None
        first = depth
        for start, end in self._groups(region.rows, rows, depth):
            top = region.rows[start]
            if start == depth and depth and region.rows[start] - region.rows[0] == depth:
                top = region.rows[0]
            elif start == depth and depth:  # hidden rows part the names from the first row
                yield Table(
                    names, (), self._place(Range(region.rows[0], region.left, region.rows[depth - 1], region.right))
                )
            area = Range(top, region.left, region.rows[end - 1], region.right)
            yield Table(names, tuple(rows[start:end]), self._place(area))
            first = end
        if first == depth == len(rows):
            yield Table(None, tuple(rows), self._place(region.range))

    @staticmethod
    def _is_prose(rows: Sequence[tuple[str, ...]]) -> bool:
        """Whether a single column is lines of text: few of them, or long ones."""
        return len(rows) <= _FEW_LINES or sum(len(text) for (text,) in rows) > len(rows) * _PROSE_CHARS

    def _texts(self, number: int, columns: range) -> tuple[str, ...]:
        row = self._grid.rows[number]
        return tuple(row[column].text if column in row else "" for column in columns)

    def _groups(self, numbers: Sequence[int], rows: Sequence[tuple[str, ...]], first: int) -> Iterator[tuple[int, int]]:
        """Stretches of rows that make one block: neighbours by number, not too many."""
        start = first
        for size in row_groups(rows[first:], numbers[first:]):
            yield start, start + size
            start += size

    def _continued(self, region: Region) -> tuple[str, ...] | None:
        """The names of the table above, for one that goes on after a blank row under the same columns."""
        names = self._names
        if names is None or region.left != names.left or not region.left < region.right <= names.right:
            return None
        return names.texts[: region.right - names.left + 1]

    def _scattered(self, region: Region) -> Iterator[Block]:
        """Cells too far from each other for a table: each stretch of neighbours by itself."""
        for number in region.rows:
            row = self._grid.rows[number]
            run: list[int] = []
            for column in sorted(at for at in row if region.left <= at <= region.right):
                if run and column != run[-1] + 1:
                    yield self._stretch(number, run)
                    run = []
                run.append(column)
            yield self._stretch(number, run)

    def _stretch(self, number: int, columns: Sequence[int]) -> Block:
        texts = self._texts(number, range(columns[0], columns[-1] + 1))
        area = Range(number, columns[0], number, columns[-1])
        return Table(None, (texts,), self._place(area))


def _cover(ranges: Sequence[Range]) -> Range:
    return Range(
        min(area.top for area in ranges),
        min(area.left for area in ranges),
        max(area.bottom for area in ranges),
        max(area.right for area in ranges),
    )
