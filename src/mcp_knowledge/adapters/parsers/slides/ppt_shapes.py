"""The shapes of a binary PowerPoint slide to blocks (MS-ODRAW 2.2, MS-PPT 2.7)."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_knowledge.adapters.parsers.grids import MAX_REPEATED_CHARS
from mcp_knowledge.adapters.parsers.packages import read_parts
from mcp_knowledge.adapters.parsers.pictures import picture_blocks
from mcp_knowledge.adapters.parsers.slides.diagrams import diagram_lines
from mcp_knowledge.adapters.parsers.slides.document import MAX_DEPTH, Line, Slide, text_blocks
from mcp_knowledge.adapters.parsers.slides.layout import Item, ordered
from mcp_knowledge.adapters.parsers.slides.order import Box, around
from mcp_knowledge.adapters.parsers.slides.ppt_records import Record, utf16
from mcp_knowledge.adapters.parsers.slides.ppt_text import Bullets, Text, texts
from mcp_knowledge.adapters.parsers.slides.xml import tree
from mcp_knowledge.adapters.parsers.source import Limits
from mcp_knowledge.domain.blocks import Block, Table
from mcp_knowledge.errors import KnowledgeError

_GROUP, _SHAPE = 0xF003, 0xF004
_SHAPE_ATOM, _PROPERTIES, _MORE_PROPERTIES = 0xF00A, 0xF00B, 0xF122
_CHILD_ANCHOR, _CLIENT_ANCHOR, _CLIENT_DATA, _TEXT_BOX = 0xF00F, 0xF010, 0xF011, 0xF00D
_PLACEHOLDER, _FOOTER_PLACEHOLDER, _OUTLINE_REFERENCE = 0x0BC3, 0x0420, 0x0F9E
_DELETED = 0x8
# Placeholder types (MS-PPT 2.13.24): date, slide number, footer, header, and the picture of the slide on its notes.
_FURNITURE = frozenset({5, 7, 8, 9, 10, 11})
_MASTER_PLACEHOLDERS = frozenset(range(1, 11))
_PICTURE, _WORD_ART, _DESCRIPTION, _TABLE, _NEWER_SHAPE, _FLAGS = 0x0104, 0x00C0, 0x0381, 0x039F, 0x03A9, 0x03BF
_HIDDEN = 0x00020002  # the flag, and the one that says that it counts
_MAX_TABLE_SHAPES = 2_500


@dataclass(frozen=True, slots=True)
class Cell:
    """A shape of a table: its place and text."""

    box: Box
    text: str


class Diagrams:
    """Reads the diagrams (SmartArt) of one file, each from a package of its own (metroBlob, MS-ODRAW 2.3.2.17)."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def lines(self, package: bytes) -> Iterator[Line]:
        """A diagram's outline. The archive limits hold for all diagrams of the file together."""
        try:
            parts = read_parts(package, ("/data1.xml",), self._limits)
            left = self._limits.max_archive_uncompressed_bytes - sum(map(len, parts.values()))
            self._limits = replace(self._limits, max_archive_uncompressed_bytes=left)
            for part in parts.values():
                yield from diagram_lines(tree(part))
        except KnowledgeError as error:
            if error.code == "DOCUMENT_RESOURCE_LIMIT":
                raise


class Shapes:
    """Reads the shapes of one slide.

    Args:
        slide: takes the title.
        outline: the slide's texts as the document's outline keeps them; shapes refer to them by number.
        bullets: what the slide's master says about bullets.
        diagrams: reads what newer programs keep beside a shape that PowerPoint 2003 shows as a picture.
    """

    def __init__(self, slide: Slide, outline: Sequence[Text], bullets: Bullets, diagrams: Diagrams) -> None:
        self._slide = slide
        self._outline = outline
        self._bullets = bullets
        self._diagrams = diagrams
        self.is_master = False

    def items(self, group: Record, depth: int = 0) -> Iterator[Item]:
        """What a group holds, each with its place; the first shape of a group is the group itself."""
        for index, record in enumerate(group.children()):
            if record.kind == _GROUP and depth < MAX_DEPTH:
                yield self._group(record, depth + 1)
            elif record.kind == _SHAPE and (index or not depth):
                yield Item(_box(record), self._shape(record), is_picture=_PICTURE in _properties(record))

    def _group(self, group: Record, depth: int) -> Item:
        own = next(group.children(), None)
        properties = _properties(own) if own is not None else {}
        items = list(self.items(group, depth))
        box = (_box(own) if own is not None else None) or around(item.box for item in items)
        table = _table(self._cells(group), bool(int.from_bytes(properties.get(_TABLE, b"")[:4], "little") & 1))
        described = picture_blocks(utf16(properties.get(_DESCRIPTION, b"")).strip("\0"))
        return Item(box, [*described, *([table] if table is not None else ordered(items))])

    def _cells(self, group: Record) -> list[Cell]:
        cells = []
        for record in group.children():
            if record.kind == _GROUP:
                return []
            box = _box(record)
            if record.kind == _SHAPE and box is not None and box.width > 0 and box.height > 0:
                lines = [line.text for text in self._texts(record) for line in text.lines(self._bullets)]
                if record.child(_TEXT_BOX) is not None:
                    cells.append(Cell(box, "\n".join(filter(None, lines))))
        return cells

    def _shape(self, shape: Record) -> list[Block]:
        atom = shape.child(_SHAPE_ATOM)
        flags = (atom.unpack("II") if atom is not None else None) or (0, 0)
        properties = _properties(shape)
        hidden = int.from_bytes(properties.get(_FLAGS, b"")[:4], "little") & _HIDDEN == _HIDDEN
        place_type = _place_type(shape)
        if flags[1] & _DELETED or hidden or place_type in (_MASTER_PLACEHOLDERS if self.is_master else _FURNITURE):
            return []
        lines: list[Line] = []
        for text in self._texts(shape):
            stated = [line for line in text.lines(self._bullets) if line.text]
            if text.is_title and stated and not self.is_master:
                self._slide.add_title(" ".join(line.text for line in stated))
                return []
            lines += stated
        if not lines and (art := utf16(properties.get(_WORD_ART, b"")).strip("\0")):
            lines = [Line(part) for part in art.splitlines()]
        if not lines and _NEWER_SHAPE in properties:
            lines = list(self._diagrams.lines(properties[_NEWER_SHAPE]))
        return text_blocks(lines) or picture_blocks(utf16(properties.get(_DESCRIPTION, b"")).strip("\0"))

    def _texts(self, shape: Record) -> list[Text]:
        box = shape.child(_TEXT_BOX)
        if box is None:
            return []
        reference = box.child(_OUTLINE_REFERENCE)
        index = (reference.unpack("I") if reference is not None else None) or (len(self._outline),)
        return [self._outline[index[0]]] if index[0] < len(self._outline) else texts(box.children())


def _place_type(shape: Record) -> int:
    """Which of the layout's places a shape takes; 0 for none. PowerPoint 2007 marks footers by another record."""
    place = shape.child(_CLIENT_DATA, _PLACEHOLDER)
    if place is not None and (stated := place.unpack("iB")):
        return stated[1]
    footer = shape.child(_CLIENT_DATA, _FOOTER_PLACEHOLDER)
    return ((footer.unpack("B") if footer is not None else None) or (0,))[0]


def _box(shape: Record) -> Box | None:
    anchor = shape.child(_CHILD_ANCHOR)
    if anchor is not None and (sides := anchor.unpack("iiii")):
        left, top, right, bottom = sides
        return Box(left, top, right - left, bottom - top)
    anchor = shape.child(_CLIENT_ANCHOR)
    sides = (anchor.unpack("iiii") or anchor.unpack("hhhh")) if anchor is not None else None
    if sides is None:
        return None
    top, left, right, bottom = sides
    return Box(left, top, right - left, bottom - top)


def _properties(shape: Record) -> Mapping[int, bytes]:
    """A shape's properties by number: four bytes, or the longer value that these tell the length of."""
    found: dict[int, bytes] = {}
    for record in shape.children():
        if record.kind not in (_PROPERTIES, _MORE_PROPERTIES):
            continue
        content = record.content
        at = 6 * record.instance
        for index in range(min(record.instance, len(content) // 6)):
            number, value = struct.unpack_from("<HI", content, 6 * index)
            if number & 0x8000:
                found[number & 0x3FFF] = content[at : at + value]
                at += value
            else:
                found[number & 0x3FFF] = value.to_bytes(4, "little")
    return found


def _table(cells: Sequence[Cell], is_stated: bool) -> Table | None:
    """The grid of shapes that lie edge to edge; None when they do not."""
    lefts, tops = sorted({cell.box.left for cell in cells}), sorted({cell.box.top for cell in cells})
    if not cells or (not is_stated and (len(lefts) < 2 or len(tops) < 2 or len(cells) != len(lefts) * len(tops))):
        return None
    if len(cells) > _MAX_TABLE_SHAPES or len(lefts) * len(tops) > 4 * len(cells) + 100:
        return None
    grid = [[""] * len(lefts) for _ in tops]
    for cell in cells:
        right, bottom = cell.box.left + cell.box.width, cell.box.top + cell.box.height
        columns = [at for at, left in enumerate(lefts) if cell.box.left <= left < right]
        rows = [at for at, top in enumerate(tops) if cell.box.top <= top < bottom]
        repeated = cell.text if len(cell.text) <= MAX_REPEATED_CHARS else ""
        for row in rows:
            for column in columns:
                grid[row][column] = grid[row][column] or repeated
        if len(cell.text) > MAX_REPEATED_CHARS and rows and columns:
            grid[rows[0]][columns[0]] = cell.text
    return Table(None, tuple(map(tuple, grid)))
