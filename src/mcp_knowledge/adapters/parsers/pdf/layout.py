"""liteparse's layout of PDF pages to blocks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_knowledge.adapters.parsers.pdf.extras import comments, filled_fields
from mcp_knowledge.adapters.parsers.pdf.pages import word_characters
from mcp_knowledge.adapters.parsers.pdf.text import LineEnds, joined_lines, mended, plain
from mcp_knowledge.domain.blocks import Block, Code, Heading, ListBlock, Paragraph, SourceLocation, Table

_EVERY_PAGE = 1_000_000
_SENTENCE_END = re.compile(r"[.!?:;…。！？]['\"”’)\]]*$")
_MAX_LINE_GAP_POINTS = 14.0
_MAX_INDENT = 60
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the page in points, from the top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A layout block: liteparse's kind, its text, and the kind's own fields (`line_height` of headings, in points)."""

    kind: str
    text: str
    box: Box | None
    level: int = 0
    marker: str = ""
    ordered: bool = False
    language: str | None = None
    header: tuple[str, ...] | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    line_height: float = 0.0


@dataclass(frozen=True, slots=True)
class LayoutPage:
    """A page (numbers from 1) as liteparse sees it.

    `lines` are its text lines as they stand, `fields` the form fields filled in, `notes` the comments made on it.
    """

    number: int
    width: float
    height: float
    pieces: tuple[Piece, ...]
    lines: tuple[str, ...]
    word_characters: int
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def layout_pages(data: bytes, numbers: Sequence[int] | None = None) -> dict[int, LayoutPage]:
    """The pages of these numbers (all by default) that liteparse can read; none when it cannot read the file at all."""
    from liteparse._liteparse import LiteParse

    if numbers is not None and not numbers:
        return {}

    reader = LiteParse(
        ocr_enabled=False,
        extract_blocks=True,
        extract_links=False,
        extract_form_fields=True,
        extract_annotations=True,
        keep_headers_footers=True,
        continue_on_page_error=True,
        max_pages=_EVERY_PAGE,
        target_pages=None if numbers is None else ",".join(map(str, numbers)),
        quiet=True,
    )
    try:
        result = reader.parse_bytes(data)
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException:  # its panics are no Exceptions; pdfium's text stands in
        return {}
    return {page.page_num: _layout_page(page) for page in result.pages}


def _layout_page(page: Any) -> LayoutPage:
    lines = tuple(item.text for item in page.text_items)
    text = " ".join(lines)
    places = [(item.y + item.height / 2, item.height) for item in page.text_items]
    pieces = tuple(
        replace(piece, line_height=_line_height(piece.box, places)) if piece.kind == "heading" else piece
        for block in page.blocks or ()
        if (piece := _piece(block, text, page.text_items)) is not None
    )
    characters = sum(word_characters(piece.text) for piece in pieces)
    return LayoutPage(
        *(page.page_num, page.width, page.height, pieces, lines, characters), filled_fields(page), comments(page)
    )


def _line_height(box: Box | None, places: Sequence[tuple[float, float]]) -> float:
    """The height of the lines (each with its middle and its height) that stand in a box; 0 when none does."""
    return min((h for middle, h in places if box and box.y <= middle <= box.y + box.height), default=0.0)


def _indented(lines: Sequence[str], items: Sequence[Any]) -> str:
    """Lines of code, indented as they stand on the page: liteparse gives them without."""
    starts = {item.text.strip(): (item.x, item.width / len(item.text)) for item in reversed(items) if item.text.strip()}
    places = [starts.get(line) for line in lines]
    left = min((place[0] for place in places if place), default=0.0)
    indents = [round((place[0] - left) / place[1]) if place and place[1] > 0 else 0 for place in places]
    return "\n".join(" " * min(indent, _MAX_INDENT) + line for indent, line in zip(indents, lines, strict=True))


def _piece(block: Any, page_text: str, items: Sequence[Any]) -> Piece | None:
    box = Box(block.bbox.x, block.bbox.y, block.bbox.width, block.bbox.height) if block.bbox else None
    match block.kind:
        case "heading" | "paragraph":
            return Piece(block.kind, plain(block.text or "", page_text), box, level=block.level or 1)
        case "list_item":
            marker, ordered = block.marker or "", bool(block.ordered)
            return Piece("list_item", plain(block.text or "", page_text), box, block.level or 0, marker, ordered)
        case "code" | "grid_fallback":
            return Piece(block.kind, _indented(block.lines or (), items), box, language=block.lang)
        case "table":
            header = tuple(mended(cell.text, page_text) for cell in block.header) if block.header else None
            rows = tuple(tuple(mended(cell.text, page_text) for cell in row) for row in block.rows or ())
            text = "\n".join(" ".join(row) for row in (header or (), *rows))
            return Piece("table", text, box, header=header, rows=rows)
        case _:  # rules and figures have no text
            return None


def page_blocks(page: LayoutPage, location: SourceLocation, vocabulary: frozenset[str]) -> list[Block]:
    """The page's blocks in reading order, all at this location."""
    words = {word for piece in page.pieces for word in _WORD.findall(piece.text)}
    line_ends = LineEnds(page.lines, words, vocabulary)
    blocks: list[Block] = []
    items: list[Piece] = []
    for piece in _merged(page.pieces):
        if items and not _same_list(items, piece):
            blocks.append(_list(items, location, line_ends))
            items = []
        if piece.kind == "list_item":
            items.append(piece)
        else:
            blocks.append(_block(piece, location, line_ends))
    if items:
        blocks.append(_list(items, location, line_ends))
    return blocks


def text_blocks(text: str, location: SourceLocation, vocabulary: frozenset[str]) -> list[Block]:
    """Blocks of pdfium's plain text of a page: paragraphs where it has blank lines."""
    parts = re.split(r"\n\s*\n", joined_lines(mended(text, text), vocabulary))
    return [Paragraph(part.strip(), location) for part in parts if part.strip()]


def _block(piece: Piece, location: SourceLocation, line_ends: LineEnds) -> Block:
    match piece.kind:
        case "heading":
            return Heading(min(max(piece.level, 1), 6), line_ends.mend(piece.text), location)
        case "table":
            return Table(piece.header, piece.rows, location)
        case "code" | "grid_fallback":
            return Code(piece.text, piece.language, location)
        case _:
            return Paragraph(line_ends.mend(piece.text), location)


def _same_list(items: Sequence[Piece], piece: Piece) -> bool:
    first = items[0]
    return piece.kind == "list_item" and (piece.level > first.level or piece.ordered == first.ordered)


def _list(items: Sequence[Piece], location: SourceLocation, line_ends: LineEnds) -> ListBlock:
    """A list. Numbers that do not count 1, 2, 3 … stay in the items: they mean something."""
    ordered = items[0].ordered
    counts = [f"{number}" for number in range(1, len(items) + 1)]
    plain_count = ordered and [item.marker.strip(".)( ") for item in items] == counts
    base = min(item.level for item in items)
    texts = []
    for item in items:
        number = f"{item.marker} " if item.ordered and not plain_count else ""
        texts.append("  " * (item.level - base) + number + line_ends.mend(item.text))
    return ListBlock(ordered, tuple(texts), location)


def _merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces, with paragraphs put together that liteparse split within a sentence (where the font changes)."""
    held: Piece | None = None
    for piece in pieces:
        if held is not None and _continues(held, piece):
            assert held.box is not None and piece.box is not None
            top, bottom = held.box.y, piece.box.y + piece.box.height
            width = max(held.box.width, piece.box.width)
            held = Piece("paragraph", f"{held.text} {piece.text}", Box(held.box.x, top, width, bottom - top))
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _continues(first: Piece, second: Piece) -> bool:
    if first.kind != "paragraph" or second.kind != "paragraph" or first.box is None or second.box is None:
        return False
    if _SENTENCE_END.search(first.text) or first.text.endswith("-") or not second.text[:1].islower():
        return False
    gap = second.box.y - (first.box.y + first.box.height)
    apart = abs(first.box.x - second.box.x) > min(first.box.width, second.box.width) / 2
    return -_MAX_LINE_GAP_POINTS < gap < _MAX_LINE_GAP_POINTS and not apart
