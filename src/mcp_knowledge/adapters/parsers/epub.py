"""EPUB: the book's pages in reading order through the HTML reader, each block in its chapter."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcp_knowledge.adapters.parsers.epub_package import Book, Parts, read_book
from mcp_knowledge.adapters.parsers.html import decoded_page, fragment_blocks
from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NOWHERE, Block, Heading, Image, NormalizedDocument, Paragraph, SourceLocation
from mcp_knowledge.errors import KnowledgeError

_TEXT_PARTS = (".xhtml", ".html", ".htm", ".xht", ".xml", ".opf", ".ncx", "mimetype")
_MAX_SECTION_CHARS = 200
_COUNTED = re.compile(r"(?:section|page|split|text|file|part|document|html)[\s_.-]*\d+", re.I)  # programs' own entries
_SHORTEST_MATCH = 4  # characters by which a heading and an entry of the table of contents may be the same


def parse(source: Source) -> NormalizedDocument:
    """The blocks of all chapters; a block's section is its chapter's title in the table of contents.

    Without an entry there, the first heading of the page names the section, else the chapter goes on, else it is the
    book's title.
    """
    parts = Parts(read_parts(source.data, _TEXT_PARTS, source.limits))
    book = read_book(parts)
    title = good_title(book.title, source.filename)
    section = title
    blocks: list[Block] = []
    metadata = dict(book.properties)
    for page in book.pages:
        try:
            decoded = decoded_page(parts[page])
        except KnowledgeError:  # a picture or a damaged page; the other pages are readable
            continue
        found = fragment_blocks(decoded.text, NOWHERE)
        if all(isinstance(block, Image) for block in found) and _is_cover(page, book):
            continue
        section = _locate(found, book.labels.get(page, ()), section, blocks)
        metadata |= decoded.metadata
    title = title or next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, metadata, tuple(blocks))


def _is_cover(page: str, book: Book) -> bool:
    return page == book.pages[0] or "cover" in page.lower()


def _locate(found: Sequence[Block], labels: Sequence[str], section: str | None, blocks: list[Block]) -> str | None:
    """Add a page's blocks with their sections; the section that the next page goes on with."""
    if labels:
        section = labels[0]
    elif heading := next((block.text for block in found if isinstance(block, Heading)), None):
        section = heading
    waiting = list(labels)
    located: list[Block] = []
    for block in _with_headings(found, labels):
        if isinstance(block, Heading):
            index = next((index for index, label in enumerate(waiting) if _same(block.text, label)), None)
            if index is not None:
                section = waiting[index]
                del waiting[: index + 1]
        place = SourceLocation(section=section[:_MAX_SECTION_CHARS]) if section else NOWHERE
        located.append(replace(block, location=place))
    blocks.extend(located)
    return section


def _with_headings(found: Sequence[Block], labels: Sequence[str]) -> Iterator[Block]:
    """The blocks; paragraphs that are entries of the table of contents are headings where a page has no others."""
    if any(isinstance(block, Heading) for block in found) or not labels or not found:
        yield from found
        return
    named = good_title(labels[0], "") is None or _COUNTED.fullmatch(labels[0]) is not None
    for block in found:
        if isinstance(block, Paragraph) and any(_same(block.text, label) for label in labels):
            named = True
            yield Heading(1, block.text)
        else:
            if not named and not isinstance(block, Image):
                named = True
                yield Heading(1, labels[0])
            yield block


def _same(text: str, label: str) -> bool:
    """Whether a heading is what an entry names: the same letters, or one begins with the other."""
    first, second = _letters(text), _letters(label)
    shorter, longer = sorted((first, second), key=len)
    return first == second != "" or (len(shorter) >= _SHORTEST_MATCH and longer.startswith(shorter))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
