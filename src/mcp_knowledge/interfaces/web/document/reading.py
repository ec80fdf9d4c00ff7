"""A document as it was read, page by page: its blocks ready for the template, a passage marked in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mcp_knowledge.domain.blocks import (
    Heading,
    ListBlock,
    PageBreak,
    SourceLocation,
    Table,
    has_own_marker,
)
from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.interfaces.web.document.matching import PassageWords, block_text
from mcp_knowledge.interfaces.web.document.pieces import PAGE_WEIGHT, Piece, Place, before, take
from mcp_knowledge.interfaces.web.document.place import PassagePlace
from mcp_knowledge.services.contents import Contents

_PAGE_BLOCKS = 400
_CONTEXT_WEIGHT = 2_500  # of what is shown before a passage, so that it is seen in its place
_MAX_DEPTH = 8  # of nested lists
_MAX_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text, inside the passage or not."""

    text: str
    marked: bool = False


@dataclass(slots=True)
class Item:
    """An item of a list with those below it. `own_marker`: its text begins with its number or sign."""

    text: str
    marked: bool
    own_marker: bool
    items: list["Item"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    cells: tuple[str, ...]
    marked: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A block, or a part of one.

    Args:
        index: of the block in the document.
        kind: the block's type.
        level: of a heading in the page, whose own begin at 2.
        location: where it stands; None where that is the same as for the block before.
        start: characters, items or rows that stand on an earlier page.
        first: whether the passage begins in it.
        marked: whether the whole of it belongs to the passage.
    """

    index: int
    kind: str
    level: int
    location: SourceLocation | None
    start: int
    goes_on: bool
    first: bool
    marked: bool
    segments: tuple[Segment, ...] = ()
    ordered: bool = False
    items: tuple[Item, ...] = ()
    headers: tuple[str, ...] | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadingPage:
    """A page of a document; `total` counts the document's blocks. `previous`, `next`: None at the ends."""

    blocks: tuple[Shown, ...]
    total: int
    first: Place
    previous: Place | None
    next: Place | None
    pages: int | None

    @property
    def share(self) -> int:
        """How much of the document stands before the page, in percent."""
        return round(100 * self.first.block / self.total) if self.total else 0


async def read_page(
    contents: Contents, revision_id: str, start: Place, chunk: StoredChunk | None, place: PassagePlace | None
) -> ReadingPage:
    """The page that begins at a place, or, to show a passage, shortly before it."""
    if place is not None:
        start = await _earlier(contents, revision_id, place.first, _CONTEXT_WEIGHT)
    found = await contents.blocks(revision_id, start.block, _PAGE_BLOCKS)
    if not found.blocks and found.total:  # an address of a longer document
        start = Place()
        found = await contents.blocks(revision_id, 0, _PAGE_BLOCKS)
    pieces, after = take(start.block, found.blocks, start.offset)
    words = PassageWords(chunk) if chunk is not None and place is not None else None
    pages = found.metadata.get("pages")
    return ReadingPage(
        blocks=tuple(_shown(pieces, words, place)),
        total=found.total,
        first=start,
        previous=await _earlier(contents, revision_id, start, PAGE_WEIGHT) if start > Place() else None,
        next=after if after.block < found.total else None,
        pages=pages if isinstance(pages, int) and not isinstance(pages, bool) else None,
    )


async def _earlier(contents: Contents, revision_id: str, place: Place, room: int) -> Place:
    first = max(0, place.block - _PAGE_BLOCKS + 1)
    found = await contents.blocks(revision_id, first, place.block - first + 1)
    return before(first, found.blocks, place, room) if found.blocks else Place()


def _shown(pieces: Sequence[Piece], words: PassageWords | None, place: PassagePlace | None) -> list[Shown]:
    shown = []
    last: SourceLocation | None = None
    begun = False
    for piece in pieces:
        block = piece.block
        if isinstance(block, PageBreak):
            continue
        here = _place_of(block.location)
        inside = words if place and place.first.block <= piece.index <= place.last_block else None
        made = _block(piece, inside, here if here != last else None, not begun)
        begun = begun or made.first
        last = here
        shown.append(made)
    return shown


def _place_of(location: SourceLocation) -> SourceLocation:
    """What a reader is told between blocks: page, slide, sheet or chapter."""
    return SourceLocation(
        page_start=location.page_start, slide=location.slide, sheet=location.sheet, section=location.section
    )


def _block(piece: Piece, words: PassageWords | None, location: SourceLocation | None, may_be_first: bool) -> Shown:
    block = piece.block
    segments = _segments(piece, words)
    items: tuple[Item, ...] = ()
    rows: tuple[Row, ...] = ()
    if isinstance(block, ListBlock):
        items = _nested(block.items[piece.start : piece.end], block.ordered, words)
    if isinstance(block, Table):
        part = block.rows[piece.start : piece.end]
        rows = tuple(Row(row, words is not None and words.has_unit(" ".join(row))) for row in part)
    marked = any(segment.marked for segment in segments) or any(row.marked for row in rows) or _any_marked(items)
    return Shown(
        index=piece.index,
        kind=block.type,
        level=min(block.level + 1, _MAX_LEVEL) if isinstance(block, Heading) else 0,
        location=location,
        start=piece.start,
        goes_on=piece.goes_on,
        first=marked and may_be_first,
        marked=marked and all(segment.marked for segment in segments) and not (items or rows),
        segments=segments,
        ordered=isinstance(block, ListBlock) and block.ordered,
        items=items,
        headers=block.headers if isinstance(block, Table) else None,
        rows=rows,
    )


def _segments(piece: Piece, words: PassageWords | None) -> tuple[Segment, ...]:
    """The text in up to three stretches: before, in and after the passage."""
    text = block_text(piece.block)
    if text is None:
        return ()
    span = words.span(piece.block) if words else None
    edges = [piece.start, piece.end]
    if span:
        edges[1:1] = [max(piece.start, min(at, piece.end)) for at in span]
    parts = [Segment(text[a:b], index == 1) for index, (a, b) in enumerate(pairwise(edges))]
    return tuple(part for part in parts if part.text)


def _nested(lines: Sequence[str], ordered: bool, words: PassageWords | None) -> tuple[Item, ...]:
    """Items below those that they are indented under."""
    top: list[Item] = []
    open_lists: list[tuple[int, list[Item]]] = [(0, top)]
    for line in lines:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        own_marker = (ordered or indent > 0) and has_own_marker(text)
        item = Item(text, words is not None and words.has_unit(text), own_marker)
        while len(open_lists) > 1 and indent < open_lists[-1][0]:
            open_lists.pop()
        depth, items = open_lists[-1]
        if indent > depth and items and len(open_lists) < _MAX_DEPTH:
            open_lists.append((indent, items[-1].items))
        open_lists[-1][1].append(item)
    return tuple(top)


def _any_marked(items: Sequence[Item]) -> bool:
    return any(item.marked or _any_marked(item.items) for item in items)
