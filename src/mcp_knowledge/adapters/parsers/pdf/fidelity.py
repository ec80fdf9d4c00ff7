"""Whether liteparse's layout of a page says what pdfium reads there, or pdfium's plain text must stand in."""

import re
import unicodedata
from itertools import pairwise

from mcp_knowledge.adapters.parsers.pdf.layout import LayoutPage
from mcp_knowledge.adapters.parsers.pdf.pages import word_characters

_MIN_LAYOUT_SHARE = 0.85  # of pdfium's word characters; below it the layout has lost text
_MAX_RIGHT_TO_LEFT_SHARE = (
    0.30  # of a page's letters; liteparse puts such lines into the order of the eye, not of the text
)
_MIN_CELL_PAIRS = 8
_MIN_PAIRS_SHARE = 0.30  # of a cell's word pairs; among 114 pages of real files, only cut-up prose was below (0.08)
_WORD = re.compile(r"\w+")


def is_faithful(layout: LayoutPage, text: str) -> bool:
    """Whether the layout can be trusted; `text` is pdfium's of the same page."""
    if layout.word_characters < _MIN_LAYOUT_SHARE * word_characters(text):
        return False
    return _right_to_left_share(text) <= _MAX_RIGHT_TO_LEFT_SHARE and not _cuts_prose(layout, text)


def _right_to_left_share(text: str) -> float:
    if text.isascii():
        return 0.0
    letters = [unicodedata.bidirectional(c) for c in text if c.isalpha()]
    return sum(kind in ("R", "AL") for kind in letters) / max(len(letters), 1)


def _cuts_prose(layout: LayoutPage, text: str) -> bool:
    """Whether a table's cell holds words that never stand beside each other: columns of prose, cut into a grid."""
    tables = [piece for piece in layout.pieces if piece.kind == "table"]
    if not tables:
        return False
    known = set(_pairs(text))
    for table in tables:
        for row in ((table.header or ()), *table.rows):
            for cell in row:
                pairs = _pairs(cell)
                if len(pairs) >= _MIN_CELL_PAIRS and sum(p in known for p in pairs) < _MIN_PAIRS_SHARE * len(pairs):
                    return True
    return False


def _pairs(text: str) -> list[tuple[str, str]]:
    words = _WORD.findall(text.lower())
    return list(pairwise(words))
