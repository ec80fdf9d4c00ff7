"""Plain text: paragraphs between blank lines, with their line breaks."""

import re
from collections.abc import Iterator

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.finishing import cut_text
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument, Paragraph, SourceLocation

_MAX_PARAGRAPH_CHARS = 4_000  # longer runs (logs) are cut at line ends, so that locations stay useful
_BLANK_LINES = re.compile(r"(?:\r\n|\r(?!\n)|\n)[^\S\r\n]*(?:\r\n?|\n)\s*|\f\s*")


def parse(source: Source) -> NormalizedDocument:
    """Paragraphs with exact offsets into the decoded text."""
    decoded = decode(source.data)
    return NormalizedDocument(None, decoded.metadata, tuple(paragraphs(decoded.text)))


def paragraphs(text: str, start: int = 0) -> Iterator[Paragraph]:
    """What stands between blank lines from `start` on, each with its offsets in the text."""
    for gap in _BLANK_LINES.finditer(text, start):
        yield from _located(text, start, gap.start())
        start = gap.end()
    yield from _located(text, start, len(text))


def _located(text: str, start: int, end: int) -> Iterator[Paragraph]:
    for piece in cut_text(text[start:end], _MAX_PARAGRAPH_CHARS):
        if stripped := piece.strip():
            first = start + piece.index(stripped)
            yield Paragraph(stripped, SourceLocation(char_start=first, char_end=first + len(stripped)))
        start += len(piece)
