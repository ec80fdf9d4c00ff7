"""Blocks to sections: the text under one heading as a reader would recognise it, and where each stretch comes from."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Literal, Protocol

from mcp_knowledge.domain import cell_ranges
from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    Image,
    ListBlock,
    PageBreak,
    Paragraph,
    SourceLocation,
    Table,
    has_own_marker,
)

PartKind = Literal["prose", "list", "table", "code", "heading"]
_CUT_CHARACTERS = 1000  # a parser cuts only blocks that are longer, into pieces that are
_CUT_BLANK_LINES = 3  # line ends that such a cut may leave out of code
MAX_HEADING_CHARACTERS = 300  # a "heading" beyond that is running text; every chunk below would carry it
BLOCK_GAP = "\n\n"
CELL_GAP = " | "
_LINE_BREAKS = re.compile(r"[\r\n]+")
_LONG_LINE_CHARACTERS = 300  # a shorter row is hardly ever cut into pieces


class Tokens(Protocol):
    """The embedding model's own tokens, special tokens excluded. `Embedder` has this shape."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """One block within its section's text.

    Args:
        start, end: character span in the section's text.
        location: the block's own location.
        char_start: offset of `start` in the source when the block's text is the source's, character by character.
        line_starts: where items, rows or lines begin, in the section's text; empty for running text.
        header: the header row that every later piece of a table repeats; `header_tokens` is its size.
        rows: the table row (0 = first of the location's cell range) of each line.
        cells: for long lines of a table: (offset in the line, column counted from 0) of each cell, by line.
    """

    start: int
    end: int
    kind: PartKind
    location: SourceLocation
    char_start: int | None = None
    line_starts: tuple[int, ...] = ()
    header: str = ""
    header_tokens: int = 0
    rows: tuple[int, ...] = ()
    cells: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """The text between one heading and the next. `headings`: the path from the top; `bare`: its last is the text."""

    headings: tuple[Heading, ...]
    text: str
    parts: tuple[Part, ...]
    bare: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The heading path in words."""
        return tuple(heading.text for heading in self.headings)

    @property
    def place(self) -> tuple[int | None, str | None, str | None]:
        """Slide, sheet and chapter, which no chunk may straddle."""
        return _place(self.parts[0].location)


class SectionText:
    """Collects rendered blocks into a section's text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.parts: list[Part] = []
        self.length = 0

    def add(self, part: Part, text: str) -> None:
        """Append a part whose offsets count from its own text's start."""
        if self.parts:
            self.pieces.append(BLOCK_GAP)
            self.length += len(BLOCK_GAP)
        offset = self.length
        lines = tuple(offset + start for start in part.line_starts)
        self.parts.append(replace(part, start=offset, end=offset + len(text), line_starts=lines))
        self.pieces.append(text)
        self.length += len(text)

    def section(self, headings: tuple[Heading, ...], bare: bool = False) -> Section:
        """What was collected."""
        return Section(headings, "".join(self.pieces), tuple(self.parts), bare)


def split_sections(blocks: Iterable[Block], tokens: Tokens, header_limit: int) -> Iterator[Section]:
    """Sections in reading order. A heading without text below it becomes a section of its own words.

    Args:
        tokens: the model's tokens.
        header_limit: tokens; a table whose header row is longer names the column in front of every value instead.
    """
    path: tuple[Heading, ...] = ()
    text = SectionText()
    untold: Heading | None = None  # a heading that no section has shown yet
    for block in _mended(blocks):
        if isinstance(block, PageBreak):
            continue
        if isinstance(block, Heading) and len(block.text) <= MAX_HEADING_CHARACTERS:
            if not block.text.strip():
                continue
            if text.parts:
                yield text.section(path)
            elif untold is not None and block.level <= untold.level:
                yield _bare(path)
            path = (
                *(heading for heading in path if heading.level < block.level),
                replace(block, text=block.text.strip()),
            )
            text, untold = SectionText(), block
            continue
        rendered = _render(block, tokens, header_limit)
        if rendered is None:
            continue
        if text.parts and _place(text.parts[-1].location) != _place(block.location):
            yield text.section(path)
            text = SectionText()
        if path and path[-1].location.slide != block.location.slide:
            if untold is not None:
                yield _bare(path)
            path = ()  # a slide's title says nothing about the next slide
        text.add(*rendered)
        untold = None
    if text.parts:
        yield text.section(path)
    elif untold is not None:
        yield _bare(path)


def merge_sections(sections: Sequence[Section]) -> Section:
    """One section of several neighbours: under their common path, with the headings below it as lines of the text."""
    shared = shared_headings(sections)
    text = SectionText()
    shown = sections[0].headings[:shared]
    for section in sections:
        fresh = section.headings[_common(section.headings, shown) :]
        for heading in fresh[:-1] if section.bare else fresh:
            text.add(*_heading_part(heading))
        for part in section.parts:
            lines = tuple(start - part.start for start in part.line_starts)
            text.add(replace(part, line_starts=lines), section.text[part.start : part.end])
        shown = section.headings
    return text.section(sections[0].headings[:shared])


def shared_headings(sections: Sequence[Section]) -> int:
    """How many headings, from the top, all the sections have in common."""
    return min(_common(sections[0].headings, section.headings) for section in sections)


def _mended(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with those whole again that a parser cut only because they were long.

    Their pieces stand in the source with nothing, or with the blank of the cut, between them.
    """
    run: list[Paragraph | Code] = []
    for block in blocks:
        if isinstance(block, Paragraph | Code):
            if run and not _continues(run[-1], block):
                yield _one(run)
                run = []
            run.append(block)
            continue
        if run:
            yield _one(run)
            run = []
        yield block
    if run:
        yield _one(run)


def _continues(before: Paragraph | Code, after: Paragraph | Code) -> bool:
    if type(before) is not type(after) or len(before.text) < _CUT_CHARACTERS:
        return False
    if not (_exact(before.text, before.location) and _exact(after.text, after.location)):
        return False
    return 0 <= _gap(before, after) <= (_CUT_BLANK_LINES if isinstance(before, Code) else 1)


def _gap(before: Block, after: Block) -> int:
    assert before.location.char_end is not None and after.location.char_start is not None
    return after.location.char_start - before.location.char_end


def _one(run: Sequence[Paragraph | Code]) -> Block:
    if len(run) == 1:
        return run[0]
    # What a cut left out: line ends of code; in prose a line end, or a blank where the text has no lines.
    blank = "\n" if isinstance(run[0], Code) or any("\n" in block.text for block in run) else " "
    texts = [run[0].text]
    for before, after in pairwise(run):
        texts += [blank * _gap(before, after), after.text]
    location = replace(run[0].location, char_end=run[-1].location.char_end)
    return replace(run[0], text="".join(texts), location=location)


def _place(location: SourceLocation) -> tuple[int | None, str | None, str | None]:
    return location.slide, location.sheet, location.section


def _common(left: tuple[Heading, ...], right: tuple[Heading, ...]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one is not other and one != other:
            break
        count += 1
    return count


def _bare(path: tuple[Heading, ...]) -> Section:
    text = SectionText()
    text.add(*_heading_part(path[-1]))
    return text.section(path, bare=True)


def _heading_part(heading: Heading) -> tuple[Part, str]:
    return _part("heading", heading.text, heading.location), heading.text


def _render(block: Block, tokens: Tokens, header_limit: int) -> tuple[Part, str] | None:
    if isinstance(block, Table):
        return _render_table(block, tokens, header_limit)
    if isinstance(block, ListBlock):
        return _render_list(block)
    if isinstance(block, PageBreak):
        return None
    source = block.alt if isinstance(block, Image) else block.text
    is_code = isinstance(block, Code)
    text = source.strip("\r\n").rstrip() if is_code else source.strip()
    if not _visible(text):
        return None
    location = block.location
    if text != source and _exact(source, location):
        assert location.char_start is not None
        lead = len(source) - len(source.lstrip("\r\n" if is_code else None))
        start = location.char_start + lead
        location = replace(location, char_start=start, char_end=start + len(text))
    part = _part("code" if is_code else "prose", text, location)
    if is_code:
        part = replace(part, line_starts=(0, *(match.end() for match in re.finditer("\n", text))))
    return part, text


def _part(kind: PartKind, text: str, location: SourceLocation) -> Part:
    char_start = location.char_start if _exact(text, location) else None
    return Part(0, len(text), kind, location, char_start=char_start)


def _exact(text: str, location: SourceLocation) -> bool:
    if location.char_start is None or location.char_end is None:
        return False
    return location.char_end - location.char_start == len(text)


def _visible(text: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in text)


def _render_list(block: ListBlock) -> tuple[Part, str] | None:
    numbers: dict[int, int] = {}  # indentation -> the last item's number there
    lines = []
    for item in block.items:
        if not _visible(item):
            continue
        text = item.lstrip(" ")
        indent = len(item) - len(text)
        numbers = {depth: number for depth, number in numbers.items() if depth <= indent}
        numbers[indent] = numbers.get(indent, 0) + 1
        marker = f"{numbers[indent]}. " if block.ordered else "- "
        if (block.ordered or indent) and has_own_marker(text):
            marker = ""
        lines.append(f"{' ' * indent}{marker}{text.rstrip()}")
    return _lines("list", lines, block.location)


def _render_table(block: Table, tokens: Tokens, header_limit: int) -> tuple[Part, str] | None:
    names = tuple(_cell(name) for name in block.headers or ())
    header = CELL_GAP.join(names).rstrip() if _visible("".join(names)) else ""
    skipped = _header_rows(block)
    header_tokens = tokens.count_tokens([header])[0] if header else 0
    named = header_tokens > header_limit
    lines, rows = ([], []) if named or not header else ([header], [0])
    places: dict[int, list[tuple[int, int]]] = {}
    for number, row in enumerate(block.rows, start=skipped):
        cells = [_cell(cell) for cell in row]
        if not _visible("".join(cells)):
            continue
        columns = [column for column, cell in enumerate(cells) if cell or not named]
        if named:
            cells = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
        line = CELL_GAP.join(cells).rstrip()
        if len(line) > _LONG_LINE_CHARACTERS:
            offsets = accumulate((len(cell) + len(CELL_GAP) for cell in cells), initial=0)
            places[len(lines)] = list(zip(offsets, columns, strict=False))
        lines.append(line)
        rows.append(number)
    if named and not block.rows:
        lines, rows = [header], [0]
    rendered = _lines("table", lines, block.location)
    if rendered is None:
        return None
    part, text = rendered
    if named:
        header, header_tokens = "", 0
    part = replace(part, char_start=None, header=header, header_tokens=header_tokens, rows=tuple(rows), cells=places)
    return part, text


def _header_rows(block: Table) -> int:
    """How many rows of a table's cell range its header takes: none where the table goes on with an earlier header."""
    if block.headers is None:
        return 0
    height = cell_ranges.height(block.location.cell_range or "")
    return 1 if height is None else max(0, height - len(block.rows))


def _cell(text: str) -> str:
    return _LINE_BREAKS.sub(" ", text.strip())


def _lines(kind: PartKind, lines: list[str], location: SourceLocation) -> tuple[Part, str] | None:
    if not lines:
        return None
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line) + 1
    text = "\n".join(lines)
    return replace(_part(kind, text, location), line_starts=tuple(starts)), text
