"""Plain text: paragraphs between blank lines, with their line breaks; underlined headings of reStructuredText."""

import re
from collections.abc import Iterator

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.finishing import cut_text
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument, Paragraph, SourceLocation

_MAX_PARAGRAPH_CHARS = 4_000  # longer runs (logs) are cut at line ends, so that locations stay useful
_BLANK_LINES = re.compile(r"(?:\r\n|\r(?!\n)|\n)[^\S\r\n]*(?:\r\n?|\n)\s*|\f\s*")
_HEADING = re.compile(
    r"(?:(?P<over>([^\w\s])\2{2,})[ \t]*\n)?[ \t]*(?P<text>\S.*?)[ \t]*\n(?P<under>([^\w\s])\5{2,})[ \t]*"
)


def parse(source: Source) -> NormalizedDocument:
    """Paragraphs with exact offsets into the decoded text."""
    decoded = decode(source.data)
    found = paragraphs(decoded.text)
    if source.extension != "rst":
        return NormalizedDocument(None, decoded.metadata, tuple(found))
    blocks = tuple(_with_headings(found))
    title = next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, decoded.metadata, blocks)


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


def _with_headings(found: Iterator[Paragraph]) -> Iterator[Block]:
    """Turn titles with a line of punctuation below (and above) into headings; levels in order of first appearance."""
    levels: list[str] = []
    for paragraph in found:
        text = paragraph.text.replace("\r\n", "\n")
        match = _HEADING.fullmatch(text)
        if match is None or len(match["under"]) < len(match["text"]) or match["over"] not in (None, match["under"]):
            yield paragraph
            continue
        style = ("over" if match["over"] else "under") + match["under"][0]
        if style not in levels:
            levels.append(style)
        yield Heading(min(levels.index(style) + 1, 6), match["text"], paragraph.location)
