"""Headings that a document only shows: short lines all in bold, where no style says what is a heading."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.blocks import Block, Heading, Paragraph

_MAX_CHARS = 100
_MAX_WORDS = 14
_MIN_HEADINGS = 2
_MIN_BLOCKS = 6
_BLOCKS_PER_HEADING = 2.5  # below, bold is how the text is set, or what the labels of a form look like
_ENDS_A_SENTENCE = (".", ",", ";", ":", "!", "?", "…")


@dataclass(frozen=True, slots=True)
class BoldLine(Paragraph):
    """A paragraph all of whose text is bold."""


def with_implied_headings(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with bold lines as headings, if the document has no others; the first may be its title."""
    lines = [index for index, block in enumerate(blocks) if isinstance(block, BoldLine) and _reads_as_heading(block)]
    found = frozenset(lines if _are_headings(blocks, lines) else ())
    return [
        Heading(1 if index == 0 else 2, block.text)
        if index in found and isinstance(block, Paragraph)
        else Paragraph(block.text)
        if isinstance(block, BoldLine)
        else block
        for index, block in enumerate(blocks)
    ]


def _are_headings(blocks: Sequence[Block], lines: Sequence[int]) -> bool:
    if any(isinstance(block, Heading) for block in blocks) or len(blocks) < _MIN_BLOCKS:
        return False
    texts = sum(1 for index in lines if index + 1 < len(blocks) and index + 1 not in lines)
    return texts >= _MIN_HEADINGS and len(blocks) >= _BLOCKS_PER_HEADING * len(lines)


def _reads_as_heading(line: Paragraph) -> bool:
    text = line.text.strip()
    return (
        len(text) <= _MAX_CHARS
        and len(text.split()) <= _MAX_WORDS
        and "\n" not in text
        and any(map(str.isalpha, text))
        and not text[0].islower()
        and not text.endswith(_ENDS_A_SENTENCE)
    )
