"""Whether liteparse's layout of a page says what pdfium reads there, or pdfium's plain text must stand in."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from mcp_knowledge.adapters.parsers.pdf.layout import LayoutPage, Piece
from mcp_knowledge.adapters.parsers.pdf.pages import word_characters
from mcp_knowledge.adapters.parsers.pdf.text import joined_lines, mended

_MIN_LAYOUT_SHARE = 0.85  # of pdfium's word characters; below it the layout has lost text
_MAX_RIGHT_TO_LEFT_SHARE = (
    0.30  # of a page's letters; liteparse puts such lines into the order of the eye, not of the text
)
_MIN_CELL_PAIRS = 8
_MIN_PAIRS_SHARE = 0.30  # of a cell's word pairs; among 114 pages of real files, only cut-up prose was below (0.08)
_MIN_PAGE_PAIRS = 60
_MIN_KNOWN_SHARE = 0.86  # of a page's word pairs; among 1,300 pages, only columns read across their gutters were below
_MIN_CONTINUED_SHARE = 0.25  # of pdfium's lines that go on in lower case: prose, not labels apart from their values
_MIN_PROSE_WORD_CHARS = 3  # formulas are made of shorter ones
_WORD = re.compile(r"\w+")


def is_faithful(layout: LayoutPage, text: str) -> bool:
    """Whether the layout can be trusted; `text` is pdfium's of the same page."""
    if layout.word_characters < _MIN_LAYOUT_SHARE * word_characters(text):
        return False
    if _right_to_left_share(text) > _MAX_RIGHT_TO_LEFT_SHARE:
        return False
    known = frozenset(_pairs(joined_lines(mended(text, text), frozenset())))
    return not _cuts_prose(layout, known) and not _reads_across(layout, text, known)


def _right_to_left_share(text: str) -> float:
    if text.isascii():
        return 0.0
    letters = [unicodedata.bidirectional(c) for c in text if c.isalpha()]
    return sum(kind in ("R", "AL") for kind in letters) / max(len(letters), 1)


def _cuts_prose(layout: LayoutPage, known: frozenset[tuple[str, str]]) -> bool:
    """Whether a table's cell holds words that never stand beside each other: columns of prose, cut into a grid."""
    for piece in layout.pieces:
        for cell in _cells(piece) if piece.kind == "table" else ():
            pairs = _pairs(cell)
            if len(pairs) >= _MIN_CELL_PAIRS and sum(p in known for p in pairs) < _MIN_PAIRS_SHARE * len(pairs):
                return True
    return False


def _reads_across(layout: LayoutPage, text: str, known: frozenset[tuple[str, str]]) -> bool:
    """Whether much of a page of prose is put together across columns."""
    pairs = [pair for piece in layout.pieces for cell in _cells(piece) for pair in _pairs(cell) if _is_prose(pair)]
    if len(pairs) < _MIN_PAGE_PAIRS or sum(pair in known for pair in pairs) >= _MIN_KNOWN_SHARE * len(pairs):
        return False
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return sum(line[0].islower() for line in lines) >= _MIN_CONTINUED_SHARE * len(lines)


def _is_prose(pair: tuple[str, str]) -> bool:
    return all(len(word) >= _MIN_PROSE_WORD_CHARS and word.isalpha() for word in pair)


def _cells(piece: Piece) -> Iterator[str]:
    if piece.kind != "table":
        yield piece.text
    for row in ((piece.header or ()), *piece.rows):
        yield from row


def _pairs(text: str) -> list[tuple[str, str]]:
    words = _WORD.findall(text.lower())
    return list(pairwise(words))
