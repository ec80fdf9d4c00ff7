"""XML that holds a text: headings, paragraphs, lists, tables, quotations and code by the names of its elements.

What has no such name and no running text inside is data and is told with key paths.
"""

from collections.abc import Iterator
from dataclasses import replace

from mcp_knowledge.adapters.parsers.key_paths import leaf_paragraphs
from mcp_knowledge.adapters.parsers.sinks import ListSink, QuoteSink, Sink, TableSink
from mcp_knowledge.adapters.parsers.source import TextBudget
from mcp_knowledge.adapters.parsers.xml_data import is_mixed, leaves
from mcp_knowledge.adapters.parsers.xml_names import (
    BLOCKS,
    BREAKS,
    CAPTIONED,
    CELLS,
    CODE,
    DEFINITIONS,
    HEADINGS,
    ITEMS,
    LISTS,
    NOTES,
    ORDERED_LISTS,
    OWN_LINES,
    PARAGRAPHS,
    QUOTES,
    ROWS,
    SKIPPED,
    TABLE_HEADS,
    TABLES,
)
from mcp_knowledge.adapters.parsers.xml_tree import Node
from mcp_knowledge.domain.blocks import Block, Code, Heading, Paragraph, SourceLocation

_PROSE_SHARE = 0.4  # of all words: feeds and records with some markup in their descriptions stay below
_NUMBERED = {  # JATS, attribute list-type
    "order": "decimal", "alpha-lower": "lower_alpha", "alpha-upper": "upper_alpha", "roman-lower": "lower_roman",
    "roman-upper": "upper_roman",
}  # fmt: skip
_MAX_REPEATED = 50  # OpenDocument repeats one cell for the empty rest of a row


def is_prose(root: Node) -> bool:
    """Whether much of the text stands in paragraphs or between elements."""
    total = inside = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.name.lower() in PARAGRAPHS or not node.children or is_mixed(node):
            words = len(node.text().split())
            total += words
            inside += words if node.name.lower() in PARAGRAPHS or node.children else 0
        else:
            stack.extend(node.children)
    return inside > 0 and inside >= total * _PROSE_SHARE


class ProseReader:
    """Makes blocks of an element.

    Args:
        budget: of the text that is told with key paths; None leaves it out.
    """

    def __init__(self, root: Node, budget: TextBudget | None) -> None:
        self._root = root
        self._budget = budget
        self._with_blocks: set[int] = set()
        for node in [*root.find()][::-1]:  # children before their parents
            if any(id(child) in self._with_blocks or _is_block(child) for child in node.children):
                self._with_blocks.add(id(node))
        self._with_blocks.add(id(root))

    def blocks(self) -> Iterator[Block]:
        """The blocks, each with its place in the text."""
        for block, node in self._walk(self._root, 0):
            if block.location.char_start is not None:
                yield block
            else:
                yield replace(block, location=SourceLocation(char_start=node.start, char_end=node.end))

    def _walk(self, node: Node, level: int) -> Iterator[tuple[Block, Node]]:
        """The blocks of an element, with the elements that they stand for."""
        name = node.name.lower()
        if name in SKIPPED:
            return
        if name in HEADINGS and (text := _line(node)):
            yield Heading(min(max(_stated_level(node) or level, 1), 6), text), node
        elif name in PARAGRAPHS or (node.children and is_mixed(node)):
            yield from _paragraphs(node)
        elif (blocks := self._contained(node, name)) is not None:
            yield from ((block, node) for block in blocks)
        elif id(node) in self._with_blocks:
            yield from self._section(node, name, level)
        elif self._budget is not None:
            yield from ((block, node) for block in leaf_paragraphs(leaves(node), self._budget))

    def _section(self, node: Node, name: str, level: int) -> Iterator[tuple[Block, Node]]:
        titled = any(child.name.lower() in HEADINGS for child in node.children)
        for child in node.children:
            if name in CAPTIONED and child.name.lower() in HEADINGS:
                yield Paragraph(_line(child)), child
            else:
                yield from self._walk(child, level + titled)

    def _contained(self, node: Node, name: str) -> list[Block] | None:
        """What a list, table, quotation or piece of code comes to; None for any other element."""
        if name in CODE or (name == "code" and "\n" in node.text().strip()):
            return [Code(node.text(), node.attributes.get("language") or node.attributes.get("lang"))]
        if not node.children:
            return None
        sink: Sink
        if name in LISTS:
            style = _NUMBERED.get(node.attributes.get("list-type", ""))
            sink = ListSink(name in ORDERED_LISTS or style is not None, style=style or "decimal")
            self._fill_list(sink, node)
        elif name in TABLES:
            sink = TableSink(presentation=False)
            self._fill_table(sink, node)
        elif name in QUOTES:
            sink = QuoteSink()
            self._fill(sink, node)
        else:
            return None
        return sink.close()

    def _fill(self, sink: Sink, node: Node) -> None:
        """Add an element's content to a sink."""
        if id(node) not in self._with_blocks:
            if text := _line(node):
                sink.add_text(text)
            return
        label = ""  # "3." before the text of an item
        for child in node.children:
            if child.name.lower() == "label" and not label:
                label = f"{_line(child)} "
                continue
            for block, _ in self._walk(child, 1):
                if isinstance(block, Paragraph | Heading):
                    sink.add_text(label.lstrip() + block.text)
                    label = ""
                else:
                    sink.add_block(block)

    def _fill_list(self, sink: ListSink, node: Node) -> None:
        for child in node.children:
            name = child.name.lower()
            if name in DEFINITIONS or (name == "listitem" and node.name.lower() == "varlistentry"):
                sink.begin_definition()
                self._fill(sink, child)
            elif name in ITEMS:
                sink.begin_item()
                self._fill(sink, child)
            elif name in HEADINGS | PARAGRAPHS:
                sink.begin_item()
                sink.add_text(_line(child))
            else:
                self._fill_list(sink, child)

    def _fill_table(self, sink: TableSink, node: Node) -> None:
        for child in node.children:
            name = child.name.lower()
            if name in ROWS:
                sink.begin_head(name in TABLE_HEADS or node.name.lower() in TABLE_HEADS)
                sink.begin_row()
                self._fill_table(sink, child)
            elif name in CELLS:
                for _ in range(min(_number(child, "number-columns-repeated"), _MAX_REPEATED)):
                    sink.begin_cell(name == "th", _number(child, "colspan", "cols"), _rows(child))
                    self._fill(sink, child)
            elif name in HEADINGS | PARAGRAPHS:
                if text := _line(child):
                    sink.add_text(text)
            else:
                self._fill_table(sink, child)


def _is_block(node: Node) -> bool:
    return node.name.lower() in BLOCKS or bool(node.children and is_mixed(node))


def _rows(cell: Node) -> int:
    return _number(cell, "morerows") + 1 if "morerows" in cell.attributes else _number(cell, "rowspan", "rows")


def _number(node: Node, *names: str) -> int:
    """The first of these attributes that is there; 1 when none is."""
    stated = next((node.attributes[name] for name in names if name in node.attributes), "")
    return min(int(stated), 1_000) if stated.isascii() and stated.isdecimal() else 1


def _stated_level(node: Node) -> int | None:
    digits = node.attributes.get("outline-level", "") or node.name[1:]
    return int(digits[:2]) if digits.isascii() and digits.isdecimal() else None


def _paragraphs(node: Node) -> Iterator[tuple[Block, Node]]:
    """An element's running text, then the notes that stand in it."""
    notes: list[Node] = []
    if text := _stripped(_flat(node, notes)):
        yield Paragraph(text), node
    for note in notes:
        yield from _paragraphs(note)


def _line(node: Node) -> str:
    return _stripped(_flat(node, []))


def _stripped(text: str) -> str:
    return "\n".join(line for raw in text.split("\n") if (line := " ".join(raw.split())))


def _flat(node: Node, notes: list[Node]) -> str:
    """An element's text. A line end in the file is a blank, an element may stand for one; notes are put aside."""
    pieces: list[str] = []
    stack: list[str | Node | None] = list(node.parts[::-1])
    while stack:
        part = stack.pop()
        if part is None:
            pieces.append("\n")
        elif isinstance(part, str):
            pieces.append(part.replace("\n", " "))
        elif (name := part.name.lower()) in NOTES:
            notes.append(part)
        elif name in BREAKS and not part.parts:
            pieces.append(BREAKS[name])
        elif name not in SKIPPED:
            if name in OWN_LINES:
                pieces.append("\n")
                stack.append(None)
            stack.extend(part.parts[::-1])
    return "".join(pieces)
