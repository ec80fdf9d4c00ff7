"""anydoc's document model to blocks; the same for every word processor's format that anydoc reads.

What anydoc does not know, our readers write into the file before anydoc gets it, behind marks that stand in no text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import anydoc

from mcp_knowledge.adapters.parsers.grids import Span, span_grid
from mcp_knowledge.adapters.parsers.list_markers import nested_items
from mcp_knowledge.adapters.parsers.pictures import picture_blocks
from mcp_knowledge.adapters.parsers.sinks import merge_headers, plain_text
from mcp_knowledge.adapters.parsers.word.implied_headings import BoldLine, with_implied_headings
from mcp_knowledge.adapters.parsers.word.list_labels import item_labels
from mcp_knowledge.adapters.parsers.word.symbols import readable_symbols
from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    ListBlock,
    Paragraph,
    Quote,
    Table,
)
from mcp_knowledge.errors import KnowledgeError

# Noncharacters (Unicode 23.7), so that no document means them.
COMMENT_MARK = "\ufdd0"  # begins a note that is a comment: it has no number and no reference in the text
CODE_MARK = "\ufdd1"  # begins a paragraph that is set in a typewriter face
INSERT_MARK = "\ufdd2"  # begins a paragraph that names the blocks to put in its place
_MARKS = re.compile(f"[{COMMENT_MARK}{CODE_MARK}{INSERT_MARK}]")

_CHECKBOX = {True: "[x]", False: "[ ]"}
_MADE_UP_ALT = "Embedded object: "  # anydoc's name for what has no description
_MATH_FONT = re.compile(r"\\(?:math(?:rm|it|bf|sf|tt)|text)\{([^{}]*)\}")  # says nothing to a reader of plain text
_LOOKS_LIKE_CODE = re.compile(r"[{};=<>|\\$#]|\w\(|[:(,]$|^(?:\t| {2,})\S")
_MAX_CODE_LINE_CHARS = 160


def document_blocks(
    data: bytes, kind: anydoc.Format, inserts: Mapping[str, Sequence[Block]] | None = None
) -> list[Block]:
    """The blocks of a file; `inserts` are those that marked paragraphs name.

    Raises:
        KnowledgeError: with the code that anydoc's verdict means.
    """
    try:
        document = anydoc.to_document(data, kind)
    except anydoc.EncryptedError:
        raise KnowledgeError("DOCUMENT_ENCRYPTED") from None
    except anydoc.ResourceLimitError:
        raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT") from None
    except anydoc.ConvertError:
        raise KnowledgeError("DOCUMENT_MALFORMED") from None
    return with_implied_headings(_Reader(document.notes, inserts or {}).blocks(document.blocks))


class _Reader:
    """Reads blocks and puts each note behind the block that refers to it."""

    def __init__(self, notes: Sequence[anydoc.Note], inserts: Mapping[str, Sequence[Block]]) -> None:
        self._inserts = inserts
        self._notes = {note.id: note for note in notes}
        self._numbers: dict[str, int] = {}
        self._pending: list[str] = []

    def blocks(self, sources: Iterable[anydoc.Block]) -> list[Block]:
        """Blocks in reading order; neighbouring lines of code are one code block."""
        result: list[Block] = []
        for in_typewriter, group in groupby(sources, _is_typewritten):
            lines = list(group)
            if in_typewriter and _is_code(lines):
                result.append(Code("\n".join(_MARKS.sub("", self._raw(block.content)) for block in lines)))
            else:
                for block in lines:
                    result.extend(self._block(block))
            result.extend(self._due_notes())
        return result

    def _block(self, source: anydoc.Block) -> Iterator[Block]:
        match source.kind:
            case "heading":
                yield Heading(min(max(source.level or 1, 1), 6), self._text(source.content))
            case "paragraph":
                yield from self._paragraph(source)
            case "list" if source.list is not None:
                yield from self._list(source.list)
            case "table" if source.table is not None:
                yield from self._table(source.table)
            case "block_quote":
                yield Quote("\n\n".join(plain_text(block) for block in self.blocks(source.blocks or ())))
            case "code_block":
                yield Code(_MARKS.sub("", source.text or ""), source.lang)
            case "math":
                yield Paragraph(_readable_math(source.text or ""))
        yield from self._due_notes()

    def _paragraph(self, source: anydoc.Block) -> Iterator[Block]:
        raw = self._raw(source.content)
        if raw.startswith(INSERT_MARK):
            yield from self._inserts.get(raw.removeprefix(INSERT_MARK).strip(), ())
            return
        if text := _MARKS.sub("", raw).strip():
            yield BoldLine(text) if _is_bold(source) else Paragraph(text)
        for inline in source.content or ():
            if inline.kind == "image" and inline.alt and not inline.alt.startswith(_MADE_UP_ALT):
                yield from picture_blocks(inline.alt)

    def _list(self, source: anydoc.List) -> Iterator[Block]:
        """A list; tables and code inside an item stand behind it, and a heading inside (numbered as a list) ends it."""
        ordered = source.marker != "bullet"
        items: list[str] = []
        others: list[Block] = []
        for label, item in zip(item_labels(source), source.items, strict=True):
            begun = False
            for block in self.blocks(item.blocks):
                if isinstance(block, Heading):
                    yield from _list_and(items, others, ordered)
                    items, others, begun = [], [], False
                    yield block
                elif isinstance(block, ListBlock):
                    items.extend(nested_items(block, ordered))
                elif isinstance(block, Table | Code):
                    others.append(block)
                elif text := plain_text(block):
                    if begun:
                        items[-1] += "\n" + text
                    else:
                        items.append(label + text)
                    begun = True
        yield from _list_and(items, others, ordered)

    def _table(self, source: anydoc.Table) -> Iterator[Block]:
        cells: list[list[Block]] = []
        rows: list[list[Span]] = []
        for row in source.grid:
            rows.append([])
            for slot in row:
                if slot.cell is not None:
                    rows[-1].append(Span(len(cells), slot.cell.col_span, slot.cell.row_span, False))
                    cells.append(self.blocks(slot.cell.blocks))
        if source.kind == "layout" or _lays_out(rows, cells):
            yield from (block for cell in cells for block in cell)
            return
        grid = span_grid(rows, ["\n".join(map(plain_text, cell)) for cell in cells])
        head = min(source.header_rows, len(grid) - 1)
        yield Table(merge_headers(grid[:head]), tuple(map(tuple, grid[head:])))

    def _text(self, content: Sequence[anydoc.Inline] | None) -> str:
        return _MARKS.sub("", self._raw(content)).strip()

    def _raw(self, content: Sequence[anydoc.Inline] | None) -> str:
        parts = []
        for inline in content or ():
            match inline.kind:
                case "text":
                    parts.append(readable_symbols(inline.text or ""))
                case "math":
                    parts.append(_readable_math(inline.text or ""))
                case "link":
                    parts.append(self._raw(inline.content))
                case "line_break":
                    parts.append("\n")
                case "checkbox":
                    parts.append(_CHECKBOX[bool(inline.checked)])
                case "note_ref":
                    parts.append(self._reference(inline.note_id or ""))
        return "".join(parts)

    def _reference(self, note_id: str) -> str:
        if note_id not in self._notes:
            return ""
        if note_id in self._numbers:
            return f"[{self._numbers[note_id]}]"
        self._pending.append(note_id)
        if _is_comment(self._notes[note_id]):
            return ""
        self._numbers[note_id] = len(self._numbers) + 1
        return f"[{self._numbers[note_id]}]"

    def _due_notes(self) -> Iterator[Block]:
        due, self._pending = self._pending, []
        for note_id in due:
            text = "\n".join(plain_text(block) for block in self.blocks(self._notes[note_id].blocks)).strip()
            if not text:
                continue
            yield Paragraph(f"[{self._numbers[note_id]}] {text}" if note_id in self._numbers else f"[{text}]")


def _is_comment(note: anydoc.Note) -> bool:
    texts = (inline.text for block in note.blocks[:1] for inline in block.content or () if inline.text)
    return next(texts, "").lstrip().startswith(COMMENT_MARK)


def _list_and(items: Sequence[str], others: Sequence[Block], ordered: bool) -> Iterator[Block]:
    if items:
        yield ListBlock(ordered, tuple(items))
    yield from others


def _lays_out(rows: Sequence[Sequence[Span]], cells: Sequence[Sequence[Block]]) -> bool:
    """Whether a table only places text: no row has more than one cell, or a cell is a headed text."""
    if all(len(row) <= 1 for row in rows):
        return True
    return any(len(cell) > 1 and any(isinstance(block, Heading) for block in cell) for cell in cells)


def _readable_math(latex: str) -> str:
    """LaTeX without the commands that only choose a face."""
    while (plainer := _MATH_FONT.sub(r"\1", latex)) != latex:
        latex = plainer
    return latex


def _is_bold(block: anydoc.Block) -> bool:
    texts = [inline for inline in block.content or () if inline.kind == "text" and (inline.text or "").strip()]
    return all(inline.style is not None and inline.style.bold for inline in texts) and len(texts) > 0


def _is_typewritten(block: anydoc.Block) -> bool:
    """Whether a paragraph is set in a typewriter face, by its style or by the face of all its text."""
    if block.kind != "paragraph":
        return False
    texts = [inline for inline in block.content or () if inline.kind == "text" and (inline.text or "").strip()]
    if not texts or any(inline.kind not in ("text", "line_break", "anchor") for inline in block.content or ()):
        return False
    return any((inline.text or "").startswith(CODE_MARK) for inline in texts) or all(
        inline.style is not None and inline.style.code for inline in texts
    )


def _is_marked(block: anydoc.Block) -> bool:
    """Whether the face alone makes a paragraph typewritten, and not a style for code."""
    texts = [inline for inline in block.content or () if inline.kind == "text"]
    return any((inline.text or "").startswith(CODE_MARK) for inline in texts) and not all(
        inline.style is not None and inline.style.code for inline in texts if (inline.text or "").strip(CODE_MARK)
    )


def _is_code(lines: Sequence[anydoc.Block]) -> bool:
    """Whether typewritten paragraphs are code: their style says so, or half of them look like it (letters don't)."""
    texts = ["".join(inline.text or "" for inline in block.content or ()) for block in lines if _is_marked(block)]
    if len(texts) < len(lines):
        return True
    alike = sum(bool(_LOOKS_LIKE_CODE.search(text.removeprefix(CODE_MARK))) for text in texts)
    return 2 * alike >= len(texts) and max(map(len, texts)) <= _MAX_CODE_LINE_CHARS
