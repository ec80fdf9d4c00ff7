"""Markdown: CommonMark with tables, by markdown-it-py, whose line map gives the offsets; front matter is metadata."""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.frontmatter import split_front_matter
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.text import paragraphs
from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    Image,
    ListBlock,
    NormalizedDocument,
    Paragraph,
    Quote,
    SourceLocation,
    Table,
)

_LINE_END = re.compile(r"\r\n?|\n")  # what markdown-it counts lines by
_MAX_NESTING = 100
_READER = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def parse(source: Source) -> NormalizedDocument:
    """Blocks with offsets of their source lines in the decoded text."""
    decoded = decode(source.data)
    properties, body_start = split_front_matter(decoded.text)
    title = properties.pop("title", None)
    blocks = tuple(_blocks(decoded.text, body_start))
    if not isinstance(title, str) or not title.strip():
        title = next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, {**properties, **decoded.metadata}, blocks)


def _blocks(text: str, body_start: int) -> Iterator[Block]:
    """The body's blocks; plain paragraphs where it is nested so deep that the reader gives up and drops the rest."""
    tokens = _READER.parse(text[body_start:])
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):
        return paragraphs(text, body_start)
    return _Walk(text, body_start, tokens).blocks()


class _Walk:
    """One pass over the block tokens of a text. `at` is the next token."""

    def __init__(self, text: str, body_start: int, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._starts = [body_start, *(match.end() for match in _LINE_END.finditer(text, body_start)), len(text)]
        self._at = 0

    def blocks(self) -> Iterator[Block]:
        """Every block in reading order."""
        while self._at < len(self._tokens):
            yield from self._block()

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _block(self) -> Iterator[Block]:
        token = self._next()
        match token.type:
            case "heading_open":
                yield Heading(int(token.tag[1]), inline_text(self._next()), self._location(token))
            case "paragraph_open":
                yield from self._paragraph(token)
            case "fence" | "code_block":
                language = token.info.split()[0] if token.info.split() else None
                yield Code(token.content, language, self._code_location(token))
            case "html_block":
                yield from self._html(token)
            case "bullet_list_open" | "ordered_list_open":
                yield from self._list(token)
            case "blockquote_open":
                yield from self._quote(token)
            case "table_open":
                yield self._table(token)
            case _:  # closing tokens and rules
                return

    def _paragraph(self, token: Token) -> Iterator[Block]:
        inline = self._next()
        children = [child for child in inline.children or () if child.type != "softbreak"]
        location = self._location(token)
        if children and all(child.type == "image" for child in children):
            yield from (Image(image.content, location) for image in children)
        else:
            yield Paragraph(inline_text(inline), location)

    def _html(self, token: Token) -> Iterator[Block]:
        from mcp_knowledge.adapters.parsers.html import fragment_blocks

        yield from fragment_blocks(token.content, self._location(token))

    def _list(self, opening: Token) -> Iterator[Block]:
        """A list with its nested lists as indented items; code, tables and quotes inside are blocks of their own."""
        items: list[str] = []
        covered = opening.map or [0, 0]
        first_line = covered[0]
        depth = 1
        marks: list[str] = []
        while depth:
            token = self._tokens[self._at]
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    depth += 1
                    self._at += 1
                case "bullet_list_close" | "ordered_list_close":
                    depth -= 1
                    self._at += 1
                case "list_item_open":
                    marks.append("  " * (depth - 1))
                    self._at += 1
                case "paragraph_open":
                    self._at += 1
                    text = inline_text(self._next())
                    indent = "  " * (depth - 1)
                    if marks:
                        items.append(marks.pop() + text.replace("\n", "\n" + indent))
                        marks.clear()
                    elif items:
                        items[-1] += "\n" + indent + text
                    else:
                        items.append(indent + text)
                case "fence" | "code_block" | "html_block" | "table_open" | "blockquote_open" | "heading_open":
                    line = (token.map or [covered[1]])[0]
                    if items:
                        yield self._list_block(opening, items, first_line, line)
                        items = []
                    marks.clear()
                    yield from self._block()
                    first_line = (token.map or covered)[1]
                case _:
                    self._at += 1
        if items:
            yield self._list_block(opening, items, first_line, covered[1])

    def _list_block(self, opening: Token, items: Sequence[str], first_line: int, end_line: int) -> ListBlock:
        return ListBlock(opening.type == "ordered_list_open", tuple(items), self._lines(first_line, end_line))

    def _quote(self, opening: Token) -> Iterator[Block]:
        """A quotation as one block; code and tables inside it stand as blocks of their own behind it."""
        parts: list[str] = []
        others: list[Block] = []
        while self._tokens[self._at].type != "blockquote_close":
            for block in self._block():
                match block:
                    case Paragraph() | Quote() | Heading():
                        parts.append(block.text)
                    case ListBlock():
                        parts.append("\n".join(f"- {item}" for item in block.items))
                    case _:
                        others.append(block)
        self._at += 1
        if parts:
            yield Quote("\n\n".join(parts), self._location(opening))
        yield from others

    def _table(self, opening: Token) -> Table:
        rows: list[list[str]] = []
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(inline_text(token))
        return Table(tuple(rows[0]), tuple(map(tuple, rows[1:])), self._location(opening))

    def _code_location(self, token: Token) -> SourceLocation:
        """The code's own lines, without the fences, where they stand as they are; else (in quotes) the whole block."""
        whole = self._location(token)
        code = token.content.strip("\n").rstrip()
        first = (token.map or [0])[0] + (token.type == "fence")
        begin = self._starts[min(first, len(self._starts) - 1)]
        for spelling in (code, code.replace("\n", "\r\n")):
            at = self._text.find(spelling, begin, whole.char_end)
            if code and at >= 0:
                return SourceLocation(char_start=at, char_end=at + len(spelling))
        return whole

    def _location(self, token: Token) -> SourceLocation:
        first, end = token.map or (0, 0)
        return self._lines(first, end)

    def _lines(self, first: int, end: int) -> SourceLocation:
        """The offsets of lines `first` up to `end`, without blank space around them."""
        last = len(self._starts) - 1
        start, stop = self._starts[min(first, last)], self._starts[min(end, last)]
        piece = self._text[start:stop]
        start += len(piece) - len(piece.lstrip())
        return SourceLocation(char_start=start, char_end=max(start, start + len(piece.strip())))


def inline_text(token: Token) -> str:
    """The reading text of an inline token: no markup, alternative text of pictures, the line breaks of the source.

    A soft line break stays one: scripts without spaces would get a blank inside a word, and the text would no longer
    be as long as its source, which tells where each part of it stands.
    """
    parts: list[str] = []
    for child in token.children or ():
        match child.type:
            case "text" | "code_inline" | "image":
                parts.append(child.content)
            case "softbreak" | "hardbreak":
                parts.append("\n")
            case "html_inline" if _BREAK.fullmatch(child.content):
                parts.append("\n")
    return "".join(parts).strip()
