"""anydoc's document model to blocks; the same for every word processor's format that anydoc reads."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import anydoc

from mcp_knowledge.adapters.parsers.grids import Span, span_grid
from mcp_knowledge.adapters.parsers.sinks import merge_headers, plain_text
from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, Quote, Table
from mcp_knowledge.errors import KnowledgeError

_CHECKBOX = {True: "[x]", False: "[ ]"}


def document_blocks(data: bytes, kind: anydoc.Format) -> list[Block]:
    """The blocks of a file. Raises KnowledgeError with the code that anydoc's verdict means."""
    try:
        document = anydoc.to_document(data, kind)
    except anydoc.EncryptedError:
        raise KnowledgeError("DOCUMENT_ENCRYPTED") from None
    except anydoc.ResourceLimitError:
        raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT") from None
    except anydoc.ConvertError:
        raise KnowledgeError("DOCUMENT_MALFORMED") from None
    return _Reader(document.notes).blocks(document.blocks)


class _Reader:
    """Reads blocks and puts each note behind the block that refers to it."""

    def __init__(self, notes: Sequence[anydoc.Note]) -> None:
        self._notes = {note.id: note for note in notes}
        self._numbers: dict[str, int] = {}
        self._pending: list[str] = []

    def blocks(self, sources: Iterable[anydoc.Block]) -> list[Block]:
        """Blocks in reading order; neighbouring paragraphs in a code font are one code block."""
        result: list[Block] = []
        for is_code, group in groupby(sources, _is_code_line):
            if is_code:
                result.append(Code("\n".join(self._raw(block.content) for block in group)))
            else:
                for block in group:
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
                yield Code(source.text or "", source.lang)
            case "math":
                yield Paragraph(source.text or "")
        yield from self._due_notes()

    def _paragraph(self, source: anydoc.Block) -> Iterator[Block]:
        if text := self._text(source.content):
            yield Paragraph(text)
            return
        for inline in source.content or ():
            if inline.kind == "image" and inline.alt:
                yield Image(inline.alt)

    def _list(self, source: anydoc.List) -> Iterator[Block]:
        """A list; tables and code inside an item stand behind it."""
        items: list[str] = []
        others: list[Block] = []
        for item in source.items:
            begun = False
            for block in self.blocks(item.blocks):
                if isinstance(block, ListBlock):
                    items.extend("  " + nested.replace("\n", "\n  ") for nested in block.items)
                elif isinstance(block, Table | Code):
                    others.append(block)
                elif text := plain_text(block):
                    label = f"{item.marker_label} " if item.marker_label and not begun else ""
                    if begun:
                        items[-1] += "\n" + text
                    else:
                        items.append(label + text)
                    begun = True
        if items:
            yield ListBlock(source.marker != "bullet", tuple(items))
        yield from others

    def _table(self, source: anydoc.Table) -> Iterator[Block]:
        cells: list[list[Block]] = []
        rows: list[list[Span]] = []
        for row in source.grid:
            rows.append([])
            for slot in row:
                if slot.cell is not None:
                    rows[-1].append(Span(len(cells), slot.cell.col_span, slot.cell.row_span, False))
                    cells.append(self.blocks(slot.cell.blocks))
        if source.kind == "layout":
            yield from (block for cell in cells for block in cell)
            return
        grid = span_grid(rows, ["\n".join(map(plain_text, cell)) for cell in cells])
        head = min(source.header_rows, len(grid) - 1)
        yield Table(merge_headers(grid[:head]), tuple(map(tuple, grid[head:])))

    def _text(self, content: Sequence[anydoc.Inline] | None) -> str:
        return self._raw(content).strip()

    def _raw(self, content: Sequence[anydoc.Inline] | None) -> str:
        parts = []
        for inline in content or ():
            match inline.kind:
                case "text" | "math":
                    parts.append(inline.text or "")
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
        if note_id not in self._numbers:
            self._numbers[note_id] = len(self._numbers) + 1
            self._pending.append(note_id)
        return f"[{self._numbers[note_id]}]"

    def _due_notes(self) -> Iterator[Block]:
        while self._pending:
            note_id = self._pending.pop(0)
            text = "\n".join(plain_text(block) for block in self.blocks(self._notes[note_id].blocks)).strip()
            if text:
                yield Paragraph(f"[{self._numbers[note_id]}] {text}")


def _is_code_line(block: anydoc.Block) -> bool:
    texts = [inline for inline in block.content or () if inline.kind == "text" and (inline.text or "").strip()]
    others = any(inline.kind not in ("text", "line_break", "anchor") for inline in block.content or ())
    return block.kind == "paragraph" and bool(texts) and not others and all(t.style and t.style.code for t in texts)
