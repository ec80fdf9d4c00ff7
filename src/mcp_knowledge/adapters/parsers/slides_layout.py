"""What stands on a slide, put in order; a slide that states no title may show one."""

import re
from collections.abc import Sequence

from mcp_knowledge.adapters.parsers.slides import Slide
from mcp_knowledge.adapters.parsers.slides_order import Box, around, in_reading_order
from mcp_knowledge.domain.blocks import Block, Paragraph

Item = tuple[Box | None, list[Block]]

# A line over everything else on a slide is its title when it is short, no sentence, and about as wide as the rest.
_MAX_SHOWN_TITLE_CHARS = 100
_MIN_TITLE_WIDTH = 0.4
_SENTENCE = re.compile(r"[.:;,!。]$|\n|https?://|@")


def ordered(items: Sequence[Item], from_right: bool = False) -> list[Block]:
    """The blocks of all items in reading order."""
    filled = [item for item in items if item[1]]
    return [block for blocks in in_reading_order(filled, from_right) for block in blocks]


def fill(slide: Slide, items: Sequence[Item], from_right: bool = False) -> None:
    """Put the items on the slide."""
    filled = [item for item in items if item[1]]
    if not slide.title and (shown := _shown_title(filled)) is not None:
        filled.remove(shown)
        title = shown[1][0]
        assert isinstance(title, Paragraph)
        slide.add_title(title.text)
    slide.blocks.extend(ordered(filled, from_right))


def _shown_title(items: Sequence[Item]) -> Item | None:
    whole = around(box for box, _ in items)
    placed = [(box, item) for item in items if (box := item[0]) is not None]
    if whole is None or len(placed) < 2:
        return None
    box, top = min(placed, key=lambda pair: pair[0].top)
    others = [other for other, item in placed if item is not top]
    if box.width < _MIN_TITLE_WIDTH * whole.width or any(other.top < box.top + box.height / 2 for other in others):
        return None
    blocks = top[1]
    if len(blocks) != 1 or not isinstance(blocks[0], Paragraph):
        return None
    text = blocks[0].text
    return top if len(text) <= _MAX_SHOWN_TITLE_CHARS and not _SENTENCE.search(text) else None
