"""Where the HTML walk puts what it finds: one sink for each open container (page, quote, list, table)."""

import re

from mcp_knowledge.adapters.parsers.grids import Span, span_grid
from mcp_knowledge.adapters.parsers.list_markers import nested_items, numeral
from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    Image,
    ListBlock,
    Paragraph,
    Quote,
    Table,
    has_own_marker,
)

_LAYOUT_CELL_CHARS = 1_500


class Sink:
    """The page itself: blocks in reading order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def add_text(self, text: str) -> None:
        """A finished run of inline text."""
        self.blocks.extend(Paragraph(part) for part in re.split(r"\n{2,}", text))

    def add_block(self, block: Block) -> None:
        """A finished block."""
        self.blocks.append(block)

    def close(self) -> list[Block]:
        """What the container comes to, for the sink around it."""
        return self.blocks


class QuoteSink(Sink):
    """A quotation: texts become one block, code and tables stand behind it."""

    def close(self) -> list[Block]:
        """One quote, then what cannot be part of it."""
        texts = [plain_text(block) for block in self.blocks if not isinstance(block, Code | Table)]
        others: list[Block] = [block for block in self.blocks if isinstance(block, Code | Table)]
        return [Quote("\n\n".join(texts)), *others] if texts else others


class ListSink(Sink):
    """A list: nested lists are indented items; code, tables and quotes split it."""

    def __init__(self, ordered: bool, start: int = 1, step: int = 1, style: str = "decimal") -> None:
        super().__init__()
        self._ordered = ordered
        self._style = style
        self._step = step
        self._number = start - step  # of the last item
        self._position = 0  # of the last item in this part of the list
        self._items: list[str] = []
        self._is_defined = False
        self._joint: str | None = None  # how the next text joins the last item; None: it begins an item

    def begin_item(self, number: int | None = None) -> None:
        """The next text is a new item's; `number` is what the item states as its own."""
        self._joint, self._is_defined = None, False
        self._number = self._number + self._step if number is None else number

    def begin_definition(self) -> None:
        """The next text says what the last item means: on its line, or on the next one if something stands there."""
        if self._items:
            self._joint = "\n" if self._is_defined else ": "
            self._is_defined = True

    def add_text(self, text: str) -> None:
        """An item's text, or more of it."""
        if self._joint is None:
            self._items.append(self._marker(text) + text)
        else:
            self._items[-1] += self._joint + text
        self._joint = "\n"

    def add_block(self, block: Block) -> None:
        """A nested list goes in, a picture counts as text, everything else splits the list."""
        match block:
            case ListBlock():
                self._items.extend(nested_items(block, self._ordered))
                self._joint = None
            case Image():
                self.add_text(block.alt)
            case _:
                self._end_part()
                self.blocks.append(block)

    def close(self) -> list[Block]:
        """The parts of the list."""
        self._end_part()
        return self.blocks

    def _marker(self, text: str) -> str:
        """An ordered item's number where its position does not tell it."""
        self._position += 1
        if not self._ordered or has_own_marker(text):
            return ""
        if self._style == "decimal" and self._number == self._position:
            return ""
        return f"{numeral(self._number, self._style)}. "

    def _end_part(self) -> None:
        if self._items:
            self.blocks.append(ListBlock(self._ordered, tuple(self._items)))
        self._items, self._joint, self._position = [], None, 0


class TableSink(Sink):
    """A table: a grid of cells, or, where it only lays out the page, its cells' blocks one after the other."""

    def __init__(self, presentation: bool) -> None:
        super().__init__()
        self._presentation = presentation
        self._rows: list[list[Span]] = []
        self._cells: list[list[Block]] = []
        self._in_head = False
        self._before: list[Block] = []  # the caption

    def begin_head(self, inside: bool) -> None:
        """Whether the rows to come stand in the table's head."""
        self._in_head = inside

    def begin_row(self) -> None:
        """A new row."""
        self._rows.append([])

    def begin_cell(self, header: bool, columns: int, rows: int) -> None:
        """A new cell that spans so many columns and rows."""
        if not self._rows:
            self.begin_row()
        self._cells.append([])
        self._rows[-1].append(Span(len(self._cells) - 1, columns, rows, header or self._in_head))

    def add_text(self, text: str) -> None:
        """Text of the cell, or of the caption before the first one."""
        self.add_block(Paragraph(text))

    def add_block(self, block: Block) -> None:
        """A block of the cell."""
        (self._cells[-1] if self._cells else self._before).append(block)

    def close(self) -> list[Block]:
        """The caption, then the table or the blocks that it lays out."""
        if self._lays_out():
            return [*self._before, *_page_of(self._cells)]
        texts = ["\n".join(map(plain_text, cell)) for cell in self._cells]
        rows = [row for row in self._rows if row]
        grid = span_grid(rows, texts)
        head = 0
        while head < len(rows) - 1 and all(span.header for span in rows[head]):
            head += 1
        headers = merge_headers(grid[:head]) if head else None
        return [*self._before, Table(headers, tuple(map(tuple, grid[head:])))]

    def _lays_out(self) -> bool:
        """Whether this is no table of data: by its role, or with one filled column, or with headings or whole texts."""
        if self._presentation or all(sum(bool(self._cells[span.cell]) for span in row) <= 1 for row in self._rows):
            return True
        if any(row and all(span.header for span in row) for row in self._rows):
            return False
        return any(
            any(isinstance(block, Heading | Table) for block in cell) or sum(map(_size, cell)) > _LAYOUT_CELL_CHARS
            for cell in self._cells
        )


def _page_of(cells: list[list[Block]]) -> list[Block]:
    """What cells hold, as a page holds it."""
    page = Sink()
    for cell in cells:
        for block in cell:
            if isinstance(block, Paragraph):
                page.add_text(block.text)
            else:
                page.add_block(block)
    return page.close()


def _size(block: Block) -> int:
    return len(plain_text(block))


def merge_headers(rows: list[list[str]]) -> tuple[str, ...] | None:
    """One header row from several: each column's different names from top to bottom, joined by a slash."""
    if not rows:
        return None
    return tuple(" / ".join(dict.fromkeys(name for name in column if name)) for column in zip(*rows, strict=True))


def plain_text(block: Block) -> str:
    """A block as text inside another one."""
    match block:
        case Heading() | Paragraph() | Quote() | Code():
            return block.text
        case ListBlock():
            return "\n".join(f"- {item}" for item in block.items)
        case Table():
            return "\n".join(" | ".join(row) for row in (block.headers or (), *block.rows) if any(row))
        case Image():
            return block.alt
        case _:
            return ""
