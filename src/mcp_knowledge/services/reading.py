"""Reading a document page by page, in whole blocks, within a budget of characters."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.domain.blocks import Block, block_to_json
from mcp_knowledge.domain.cursors import CursorSigner, bind
from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.results import Expansion
from mcp_knowledge.domain.search import Expand
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlockPage, Store
from mcp_knowledge.services.hits import VanishedError, expanded
from mcp_knowledge.services.sections import WHOLE_DOCUMENT, Selection, heading_key, select_sections
from mcp_knowledge.settings import Settings

_CURSOR_KIND = "blocks"
_BATCH_BLOCKS = 64  # what one page usually takes; a page of many small blocks reads several batches


def compact_json(data: Any) -> str:
    """JSON as the budgets count it: no blanks between tokens, characters beyond ASCII as they are."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One page of a document.

    Args:
        body: a complete normalized document in JSON that holds this page's blocks.
        returned_blocks: how many blocks `body` holds, of the `total_blocks` that were selected.
        next_cursor: where the next page begins; None after the last.
    """

    document: Document
    body: str
    returned_blocks: int
    total_blocks: int
    next_cursor: str | None


class Reading:
    """Pages of normalized documents and single chunks, for readers with a limited context."""

    def __init__(self, store: Store, cursors: CursorSigner, settings: Settings) -> None:
        self._store = store
        self._cursors = cursors
        self._max_chars = settings.max_mcp_document_chars

    async def page(
        self,
        document_id: str,
        *,
        cursor: str | None = None,
        block_limit: int | None = None,
        headings: Sequence[str] | None = None,
    ) -> DocumentPage:
        """One page: as many whole blocks as fit in the budget, at most `block_limit`.

        Args:
            cursor: `next_cursor` of the page before.
            block_limit: at least 1.
            headings: read only the complete sections under these headings, everything when there are none; the cursor
                belongs to this selection.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, DOCUMENT_CONTENT_UNAVAILABLE, DOCUMENT_BLOCK_TOO_LARGE, CURSOR_STALE or
                INVALID_CURSOR.
        """
        document = await self._store.get_document(document_id)
        if document is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        revision_id = document.current_revision_id
        revision = None if revision_id is None else await self._store.get_revision(revision_id)
        if revision is None or revision.indexed_at_ms is None:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        wanted = sorted({heading_key(text) for text in headings or ()})
        binding = bind([document.id, revision.id, revision.indexed_at_ms, wanted])
        first_place = 0 if cursor is None else self._place(cursor, binding)
        selection = await self._selection(revision.id, headings)
        head = await self._read(revision.id, selection, first_place, block_limit or _BATCH_BLOCKS)
        selection = selection.within(head.total)
        envelope = compact_json(
            {**({} if head.title is None else {"title": head.title}), "metadata": head.metadata, "blocks": []}
        )
        room = self._max_chars - len(envelope)
        if room < 0:
            raise KnowledgeError(
                "DOCUMENT_BLOCK_TOO_LARGE", "This document's metadata is larger than one answer may be."
            )

        taken: list[str] = []
        async for block in self._blocks_from(head, revision.id, selection, first_place):
            text = compact_json(block_to_json(block))
            room -= len(text) + bool(taken)  # a comma before all but the first
            if room < 0 and not taken:
                raise self._too_large(block, len(text), binding, first_place)
            if room < 0:
                break
            taken.append(text)
            if len(taken) == block_limit:
                break
        next_place = first_place + len(taken)
        return DocumentPage(
            document=document,
            body=f"{envelope.removesuffix(']}')}{','.join(taken)}]}}",
            returned_blocks=len(taken),
            total_blocks=selection.size,
            next_cursor=self._cursor(binding, next_place) if next_place < selection.size else None,
        )

    async def chunk(self, document_id: str, chunk_id: str) -> StoredChunk:
        """A chunk of a given document. Raises CHUNK_NOT_FOUND.

        Documents made of the same bytes share chunk ids, so the store may know the id from another document first.
        """
        found = await self._store.find_chunk(chunk_id)
        if found is not None and found.document_id != document_id:
            twins = await self._store.chunk_range(document_id, found.sequence, found.sequence)
            found = next((item for item in twins if item.id == chunk_id), None)
        if found is None:
            raise KnowledgeError("CHUNK_NOT_FOUND")
        return found

    async def around(self, document_id: str, chunk_id: str, expand: Expand) -> tuple[StoredChunk, Expansion]:
        """A chunk of a given document, with the text around it. Raises CHUNK_NOT_FOUND."""
        chunk = await self.chunk(document_id, chunk_id)
        try:
            found = await expanded(self._store, expand, chunk)
        except VanishedError:
            raise KnowledgeError("CHUNK_NOT_FOUND") from None
        return chunk, found or Expansion(chunk.content, 0, len(chunk.content))

    async def _selection(self, revision_id: str, headings: Sequence[str] | None) -> Selection:
        if not headings:
            return WHOLE_DOCUMENT
        outline = await self._store.outline(revision_id)
        if outline is None:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return select_sections(outline, headings)

    async def _read(self, revision_id: str, selection: Selection, place: int, limit: int) -> BlockPage:
        """The selected blocks from a place to the end of their run, at most `limit` of them."""
        block, run = selection.run_at(place)
        page = await self._store.block_page(revision_id, block, max(1, min(run, limit)))
        if page is None:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return page

    async def _blocks_from(
        self, head: BlockPage, revision_id: str, selection: Selection, place: int
    ) -> AsyncIterator[Block]:
        """The selected blocks from a place on; `head` are those already read, more are read as they are needed."""
        page = head
        while place < selection.size and page.blocks:
            for block in page.blocks:
                yield block
            place += len(page.blocks)
            if place < selection.size:
                page = await self._read(revision_id, selection, place, _BATCH_BLOCKS)

    def _cursor(self, binding: str, place: int) -> str:
        return self._cursors.make(_CURSOR_KIND, [binding, place])

    def _place(self, cursor: str, binding: str) -> int:
        made_for, place = self._cursors.read(_CURSOR_KIND, cursor)
        if made_for != binding:
            raise KnowledgeError("CURSOR_STALE")
        return int(place)

    def _too_large(self, block: Block, chars: int, binding: str, place: int) -> KnowledgeError:
        return KnowledgeError(
            "DOCUMENT_BLOCK_TOO_LARGE",
            f"The next block, a {block.type} of {chars:,} characters, is larger than one answer may be "
            f"({self._max_chars:,}). Search finds the passages in it; "
            f"block_cursor {self._cursor(binding, place + 1)} reads on after it.",
        )
