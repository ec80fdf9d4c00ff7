"""What holds for every format's result: clean text, no empty or oversized blocks, and the text limit."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from mcp_knowledge.adapters.parsers.source import MAX_CELLS, Limits, TextBudget
from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    Image,
    ListBlock,
    NormalizedDocument,
    PageBreak,
    Paragraph,
    Quote,
    SourceLocation,
    Table,
)
from mcp_knowledge.errors import KnowledgeError

T = TypeVar("T")

MAX_BLOCK_CHARS = (
    8_000  # a block must fit into one answer; far above what a chunk holds, so chunks don't notice the cut
)
_MAX_TITLE_CHARS = 300
_MAX_BLOCKS = 200_000  # a thick book has 10,000; files of one-letter lines must not fill the memory
# Control characters become blanks, one for one, so that lengths and offsets stay; tabs and line ends are text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])\s?")


def clean(text: str) -> str:
    """Text with LF line ends and without control characters, lone surrogates and outer blanks."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return _printable(text).strip()


def _printable(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub(" ", text)


def finish(document: NormalizedDocument, limits: Limits) -> NormalizedDocument:
    """A parser's document, checked and put in order.

    Raises:
        KnowledgeError: DOCUMENT_RESOURCE_LIMIT beyond the limits of text, blocks or cells, DOCUMENT_EMPTY when no
            text is left.
    """
    budget = TextBudget(limits.max_extract_bytes)
    blocks: list[Block] = []
    has_text = False
    cells = 0
    for block in _cleaned(document.blocks):
        for text in _texts(block):
            budget.take(text)
        has_text = has_text or not isinstance(block, PageBreak)
        blocks.extend(_pieces(block))
        cells += len(block.rows) * len(block.rows[0]) if isinstance(block, Table) and block.rows else 0
        if len(blocks) > _MAX_BLOCKS or cells > MAX_CELLS:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
    if not has_text:
        raise KnowledgeError("DOCUMENT_EMPTY")
    title = " ".join(clean(document.title or "").split())[:_MAX_TITLE_CHARS] or None
    return NormalizedDocument(title, document.metadata, tuple(blocks))


def _cleaned(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Paragraph() | Quote():
                if text := clean(block.text):
                    yield block if text == block.text else replace(block, text=text)
            case Heading():
                if text := " ".join(clean(block.text).split()):
                    yield block if text == block.text else replace(block, text=text)
            case Code():
                if text := _printable(block.text).strip("\n").rstrip():
                    yield block if text == block.text else replace(block, text=text)
            case ListBlock():
                if items := tuple(item for item in (_printable(item).rstrip() for item in block.items) if item.strip()):
                    yield replace(block, items=items)
            case Table():
                if table := _cleaned_table(block):
                    yield table
            case Image():
                if alt := clean(block.alt):
                    yield replace(block, alt=alt)
            case PageBreak():
                yield block


def _cleaned_table(table: Table) -> Table | None:
    """The table with clean cells, every row as wide as the widest, without rows that are blank."""
    headers = tuple(clean(cell) for cell in table.headers) if table.headers is not None else None
    rows = [tuple(clean(cell) for cell in row) for row in table.rows]
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in (*rows, headers or ())), default=0)
    if not rows and not any(headers or ()):
        return None
    padded = tuple(row + ("",) * (width - len(row)) for row in rows)
    return replace(table, headers=headers and headers + ("",) * (width - len(headers)), rows=padded)


def _texts(block: Block) -> Iterable[str]:
    match block:
        case Heading() | Paragraph() | Quote() | Code():
            return (block.text,)
        case ListBlock():
            return block.items
        case Table():
            return [cell for row in (block.headers or (), *block.rows) for cell in row]
        case Image():
            return (block.alt,)
        case PageBreak():
            return ()


def _pieces(block: Block) -> Iterator[Block]:
    """The block, or pieces of it below the size limit.

    A piece of text that stands in the source as it is has its own place; any other keeps the location of the whole.
    """
    match block:
        case Paragraph() | Quote() | Code() if len(block.text) > MAX_BLOCK_CHARS:
            start = 0
            for piece in cut_text(block.text, MAX_BLOCK_CHARS):
                if text := piece.strip("\n" if isinstance(block, Code) else None):
                    at = start + piece.index(text)
                    yield replace(block, text=text, location=_place_of(block.text, block.location, at, at + len(text)))
                start += len(piece)
        case ListBlock() if sum(map(len, block.items)) > MAX_BLOCK_CHARS:
            lines = [piece for item in block.items for piece in cut_text(item, MAX_BLOCK_CHARS)]
            for items in _groups(lines, len):
                yield replace(block, items=items)
        case Table() if sum(len(cell) for row in block.rows for cell in row) > MAX_BLOCK_CHARS:
            for rows in _groups(block.rows, lambda row: sum(map(len, row))):
                yield replace(block, rows=rows)
        case _:
            yield block


def _place_of(text: str, location: SourceLocation, start: int, end: int) -> SourceLocation:
    """Where the characters from `start` to `end` of a block's text stand."""
    first, last = location.char_start, location.char_end
    if first is None or last is None or last - first != len(text):
        return location
    return replace(location, char_start=first + start, char_end=first + end)


def _groups(items: Iterable[T], size: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
    group: list[T] = []
    total = 0
    for item in items:
        if group and total + size(item) > MAX_BLOCK_CHARS:
            yield tuple(group)
            group, total = [], 0
        group.append(item)
        total += size(item)
    yield tuple(group)


def cut_text(text: str, limit: int) -> Iterator[str]:
    """Consecutive pieces of at most `limit` characters; they end after a line, else a sentence or word, if they can."""
    start = 0
    while len(text) - start > limit:
        window = text[start : start + limit]
        end = window.rfind("\n", limit // 2) + 1
        if not end:
            ends = [match.end() for match in _SENTENCE_END.finditer(window, limit // 2)]
            end = ends[-1] if ends else window.rfind(" ", limit // 2) + 1 or limit
        yield text[start : start + end]
        start += end
    yield text[start:]
