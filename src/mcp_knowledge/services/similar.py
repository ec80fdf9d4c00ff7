"""Passages that mean nearly the same as a given one, by the vectors that are stored: nothing is embedded for it."""

from dataclasses import dataclass

import numpy as np

from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.search import Candidate, Scope
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import PassageStore, Store, VectorIndex
from mcp_knowledge.services.reading import Reading

_FIRST_POOL = 32  # neighbours beyond those wanted, as the passage's own document is among them
_POOL_FACTOR = 4
_MAX_POOL = 4096  # a document with more passages nearer than any other's hides the others
_CENTRE_PASSAGES = 256  # of a document, from its beginning, among which the most central one is looked for


@dataclass(frozen=True, slots=True)
class SimilarPassage:
    """A passage of another document. `score`: the cosine of both vectors, up to 1."""

    chunk: StoredChunk
    document: Document
    score: float


@dataclass(frozen=True, slots=True)
class SimilarPassages:
    """What was found for a passage, nearest first."""

    passage: StoredChunk
    items: tuple[SimilarPassage, ...]


class Similar:
    """Finds passages by a passage."""

    def __init__(self, store: Store, reading: Reading, vectors: VectorIndex, stored: PassageStore) -> None:
        self._store, self._reading = store, reading
        self._vectors, self._stored = vectors, stored

    async def to_passage(self, chunk_id: str, limit: int, document_id: str | None = None) -> SimilarPassages:
        """Passages of other documents, nearest first.

        Args:
            document_id: whose passage it is: documents made of the same bytes share chunk ids.

        Raises:
            KnowledgeError: CHUNK_NOT_FOUND; EMBEDDING_MISMATCH when another model embedded its document.
        """
        if document_id is None:
            found = await self._store.find_chunk(chunk_id)
            if found is None:
                raise KnowledgeError("CHUNK_NOT_FOUND")
        else:
            found = await self._reading.chunk(document_id, chunk_id)
        own = await self._stored.vectors(found.document_id, found.sequence, found.sequence)
        vector = own.get(found.id)
        if vector is None:
            await self._reading.chunk(found.document_id, found.id)  # it may have gone meanwhile
            raise KnowledgeError("EMBEDDING_MISMATCH")
        pool = limit + _FIRST_POOL
        while True:
            candidates = await self._vectors.search(vector, pool, Scope())
            items = await self._of_others(candidates, found.document_id)
            if len(items) >= limit or len(candidates) < pool or pool >= _MAX_POOL:
                return SimilarPassages(found, tuple(items[:limit]))
            pool = min(pool * _POOL_FACTOR, _MAX_POOL)

    async def central_passage(self, document_id: str) -> str:
        """The id of the passage that is nearest to all others of its document: what the document is most about.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND; DOCUMENT_CONTENT_UNAVAILABLE while it has no passages;
                EMBEDDING_MISMATCH.
        """
        document = await self._store.get_document(document_id)
        if document is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        vectors = await self._stored.vectors(document_id, 0, _CENTRE_PASSAGES - 1)
        if not vectors:
            has_passages = bool(await self._store.list_chunks(document_id, 1))
            raise KnowledgeError("EMBEDDING_MISMATCH" if has_passages else "DOCUMENT_CONTENT_UNAVAILABLE")
        matrix = np.stack(list(vectors.values()))
        return list(vectors)[int(np.argmax(matrix @ matrix.mean(axis=0)))]

    async def _of_others(self, candidates: list[Candidate], document_id: str) -> list[SimilarPassage]:
        chunks, documents = await self._store.get_passages(item.chunk_no for item in candidates)
        return [
            SimilarPassage(chunk, documents[chunk.document_id], min(1.0, item.score))
            for item in candidates
            if (chunk := chunks.get(item.chunk_no)) is not None and chunk.document_id != document_id
        ]
