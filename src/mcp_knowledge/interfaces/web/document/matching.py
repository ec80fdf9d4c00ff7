"""Which words of a document's blocks belong to a passage.

A passage holds the words of its blocks, not their form: items got their numbers, rows their bars, and long blocks were
cut. Where both know their characters in the source these decide; else words are compared.
"""

import re

from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, Quote, SourceLocation, Table
from mcp_knowledge.domain.documents import StoredChunk

Span = tuple[int, int]

_WORD = re.compile(r"\w+")
_SURE_WORDS = 4  # fewer in a row stand in other passages too
_EDGE_WORDS = 8  # of a passage's beginning and end, by which it is found in a longer block
_MAX_UNITS = 50_000  # items or rows of one block that are looked at


def block_text(block: Block) -> str | None:
    """The text of a block that is one text; None for lists, tables and page breaks."""
    if isinstance(block, Image):
        return block.alt
    return block.text if isinstance(block, Heading | Paragraph | Code | Quote) else None


def block_units(block: Block) -> tuple[str, ...]:
    """The items of a list, or the rows of a table with their cells in a line."""
    if isinstance(block, ListBlock):
        return block.items
    return tuple(" ".join(row) for row in block.rows) if isinstance(block, Table) else ()


def _words(text: str) -> list[str]:
    return [match.group().casefold() for match in _WORD.finditer(text)]


def _joined(words: list[str]) -> str:
    return f" {' '.join(words)} "


def _places(edge: list[str], words: list[str]) -> list[int]:
    """Where an edge's words stand among others, as indexes of its first."""
    size = len(edge)
    if size < _SURE_WORDS or _joined(edge) not in _joined(words):
        return []
    return [index for index in range(len(words) - size + 1) if words[index : index + size] == edge]


class PassageWords:
    """A passage, ready to be looked for."""

    def __init__(self, chunk: StoredChunk) -> None:
        self._location = chunk.location
        self._words = _words(chunk.content)
        self._all = _joined(self._words)

    def surely_in(self, block: Block) -> bool:
        """Whether a block has words that only this passage has."""
        return self._in(block, _SURE_WORDS)

    def may_be_in(self, block: Block) -> bool:
        """Whether nothing speaks against a block beside one that surely has the passage's words."""
        return self._in(block, 1)

    def share(self, block: Block) -> float:
        """How much of the passage's words a block may have, from 0: what short lines and numbers amount to together."""
        text = block_text(block)
        units = block_units(block)[:_MAX_UNITS] if text is None else (text,)
        if isinstance(block, Table) and block.headers:
            units = (" ".join(block.headers), *units)
        found = (words for unit in units if _joined(words := _words(unit)) in self._all)
        return sum(map(len, found)) / max(1, len(self._words))

    def span(self, block: Block) -> Span | None:
        """The characters of a block's text that belong to the passage; None when none do."""
        text = block_text(block)
        if not text:
            return None
        exact = _exact_span(block.location, self._location, len(text))
        if exact is not None:
            return exact if exact[0] < exact[1] else None
        matches = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in matches]
        if words and _joined(words) in self._all:
            return 0, len(text)
        shared = self._shared(words)
        return (matches[shared[0]].start(), matches[shared[1] - 1].end()) if shared else None

    def has_unit(self, unit: str) -> bool:
        """Whether an item or row belongs to the passage."""
        words = _words(unit)
        return bool(words) and (_joined(words) in self._all or self._shared(words) is not None)

    def _in(self, block: Block, least_words: int) -> bool:
        if not _together(block.location, self._location):
            return False
        text = block_text(block)
        if text is not None:
            exact = _exact_span(block.location, self._location, len(text))
            if exact is not None:
                return exact[0] < exact[1]
            return self._fits(_words(text), least_words)
        return any(self._fits(_words(unit), least_words) for unit in block_units(block)[:_MAX_UNITS])

    def _fits(self, words: list[str], least: int) -> bool:
        if not words:
            return False
        joined = _joined(words)
        return joined == self._all or (len(words) >= least and joined in self._all) or self._shared(words) is not None

    def _shared(self, words: list[str]) -> Span | None:
        """The words of a longer text that the passage has: all of it, its beginning at the text's end, or its end at
        the text's beginning. None when it has too few.
        """
        own, count = self._words, len(words)
        found: list[Span] = []
        for start in _places(own[:_EDGE_WORDS], words):
            end = min(count, start + len(own))
            if words[start:end] == own[: end - start]:
                found.append((start, end))
        for start in _places(own[-_EDGE_WORDS:], words):
            end = start + min(_EDGE_WORDS, len(own))
            if end <= len(own) and words[:end] == own[len(own) - end :]:
                found.append((0, end))
        return max(found, key=lambda span: span[1] - span[0], default=None)


def _exact_span(block: SourceLocation, passage: SourceLocation, length: int) -> Span | None:
    """The passage's characters in a block whose text is the source's, character by character; else None."""
    if None in (block.char_start, block.char_end, passage.char_start, passage.char_end):
        return None
    assert block.char_start is not None and block.char_end is not None
    assert passage.char_start is not None and passage.char_end is not None
    if block.char_end - block.char_start != length:
        outside = block.char_end <= passage.char_start or passage.char_end <= block.char_start
        return (0, 0) if outside else None
    start = max(block.char_start, passage.char_start) - block.char_start
    end = min(block.char_end, passage.char_end) - block.char_start
    return (start, end) if start < end else (0, 0)


def _together(block: SourceLocation, passage: SourceLocation) -> bool:
    """Whether a block can be where the passage is."""
    if block.page_start is not None and passage.page_start is not None:
        first, last = passage.page_start, passage.page_end or passage.page_start
        if not first <= (block.page_end or block.page_start) or not block.page_start <= last:
            return False
    pairs = ((block.slide, passage.slide), (block.sheet, passage.sheet), (block.section, passage.section))
    return all(one is None or other is None or one == other for one, other in pairs)
