"""reStructuredText: underlined headings, literal blocks, lists and tables; everything else stays as it is written."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.list_markers import BULLETS, Positions, written_marker
from mcp_knowledge.adapters.parsers.rst_tables import table_of
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.text import paragraphs
from mcp_knowledge.domain.blocks import Block, Code, Heading, ListBlock, NormalizedDocument, SourceLocation

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
_RULE = re.compile(r"([^\w\s])\1{2,}[ \t]*")  # above or below a heading
_CODE = re.compile(r"\s*\.\.\s+(?:code-block|code|sourcecode|parsed-literal)::[ \t]*(?P<language>\S*)\s*")
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s.*)?")
_ITEM = re.compile(r"(?P<indent>\s*)(?P<marker>[-*+•]|\(?(?:\d{1,4}|#|[A-Za-z])[.)])(?P<gap>\s+)(?P<text>\S.*)")
_MAX_DEPTH = 50  # of lists in lists that is shown


@dataclass(frozen=True, slots=True)
class _Line:
    start: int  # offset of its first character
    text: str

    @property
    def indent(self) -> int:
        """How many blanks it begins with."""
        return len(self.text) - len(self.text.lstrip())


def parse(source: Source) -> NormalizedDocument:
    """The blocks with their offsets in the decoded text; the first heading is the title."""
    decoded = decode(source.data)
    blocks = tuple(_Reader(decoded.text).blocks())
    title = next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, decoded.metadata, blocks)


class _Reader:
    """Goes through the lines of a text. `at` is the next line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [_Line(match.start(), match[1]) for match in _LINE.finditer(text)]
        self._at = 0
        self._styles: list[str] = []  # of headings, in order of first appearance

    def blocks(self) -> Iterator[Block]:
        """Every block in reading order."""
        self._skip_blank()
        while self._at < len(self._lines):
            first = self._lines[self._at]
            if heading := self._heading():
                yield heading
            elif code := _CODE.fullmatch(first.text):
                self._at += 1
                yield from self._code(first.indent, code["language"] or None)
            elif _ITEM.fullmatch(first.text):
                yield self._list()
                yield from self._shown_below(self._lines[self._at - 1 : self._at])
            else:
                yield from self._run()
            self._skip_blank()

    def _run(self) -> Iterator[Block]:
        """The next lines without a blank one between them: a table, or paragraphs."""
        begin = self._at
        while self._at < len(self._lines) and self._lines[self._at].text.strip():
            self._at += 1
        lines = self._lines[begin : self._at]
        if (table := table_of([line.text for line in lines])) is not None:
            yield replace(table, location=_place(lines))
        else:
            yield from self._prose(lines)

    def _skip_blank(self) -> None:
        while self._at < len(self._lines) and not self._lines[self._at].text.strip():
            self._at += 1

    def _heading(self) -> Heading | None:
        """A line with punctuation below (and above); levels in order of first appearance."""
        lines = self._lines[self._at : self._at + 3]
        above = len(lines) > 2 and _RULE.fullmatch(lines[0].text) is not None
        used = 3 if above else 2
        if len(lines) < used:
            return None
        text, below = lines[used - 2].text.strip(), lines[used - 1].text.strip()
        if not text or _RULE.fullmatch(text) or not _RULE.fullmatch(below) or len(below) < len(text):
            return None
        if above and lines[0].text.strip() != below:
            return None
        style = f"{above}{below[0]}"
        if style not in self._styles:
            self._styles.append(style)
        self._at += used
        return Heading(min(self._styles.index(style) + 1, 6), text, _place(lines[:used]))

    def _prose(self, lines: Sequence[_Line]) -> Iterator[Block]:
        """Paragraphs as they are written; after `::` follows what is to be shown as it stands."""
        if [line.text.strip() for line in lines] != ["::"]:
            place = _place(lines)
            yield from paragraphs(self._text[: place.char_end], place.char_start or 0)
        yield from self._shown_below(lines)

    def _shown_below(self, lines: Sequence[_Line]) -> Iterator[Code]:
        if lines[-1].text.rstrip().endswith("::") and not lines[-1].text.lstrip().startswith(".."):
            yield from self._code(min(line.indent for line in lines), None)

    def _code(self, indent: int, language: str | None) -> Iterator[Code]:
        """The lines to come that are indented further, without the options of a directive."""
        while self._at < len(self._lines) and _OPTION.fullmatch(self._lines[self._at].text):
            self._at += 1
        self._skip_blank()
        begin = end = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text.strip() and line.indent <= indent:
                break
            self._at += 1
            end = self._at if line.text.strip() else end
        self._at = end
        if lines := self._lines[begin:end]:
            yield Code(textwrap.dedent("\n".join(line.text for line in lines)), language, _place(lines))

    def _list(self) -> ListBlock:
        """Items and what is indented below them, also after blank lines."""
        first = _ITEM.fullmatch(self._lines[self._at].text)
        ordered = first is not None and first["marker"] not in BULLETS
        begin = end = self._at
        items: list[str] = []
        indents: list[int] = []
        positions = Positions()
        while self._at < len(self._lines) and self._belongs(self._lines[self._at], indents, ordered):
            line = self._lines[self._at]
            self._at += 1
            end = self._at
            if item := _ITEM.fullmatch(line.text):
                around = [indent for indent in indents if indent < line.indent]
                indents = [*around[:_MAX_DEPTH], line.indent]
                depth = "  " * (len(indents) - 1)
                items.append(
                    depth + written_marker(item["marker"], positions.next(len(depth)), ordered) + item["text"].strip()
                )
            else:
                items[-1] += "\n" + "  " * (len(indents) - 1) + line.text.strip()
            self._skip_blank()
        self._at = end
        return ListBlock(ordered, tuple(items), _place(self._lines[begin:end]))

    def _belongs(self, line: _Line, indents: Sequence[int], ordered: bool) -> bool:
        """Whether a line is an item of the list that is read, or stands below one; literal blocks end the list."""
        if not indents:
            return True
        before = next(self._lines[at] for at in range(self._at - 1, -1, -1) if self._lines[at].text.strip())
        if _CODE.fullmatch(line.text) or line.text.strip() == "::" or before.text.rstrip().endswith("::"):
            return False
        if line.indent != indents[0]:
            return line.indent > indents[0]
        item = _ITEM.fullmatch(line.text)
        return item is not None and (item["marker"] not in BULLETS) == ordered


def _place(lines: Sequence[_Line]) -> SourceLocation:
    last = lines[-1]
    return SourceLocation(char_start=lines[0].start + lines[0].indent, char_end=last.start + len(last.text.rstrip()))
