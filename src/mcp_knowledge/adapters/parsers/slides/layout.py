"""What stands on a slide, put in order; a slide that states no title may show one."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from mcp_knowledge.adapters.parsers.slides.document import Slide
from mcp_knowledge.adapters.parsers.slides.order import Box, around, in_reading_order
from mcp_knowledge.domain.blocks import Block, Paragraph

# A short line that is no sentence is its slide's title when it stands over everything else and is about as wide as the
# rest, or when it stands in the upper half in letters larger than all others.
_MAX_SHOWN_TITLE_CHARS = 100
_MIN_TITLE_WIDTH = 0.4
_LARGER = 1.2
_SENTENCE = re.compile(r"[.:;,!。]$|\n.*\n|https?://|@", re.DOTALL)


class Item(NamedTuple):
    """A shape: where it stands, its blocks, the size of its largest letters in points (0 when it states none), and
    whether it is a picture.
    """

    box: Box | None
    blocks: list[Block]
    points: float = 0.0
    is_picture: bool = False


def ordered(items: Sequence[Item], from_right: bool = False) -> list[Block]:
    """The blocks of all items in reading order."""
    filled = [(item.box, item.blocks) for item in items if item.blocks]
    return [block for blocks in in_reading_order(filled, from_right) for block in blocks]


def fill(slide: Slide, items: Sequence[Item], area: float, from_right: bool = False) -> None:
    """Put the items on the slide, whose area is in the square of the boxes' unit."""
    pictures = [item.box.width * item.box.height for item in items if item.is_picture and item.box is not None]
    slide.picture_share = max(pictures, default=0.0) / area if area > 0 else 0.0
    filled = [item for item in items if item.blocks]
    title = None if slide.title else next((item for item in _candidates(filled) if _is_shown_title(item, filled)), None)
    if title is not None:
        slide.add_title(_line(title))
    slide.blocks.extend(ordered([item for item in filled if item is not title], from_right))


def _candidates(items: Sequence[Item]) -> list[Item]:
    """The only items that can be a title: the highest one, and the one in the largest letters."""
    placed = [(item.box.top, at) for at, item in enumerate(items) if item.box is not None]
    chosen = [min(placed)[1]] if placed else []
    if items:
        chosen.append(max(range(len(items)), key=lambda at: items[at].points))
    return [items[at] for at in dict.fromkeys(chosen)]


def _line(item: Item) -> str:
    """The text of an item that is one paragraph."""
    block = item.blocks[0]
    return block.text if len(item.blocks) == 1 and isinstance(block, Paragraph) else ""


def _is_shown_title(item: Item, items: Sequence[Item]) -> bool:
    text = _line(item)
    if not text or len(text) > _MAX_SHOWN_TITLE_CHARS or _SENTENCE.search(text):
        return False
    others = [other for other in items if other is not item]
    return not others or _stands_over(item, others) or _is_largest(item, others)


def _stands_over(item: Item, others: Sequence[Item]) -> bool:
    whole = around(other.box for other in (item, *others))
    boxes = [other.box for other in others if other.box is not None]
    if item.box is None or whole is None or not boxes or item.box.width < _MIN_TITLE_WIDTH * whole.width:
        return False
    middle = item.box.top + item.box.height / 2
    return all(box.top >= middle for box in boxes)


def _is_largest(item: Item, others: Sequence[Item]) -> bool:
    whole = around(other.box for other in (item, *others))
    if item.box is None or whole is None or not item.points:
        return False
    in_upper_half = item.box.top <= whole.top + whole.height / 2
    return in_upper_half and all(0 < other.points * _LARGER <= item.points for other in others if _line(other))
