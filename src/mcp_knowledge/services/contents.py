"""What is inside a document: its originals, its normalized form and its chunks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Document, Revision, StoredChunk
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, BlockPage, OutlineEntry, PassageStore, Store

MAX_CHUNK_NEIGHBOURS = 5
_BLOCKS_AT_ONCE = 100  # some 50 KB of JSON; the largest documents have 250 times as much
_PAGES_AT_ONCE = 4  # more would only wait for the processor, with all their blocks in memory


@dataclass(frozen=True, slots=True)
class Original:
    """A document with the revision whose original bytes it shows."""

    document: Document
    revision: Revision


class Contents:
    """Reads what documents consist of."""

    def __init__(self, store: Store, blobs: BlobStore, passages: PassageStore) -> None:
        self._store, self._blobs, self._passages = store, blobs, passages
        self._turn = asyncio.Semaphore(_PAGES_AT_ONCE)

    async def revisions(self, document_id: str) -> list[Revision]:
        """Newest first. Raises DOCUMENT_NOT_FOUND."""
        await self._document(document_id)
        return await self._store.list_revisions(document_id)

    async def original(self, document_id: str, revision_id: str | None = None) -> Original:
        """The document and one of its revisions: without an id the one it shows, which is the current one, or the
        newest before any is ready.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, REVISION_NOT_FOUND, DOCUMENT_CONTENT_UNAVAILABLE.
        """
        document = await self._document(document_id)
        revisions = await self._store.list_revisions(document_id)
        wanted = revision_id or document.current_revision_id
        shown = [item for item in revisions if item.id == wanted]
        if revision_id is not None and not shown:
            raise KnowledgeError("REVISION_NOT_FOUND")
        shown = shown or revisions[:1]
        if not shown:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return Original(document, shown[0])

    def read_original(self, original: Original, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """The original's bytes from `start`, in pieces. Raises DOCUMENT_CONTENT_UNAVAILABLE before the first, also
        when the original is shorter or longer than what was taken in.
        """
        revision = original.revision
        return self._blobs.read(revision.blob_key, start, length, of_bytes=revision.size_bytes)

    async def normalized(self, document_id: str, write: Callable[[BlockPage], bytes]) -> AsyncIterator[bytes]:
        """The current revision's normalized document in pieces, at least one. However many ask for it, and read it or
        not, few blocks are in memory: what waits for its reader is bytes.

        Args:
            write: makes a piece of a page; called off the event loop.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND and DOCUMENT_CONTENT_UNAVAILABLE before the first piece; the latter also
                later, when the document changes meanwhile.
        """
        revision_id = (await self._document(document_id)).current_revision_id or ""
        first, total = 0, 1
        while first < total:
            async with self._turn:
                page = await self.blocks(revision_id, first, _BLOCKS_AT_ONCE)
                total = page.total
                if len(page.blocks) < min(_BLOCKS_AT_ONCE, total - first):
                    raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
                piece = await asyncio.to_thread(write, page)
                del page
            yield piece
            first += _BLOCKS_AT_ONCE

    async def blocks(self, revision_id: str, first: int, limit: int) -> BlockPage:
        """Blocks of a revision's normalized document, from `first` (0 is the first). Raises
        DOCUMENT_CONTENT_UNAVAILABLE.
        """
        page = await self._store.block_page(revision_id, first, limit)
        if page is None:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return page

    async def outline(self, revision_id: str) -> list[OutlineEntry]:
        """The headings of a revision's normalized document; none when there is no document."""
        return await self._store.outline(revision_id) or []

    async def section_start(self, document_id: str, heading_path: tuple[str, ...]) -> int | None:
        """The sequence of the first chunk under a heading path, or under the nearest heading above that has any."""
        for depth in range(len(heading_path), 0, -1):
            found = await self._passages.section_start(document_id, heading_path[:depth])
            if found is not None:
                return found
        return None

    async def chunks(
        self, document_id: str, limit: int, after_sequence: int = -1
    ) -> tuple[list[StoredChunk], int | None]:
        """A page of the current revision's chunks, and the sequence after which the next goes on.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND.
        """
        await self._document(document_id)
        found = await self._store.list_chunks(document_id, limit + 1, after_sequence)
        items = found[:limit]
        return items, items[-1].sequence if len(found) > limit else None

    async def chunk_with_neighbours(self, chunk_id: str, before: int = 0, after: int = 0) -> list[StoredChunk]:
        """A chunk with up to MAX_CHUNK_NEIGHBOURS around it on each side, in order. Raises CHUNK_NOT_FOUND."""
        chunk = await self._store.find_chunk(chunk_id)
        if chunk is None:
            raise KnowledgeError("CHUNK_NOT_FOUND")
        if before == after == 0:
            return [chunk]
        first = max(0, chunk.sequence - min(before, MAX_CHUNK_NEIGHBOURS))
        last = chunk.sequence + min(after, MAX_CHUNK_NEIGHBOURS)
        around = await self._store.chunk_range(chunk.document_id, first, last)
        # The document may have changed its revision between the two reads: never answer without the chunk itself.
        return around if any(item.chunk_no == chunk.chunk_no for item in around) else [chunk]

    async def _document(self, document_id: str) -> Document:
        document = await self._store.get_document(document_id)
        if document is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        return document
