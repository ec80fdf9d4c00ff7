"""Where stretches of a section stand in the source."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from mcp_knowledge.domain import cell_ranges
from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.sections import Part


def part_location(part: Part, start: int, end: int) -> SourceLocation:
    """Where the stretch `start`…`end` (section offsets) of a part stands in the source, as exactly as can be told."""
    location = part.location
    if part.char_start is not None:
        shift = part.char_start - part.start
        location = replace(location, char_start=max(start, part.start) + shift, char_end=min(end, part.end) + shift)
    if part.rows and location.cell_range:
        first = max(0, bisect_right(part.line_starts, start) - 1)
        last = max(first, bisect_left(part.line_starts, end) - 1)
        rows = part.rows[first], part.rows[last]
        columns = _columns(part, first, start, end) if first == last else None
        location = replace(location, cell_range=cell_ranges.part_of(location.cell_range, rows, columns))
    return location


def _columns(part: Part, line: int, start: int, end: int) -> tuple[int, int] | None:
    """First and last column of a stretch of a table's line; None for the whole line."""
    cells = part.cells.get(line)
    if not cells:
        return None
    shift = part.line_starts[line]
    first = max(0, bisect_right(cells, start - shift, key=lambda cell: cell[0]) - 1)
    last = max(first, bisect_left(cells, end - shift, key=lambda cell: cell[0]) - 1)
    return None if last - first + 1 == len(cells) else (cells[first][1], cells[last][1])


def merge_locations(locations: Sequence[SourceLocation]) -> SourceLocation:
    """The smallest location that covers all of them."""
    if len(locations) == 1:
        return locations[0]
    first = locations[0]
    starts = [item.char_start for item in locations if item.char_start is not None]
    ends = [item.char_end for item in locations if item.char_end is not None]
    from_pages = [item.page_start for item in locations if item.page_start is not None]
    to_pages = [page for item in locations if (page := item.page_end or item.page_start) is not None]
    ranges = [item.cell_range for item in locations if item.cell_range]
    return SourceLocation(
        page_start=min(from_pages, default=None),
        page_end=max(to_pages, default=None),
        slide=first.slide,
        sheet=first.sheet,
        cell_range=cell_ranges.cover(ranges) if ranges else None,
        section=first.section,
        char_start=min(starts, default=None),
        char_end=max(ends, default=None),
    )
