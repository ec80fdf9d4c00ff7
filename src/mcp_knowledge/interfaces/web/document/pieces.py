"""A document's blocks cut into pages of about the same length, so that a long one opens as fast as a short one.

A place is a block and what stands in it: characters of a text, items of a list, rows of a table. A block that is
longer than a page is shown in parts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.blocks import Block, ListBlock, Table
from mcp_knowledge.interfaces.web.document.matching import block_text

PAGE_WEIGHT = 20_000  # about as many characters; 6 or 7 printed pages
_ITEM_WEIGHT, _CELL_WEIGHT, _BLOCK_WEIGHT = 20, 20, 40  # beside their text
_LEAST_TEXT = 500  # characters of a part of a long text
_PLACE = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a document; both count from 0."""

    block: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.block}.{self.offset}" if self.offset else str(self.block)


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or the part `start`…`end` of its characters, items or rows."""

    index: int
    block: Block
    start: int
    end: int

    @property
    def goes_on(self) -> bool:
        """Whether a part follows on a later page."""
        return self.end < length(self.block)


def read_place(text: str) -> Place:
    """The place that an address names, the document's beginning for anything else."""
    match = _PLACE.fullmatch(text)
    return Place(int(match[1]), int(match[2] or 0)) if match else Place()


def length(block: Block) -> int:
    """Characters, items or rows."""
    text = block_text(block)
    if text is not None:
        return len(text)
    return len(block.items) if isinstance(block, ListBlock) else len(block.rows) if isinstance(block, Table) else 0


def weight(block: Block, start: int = 0, end: int | None = None) -> int:
    """How much room a block, or a part of it, takes on a page."""
    end = length(block) if end is None else end
    if block_text(block) is not None:
        return _BLOCK_WEIGHT + end - start
    head = _unit_weight(block.headers) if isinstance(block, Table) and block.headers else 0
    return _BLOCK_WEIGHT + head + sum(map(_unit_weight, _units(block)[start:end]))


def _units(block: Block) -> Sequence[str | Sequence[str]]:
    return block.items if isinstance(block, ListBlock) else block.rows if isinstance(block, Table) else ()


def _unit_weight(unit: str | Sequence[str]) -> int:
    return len(unit) + _ITEM_WEIGHT if isinstance(unit, str) else sum(len(cell) + _CELL_WEIGHT for cell in unit)


def take(first: int, blocks: Sequence[Block], offset: int, room: int = PAGE_WEIGHT) -> tuple[list[Piece], Place]:
    """As many blocks as a page has room for, at least a part of one, and the place after them.

    Args:
        first: index of the first block.
        offset: where in the first block the page begins.
    """
    pieces: list[Piece] = []
    for index, block in enumerate(blocks, first):
        start = min(offset, length(block)) if index == first else 0
        needed = weight(block, start)
        if needed <= room:
            pieces.append(Piece(index, block, start, length(block)))
            room -= needed
            continue
        if pieces and needed <= PAGE_WEIGHT:
            return pieces, Place(index)
        end = _end_of_part(block, start, room)
        if end > start:
            pieces.append(Piece(index, block, start, end))
        return pieces, Place(index, end) if end < length(block) else Place(index + 1)
    return pieces, Place(first + len(blocks))


def before(first: int, blocks: Sequence[Block], place: Place, room: int = PAGE_WEIGHT) -> Place:
    """The place at most a page's room before another.

    Args:
        first: index of the first of the blocks, which end with the place's own.
    """
    for index in range(min(place.block, first + len(blocks) - 1), first - 1, -1):
        block = blocks[index - first]
        end = min(place.offset, length(block)) if index == place.block else length(block)
        if index == place.block and end == 0:
            continue
        needed = weight(block, 0, end)
        if needed > room:
            start = _start_of_part(block, end, room)
            return Place(index, start) if start < end else Place(index + 1) if index < place.block else place
        room -= needed
    return Place(first)


def _end_of_part(block: Block, start: int, room: int) -> int:
    """Where a part that begins at `start` ends: at a blank of a text, after one unit at least."""
    text = block_text(block)
    if text is not None:
        end = start + max(room, _LEAST_TEXT)
        blank = text.rfind(" ", start + 1, end) if end < len(text) else -1
        return min(len(text), blank + 1 if blank > start else end)
    end = start
    for unit in _units(block)[start:]:
        room -= _unit_weight(unit)
        if room < 0 and end > start:
            break
        end += 1
    return end


def _start_of_part(block: Block, end: int, room: int) -> int:
    """Where a part that ends at `end` begins."""
    if block_text(block) is not None:
        return max(0, end - max(room, _LEAST_TEXT))
    start = end
    for unit in reversed(_units(block)[:end]):
        room -= _unit_weight(unit)
        if room < 0 and start < end:
            break
        start -= 1
    return start
