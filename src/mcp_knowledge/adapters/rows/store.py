"""The store: each method is one read snapshot or one write transaction."""

import asyncio
from collections.abc import Iterable, Sequence

import numpy as np

from mcp_knowledge.adapters.rows import (
    chunks,
    collections,
    content,
    documents,
    early_vectors,
    figures,
    indexing,
    listing,
    revisions,
    sql,
    stale,
)
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.domain.documents import (
    Collection,
    Document,
    DocumentStatus,
    IndexVersions,
    Job,
    Metadata,
    Revision,
    StoredChunk,
)
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import (
    UNSET,
    BlockPage,
    Counts,
    DocumentQuery,
    IndexedRevision,
    NewDocument,
    NewRevision,
    OutlineEntry,
    Position,
    StoreHealth,
    Unset,
    Vector,
)

_DAMAGED_INDEX = (
    "The database is damaged: a passage has no document. Stop the service and run 'mcp-knowledge verify', which says "
    "what to do."
)


class SqlStore:
    """Collections, documents, revisions, normalized blocks and chunks; `ports.Store` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read = database.read
        self._write = database.write
        self._document_figures: figures.DocumentFigures | None = None
        self._document_formats: listing.Formats | None = None

    async def health(self) -> StoreHealth:
        """Whether the database answers."""
        database = self._database
        try:
            migration = await self._read(_migration)
            await database.check()
            size_bytes = await database.size_bytes()
        except Exception:
            return StoreHealth(database.driver, False, 0, database.migration, False)
        return StoreHealth(database.driver, True, size_bytes, migration, migration >= database.migration > 0)

    async def counts(self, current: Sequence[IndexVersions]) -> Counts:
        """The figures of the status page."""
        known = self._document_figures

        def read(connection: Connection) -> tuple[figures.DocumentFigures, Counts]:
            found = figures.document_figures(connection, current, known)
            return found, figures.counts(connection, found)

        self._document_figures, counts = await self._read(read)
        return counts

    async def originals_bytes(self) -> int:
        """The size of all originals."""
        return await self._read(figures.originals_bytes)

    async def generation(self) -> int:
        """The corpus generation."""
        return int(await self._read(lambda c: sql.meta_value(c, "generation")))

    async def fingerprint(self) -> str | None:
        """The model of the stored vectors."""
        value: str | None = await self._read(lambda c: sql.meta_value(c, "fingerprint"))
        return value

    async def create_collection(self, name: str, description: str | None) -> Collection:
        """Make a collection."""
        return await self._write(lambda c: collections.create_collection(c, name, description))

    async def get_collection(self, collection_id: str) -> Collection | None:
        """One collection."""
        return await self._read(lambda c: collections.get_collection(c, collection_id))

    async def find_collection(self, name: str) -> Collection | None:
        """By name."""
        return await self._read(lambda c: collections.find_collection(c, name))

    async def list_collections(self, limit: int, after: Position | None = None) -> list[Collection]:
        """Newest first."""
        return await self._read(lambda c: collections.list_collections(c, limit, after))

    async def update_collection(
        self, collection_id: str, name: str | Unset = UNSET, description: str | Unset | None = UNSET
    ) -> Collection:
        """Rename or describe."""
        return await self._write(lambda c: collections.update_collection(c, collection_id, name, description))

    async def delete_collection(self, collection_id: str) -> None:
        """Remove an empty collection."""
        await self._write(lambda c: collections.delete_collection(c, collection_id))

    async def move_documents(self, collection_id: str, target_id: str | None) -> int:
        """Empty a collection into another."""
        return await self._write(lambda c: collections.move_documents(c, collection_id, target_id))

    async def find_by_sha256(self, sha256: str) -> Document | None:
        """The live document with these bytes."""
        return await self._read(lambda c: documents.find_by_sha256(c, sha256))

    async def create_document(self, new: NewDocument) -> tuple[Document, bool]:
        """Write a document and its job, or give back the live one with the same bytes."""
        return await self._write(lambda c: documents.create_document(c, new))

    async def create_revision(self, new: NewRevision) -> tuple[Document, int]:
        """Write a newer revision and its job."""
        return await self._write(lambda c: revisions.create_revision(c, new))

    async def reindex_document(self, document_id: str) -> Job:
        """Queue the newest revision again."""
        return await self._write(lambda c: revisions.reindex_document(c, document_id))

    async def reindex_documents(
        self, after_id: str, limit: int, stale_to: Sequence[IndexVersions] = ()
    ) -> tuple[list[str], str | None]:
        """Queue the next documents in the background."""
        return await self._write(lambda c: revisions.reindex_documents(c, after_id, limit, stale_to))

    async def stale_documents(
        self, current: Sequence[IndexVersions], limit: int, after_id: str = ""
    ) -> list[tuple[Document, IndexVersions]]:
        """The next documents that other versions made."""
        return await self._read(lambda c: stale.list_stale(c, current, limit, after_id))

    async def get_document(self, document_id: str) -> Document | None:
        """One live document."""
        return await self._read(lambda c: documents.get_document(c, document_id))

    async def was_deleted(self, document_id: str) -> bool:
        """Whether it is deleting or deleted."""
        return await self._read(lambda c: documents.was_deleted(c, document_id))

    async def get_documents(self, document_ids: Iterable[str]) -> dict[str, Document]:
        """The live ones among the ids."""
        ids = list(document_ids)
        return await self._read(lambda c: documents.get_documents(c, ids))

    async def list_documents(self, query: DocumentQuery) -> list[Document]:
        """One page."""
        return await self._read(lambda c: listing.list_documents(c, query))

    async def document_ids(self, query: DocumentQuery, after_id: str = "") -> list[str]:
        """Ids in their own order."""
        return await self._read(lambda c: listing.document_ids(c, query, after_id))

    async def count_documents(self, query: DocumentQuery) -> dict[DocumentStatus, int]:
        """By status."""
        return await self._read(lambda c: listing.count_documents(c, query))

    async def document_formats(self) -> dict[str, int]:
        """By extension."""
        known = self._document_formats
        self._document_formats = found = await self._read(lambda c: listing.document_formats(c, known))
        return dict(found.counts)

    async def update_document(
        self,
        document_id: str,
        title: str | Unset = UNSET,
        collection_id: str | Unset | None = UNSET,
        metadata: Metadata | Unset = UNSET,
    ) -> Document:
        """Change title, collection or metadata."""
        return await self._write(lambda c: documents.update_document(c, document_id, title, collection_id, metadata))

    async def delete_document(self, document_id: str) -> None:
        """Take a document out of sight and queue its removal."""
        await self._write(lambda c: documents.delete_document(c, document_id))

    async def finish_delete(self, job: Job) -> bool:
        """Leave the tombstone only."""
        return await self._write(lambda c: indexing.finish_delete(c, job))

    async def purge_documents(self) -> list[str]:
        """Remove every document."""
        return await self._write(documents.purge_documents)

    async def blob_keys(self) -> set[str]:
        """Every blob key in use."""
        return await self._read(revisions.blob_keys)

    async def list_revisions(self, document_id: str) -> list[Revision]:
        """Newest first."""
        return await self._read(lambda c: revisions.list_revisions(c, document_id))

    async def get_revision(self, revision_id: str) -> Revision | None:
        """One revision."""
        return await self._read(lambda c: revisions.get_revision(c, revision_id))

    async def reusable_vectors(
        self, document_id: str, embedding_texts: Sequence[str], fingerprint: str
    ) -> dict[str, Vector]:
        """Vectors that need not be computed again."""
        return await self._read(lambda c: indexing.reusable_vectors(c, document_id, embedding_texts, fingerprint))

    async def keep_vectors(self, job: Job, embedding_texts: Sequence[str], vectors: Vector, fingerprint: str) -> bool:
        """Make sure of vectors before their document is complete."""
        passages = early_vectors.passage_keys(embedding_texts, fingerprint)
        rows = [vector.tobytes() for vector in np.asarray(vectors, "<f4")]
        return await self._write(lambda c: early_vectors.keep(c, job, passages, rows))

    async def index_revisions(self, items: Sequence[IndexedRevision], fingerprint: str) -> list[bool]:
        """Make revisions searchable in one transaction."""
        packed = await asyncio.to_thread(lambda: [indexing.pack(item) for item in items])
        return await self._write(lambda c: indexing.index_revisions(c, packed, fingerprint))

    async def block_page(self, revision_id: str, first: int, limit: int) -> BlockPage | None:
        """Consecutive blocks."""
        return await self._read(lambda c: content.block_page(c, revision_id, first, limit))

    async def outline(self, revision_id: str) -> list[OutlineEntry] | None:
        """The headings."""
        return await self._read(lambda c: content.outline(c, revision_id))

    async def list_chunks(self, document_id: str, limit: int, after_sequence: int = -1) -> list[StoredChunk]:
        """A page by sequence."""
        return await self._read(lambda c: chunks.list_chunks(c, document_id, limit, after_sequence))

    async def get_passages(self, chunk_nos: Iterable[int]) -> tuple[dict[int, StoredChunk], dict[str, Document]]:
        """Those still searchable, with their documents. Raises SERVICE_UNAVAILABLE when the database is damaged."""
        numbers = list(chunk_nos)

        def read(connection: Connection) -> tuple[dict[int, StoredChunk], dict[str, Document]]:
            found = chunks.get_chunks(connection, numbers)
            ids = {chunk.document_id for chunk in found.values()}
            owners = documents.get_documents(connection, list(ids))
            if owners.keys() != ids:  # in one snapshot: an index misses what its table has
                raise KnowledgeError("SERVICE_UNAVAILABLE", _DAMAGED_INDEX)
            return found, owners

        return await self._read(read)

    async def find_chunk(self, chunk_id: str) -> StoredChunk | None:
        """By public id."""
        return await self._read(lambda c: chunks.find_chunk(c, chunk_id))

    async def chunk_range(self, document_id: str, first_sequence: int, last_sequence: int) -> list[StoredChunk]:
        """By sequence, both ends included."""
        return await self._read(lambda c: chunks.chunk_range(c, document_id, first_sequence, last_sequence))

    async def section_chunks(self, document_id: str, heading_path: tuple[str, ...]) -> list[StoredChunk]:
        """Everything under a heading path."""
        return await self._read(lambda c: chunks.section_chunks(c, document_id, heading_path))


def _migration(connection: Connection) -> int:
    """The number of the newest migration now, of a database in which the corpus can be read."""
    sql.meta_value(connection, "generation")
    row = sql.first_row(connection, connection.dialect.newest_migration)
    return int(row[0]) if row else 0
