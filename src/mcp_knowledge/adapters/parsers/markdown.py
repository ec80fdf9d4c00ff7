"""Markdown: CommonMark with tables, by markdown-it-py, whose line map gives the offsets; front matter is metadata."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.frontmatter import split_front_matter
from mcp_knowledge.adapters.parsers.list_markers import Positions
from mcp_knowledge.adapters.parsers.markdown_notes import with_footnotes
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
    has_own_marker,
)

_LINE_END = re.compile(r"\r\n?|\n")  # what markdown-it counts lines by
_MAX_NESTING = 100
_READER = with_footnotes(MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"]))
_ATTRIBUTES = re.compile(r"\s*\{\s*[#.][^{}]*\}\s*$")  # `## Install {#install}`, as several programs name headings
_STAND_ALONE = frozenset({  # blocks of their own also inside a list
    "fence", "code_block", "html_block", "table_open", "blockquote_open", "heading_open", "footnote_open",
})  # fmt: skip
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


class _OpenList:
    """A list that is being read, and the number of its last item."""

    def __init__(self, opening: Token) -> None:
        self._ordered = opening.type == "ordered_list_open"
        self._delimiter = opening.markup
        start = opening.attrGet("start")
        self.number = (1 if start is None else int(start)) - 1

    def marker(self, text: str, position: int, in_ordered: bool) -> str:
        """What stands before the last item where a reader of the list block would not know it."""
        if has_own_marker(text) or (self._ordered, self.number) == (in_ordered, position):
            return ""
        if self._ordered:
            return f"{self.number}{self._delimiter} "
        return "- " if in_ordered else ""


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
                text = inline_text(self._next())
                yield Heading(int(token.tag[1]), _ATTRIBUTES.sub("", text) or text, self._location(token))
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
            case "footnote_open":
                yield from self._footnote(token)
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

    def _footnote(self, opening: Token) -> Iterator[Block]:
        """A footnote's blocks; the first one begins with the label, as it does in the source."""
        label = f"{opening.info} "
        while self._tokens[self._at].type != "footnote_close":
            for block in self._block():
                if label and isinstance(block, Paragraph):
                    block = replace(block, text=label + block.text)
                elif label:
                    yield Paragraph(label, self._location(opening))
                label = ""
                yield block
        self._at += 1

    def _html(self, token: Token) -> Iterator[Block]:
        from mcp_knowledge.adapters.parsers.html import fragment_blocks

        yield from fragment_blocks(token.content, self._location(token))

    def _list(self, opening: Token) -> Iterator[Block]:
        """A list with its nested lists as indented items; code, tables and quotes inside are blocks of their own."""
        items: list[str] = []
        covered = opening.map or [0, 0]
        first_line = covered[0]
        ordered = opening.type == "ordered_list_open"
        lists = [_OpenList(opening)]
        positions = Positions()
        begins = False
        while lists:
            token = self._tokens[self._at]
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    lists.append(_OpenList(token))
                    self._at += 1
                case "bullet_list_close" | "ordered_list_close":
                    lists.pop()
                    self._at += 1
                case "list_item_open":
                    lists[-1].number += 1
                    begins = True
                    self._at += 1
                case "paragraph_open":
                    self._at += 1
                    text = inline_text(self._next())
                    indent = "  " * (len(lists) - 1)
                    text = text.replace("\n", "\n" + indent)
                    if begins or not items:
                        position = positions.next(len(indent))
                        items.append(indent + (lists[-1].marker(text, position, ordered) if begins else "") + text)
                    else:
                        items[-1] += "\n" + indent + text
                    begins = False
                case _ if token.type in _STAND_ALONE:
                    line = (token.map or [covered[1]])[0]
                    if items:
                        yield self._list_block(opening, items, first_line, line)
                    items, positions, begins = [], Positions(), False
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
