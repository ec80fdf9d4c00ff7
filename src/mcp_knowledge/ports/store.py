"""Documents, their revisions and what is in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_knowledge.domain.blocks import Block, NormalizedDocument
from mcp_knowledge.domain.documents import (
    Chunk,
    Collection,
    Document,
    DocumentStatus,
    IndexVersions,
    Job,
    JobStatus,
    Metadata,
    Revision,
    StoredChunk,
)
from mcp_knowledge.ports.listing import DocumentQuery
from mcp_knowledge.ports.terms import UNSET, Position, Unset, Vector


@dataclass(frozen=True, slots=True)
class NewDocument:
    """An upload that was stored: its blob is in place under `blob_key` before the row is written.

    Args:
        replaces: id of a document that is deleted, in the same transaction, when this one becomes ready. Both may have
            the same bytes.
    """

    id: str
    revision_id: str
    title: str
    original_filename: str
    mime_type: str
    extension: str
    size_bytes: int
    sha256: str
    blob_key: str
    collection_id: str | None = None
    metadata: Metadata | None = None
    source_path: str | None = None
    source_url: str | None = None
    replaces: str | None = None

    def as_revision(self, document_id: str) -> "NewRevision":
        """The same upload, as a newer original of a document."""
        return NewRevision(
            id=self.revision_id,
            document_id=document_id,
            original_filename=self.original_filename,
            mime_type=self.mime_type,
            extension=self.extension,
            size_bytes=self.size_bytes,
            sha256=self.sha256,
            blob_key=self.blob_key,
        )


@dataclass(frozen=True, slots=True)
class NewRevision:
    """A newer original for an existing document, its blob in place."""

    id: str
    document_id: str
    original_filename: str
    mime_type: str
    extension: str
    size_bytes: int
    sha256: str
    blob_key: str


@dataclass(frozen=True, slots=True)
class IndexedRevision:
    """Everything that makes a revision searchable; written, with the end of its job, in one transaction.

    Args:
        job: the claimed job; its attempt is the fencing token.
        title: the document's title from now on (properties, first heading or file name), kept if the user set one.
        chunks: in sequence order; `vectors` float32 [len(chunks), dimensions], L2-normalised.
        document_metadata: document properties, stored under `document.*` without overriding the user's.
    """

    job: Job
    title: str
    normalized: NormalizedDocument
    document_metadata: Metadata
    chunks: Sequence[Chunk]
    vectors: Vector
    versions: IndexVersions


@dataclass(frozen=True, slots=True)
class BlockPage:
    """Consecutive blocks of a normalized document; `first` counts from 0, `total` is the document's.

    `title` and `metadata` are the normalized document's own.
    """

    first: int
    total: int
    blocks: tuple[Block, ...]
    title: str | None
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading of a normalized document and the index of its block."""

    block: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The figures of the status page.

    Args:
        stale: how many documents were made with which versions that are none of the present ones.
    """

    documents: dict[DocumentStatus, int]
    failed_by_code: dict[str, int]
    jobs: dict[JobStatus, int]
    chunks: int
    stale: dict[IndexVersions, int]
    active_workers: int

    @property
    def stale_documents(self) -> int:
        """All of them."""
        return sum(self.stale.values())


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether the database answers, its driver, its size in bytes and the number of its newest migration.

    Args:
        migrated: its schema is the one that this process began with, or a newer one.
    """

    driver: str
    healthy: bool
    size_bytes: int
    migration: int
    migrated: bool = True


class Store(Protocol):
    """Rows: collections, documents, revisions, normalized blocks, chunks. Every write is one transaction."""

    async def health(self) -> StoreHealth:
        """Never raises: a database that does not answer is unhealthy."""
        ...

    async def counts(self, current: Sequence[IndexVersions]) -> Counts:
        """Figures for status and metrics.

        Args:
            current: the versions in use now, one for each parser; documents made with none of these are stale.
        """
        ...

    async def originals_bytes(self) -> int:
        """The size of all originals, those of former revisions included."""
        ...

    async def generation(self) -> int:
        """The corpus generation: rises in the transaction of every change that a reader of the catalog could see."""
        ...

    async def fingerprint(self) -> str | None:
        """The embedding fingerprint that all searchable vectors were made with; that of no model when they are of
        several; None while nothing is indexed.
        """
        ...

    # Collections
    async def create_collection(self, name: str, description: str | None) -> Collection:
        """Raises COLLECTION_EXISTS when the name is taken (case-insensitively, Unicode included)."""
        ...

    async def get_collection(self, collection_id: str) -> Collection | None:
        """None when there is no such collection."""
        ...

    async def find_collection(self, name: str) -> Collection | None:
        """The one with this name, without regard to case; None when there is none."""
        ...

    async def list_collections(self, limit: int, after: Position | None = None) -> list[Collection]:
        """Newest first; up to `limit`. `after` is the last page's (created_at_ms, id)."""
        ...

    async def update_collection(
        self, collection_id: str, name: str | Unset = UNSET, description: str | Unset | None = UNSET
    ) -> Collection:
        """Raises COLLECTION_NOT_FOUND or COLLECTION_EXISTS."""
        ...

    async def delete_collection(self, collection_id: str) -> None:
        """Raises COLLECTION_NOT_FOUND, or COLLECTION_NOT_EMPTY while live documents are in it."""
        ...

    async def move_documents(self, collection_id: str, target_id: str | None) -> int:
        """Move all live documents of a collection into another, or into none (None); how many there were.

        Raises COLLECTION_NOT_FOUND, also for the target.
        """
        ...

    # Documents
    async def find_by_sha256(self, sha256: str) -> Document | None:
        """The live document (not deleting or deleted) that shows these bytes, or will when its job is done."""
        ...

    async def create_document(self, new: NewDocument) -> tuple[Document, bool]:
        """Write document, revision 1 and its ingest job. When a live document has the same bytes: that one and
        True, nothing written.

        Raises COLLECTION_NOT_FOUND.
        """
        ...

    async def create_revision(self, new: NewRevision) -> tuple[Document, int]:
        """Write a newer revision and its job; (document, the new number). An older waiting job of the document is
        cancelled.

        Raises DOCUMENT_NOT_FOUND.
        """
        ...

    async def reindex_document(self, document_id: str) -> Job:
        """Queue the current revision again, or the newest before any is ready. A newer one that failed stays failed.

        Raises DOCUMENT_NOT_FOUND, or DOCUMENT_BUSY while a job for it is active.
        """
        ...

    async def reindex_documents(
        self, after_id: str, limit: int, stale_to: Sequence[IndexVersions] = ()
    ) -> tuple[list[str], str | None]:
        """`reindex_document` for up to `limit` documents by id after `after_id`; their jobs let every other job go
        first. With `stale_to`, only searchable documents that were made with none of these versions.

        The ids of those queued (documents with an active job are passed over), and the id to go on after, None at the
        end.
        """
        ...

    async def get_document(self, document_id: str) -> Document | None:
        """None also for deleting and deleted documents."""
        ...

    async def was_deleted(self, document_id: str) -> bool:
        """Whether there was such a document until it was deleted."""
        ...

    async def get_documents(self, document_ids: Iterable[str]) -> dict[str, Document]:
        """The live ones among the ids."""
        ...

    async def list_documents(self, query: DocumentQuery) -> list[Document]:
        """One page, in the query's order, ties by id in the same direction; up to `limit`."""
        ...

    async def stale_documents(
        self, current: Sequence[IndexVersions], limit: int, after_id: str = ""
    ) -> list[tuple[Document, IndexVersions]]:
        """Searchable documents made with none of the `current` versions, by id after `after_id`, and what made them."""
        ...

    async def document_ids(self, query: DocumentQuery, after_id: str = "") -> list[str]:
        """Ids of the query's documents, by id after `after_id`; up to its limit. Its sort and place do not count."""
        ...

    async def count_documents(self, query: DocumentQuery) -> dict[DocumentStatus, int]:
        """How many documents the query has, by status."""
        ...

    async def document_formats(self) -> dict[str, int]:
        """How many live documents there are of each extension."""
        ...

    async def update_document(
        self,
        document_id: str,
        title: str | Unset = UNSET,
        collection_id: str | Unset | None = UNSET,
        metadata: Metadata | Unset = UNSET,
    ) -> Document:
        """Search, filters and the title's lexical field see it at once. Raises DOCUMENT_NOT_FOUND,
        COLLECTION_NOT_FOUND.
        """
        ...

    async def delete_document(self, document_id: str) -> None:
        """Out of lists and search at once; cancels its jobs and queues a delete job. Raises DOCUMENT_NOT_FOUND."""
        ...

    async def finish_delete(self, job: Job) -> bool:
        """Remove chunks, index entries, normalized blocks and revisions; leave the row as a `deleted` tombstone;
        complete the job.

        False when the job was lost to another worker (nothing written).
        """
        ...

    async def purge_documents(self) -> list[str]:
        """Remove every document, revision, chunk, job and import of an archive; the blob keys to delete."""
        ...

    async def blob_keys(self) -> set[str]:
        """Every blob key that a revision or an unfinished import of an archive holds."""
        ...

    # Revisions and their content
    async def list_revisions(self, document_id: str) -> list[Revision]:
        """Newest first."""
        ...

    async def get_revision(self, revision_id: str) -> Revision | None:
        """None when there is no such revision."""
        ...

    async def reusable_vectors(
        self, document_id: str, embedding_texts: Sequence[str], fingerprint: str
    ) -> dict[str, Vector]:
        """Vectors, by embedding text, that this document's live chunks have from the model of this fingerprint, or
        that were kept for it.
        """
        ...

    async def keep_vectors(self, job: Job, embedding_texts: Sequence[str], vectors: Vector, fingerprint: str) -> bool:
        """Keep vectors of a document that is not complete, for another attempt; they go when it is indexed.

        False when the job was lost to another worker (nothing written).
        """
        ...

    async def index_revisions(self, items: Sequence[IndexedRevision], fingerprint: str) -> list[bool]:
        """Make revisions searchable, all in one transaction: chunks, full text, vectors, blocks, versions, title,
        end of job.

        The document's former chunks go in the same transaction. Item by item: False when the job was lost or the
        document is
        gone (nothing of that item is written).
        """
        ...

    async def block_page(self, revision_id: str, first: int, limit: int) -> BlockPage | None:
        """Blocks of a revision's normalized document, reading no more than the page; None when there is none."""
        ...

    async def outline(self, revision_id: str) -> list[OutlineEntry] | None:
        """The headings of a revision's normalized document, in order; None when there is none."""
        ...

    async def list_chunks(self, document_id: str, limit: int, after_sequence: int = -1) -> list[StoredChunk]:
        """Chunks of the current revision by sequence."""
        ...

    async def get_passages(self, chunk_nos: Iterable[int]) -> tuple[dict[int, StoredChunk], dict[str, Document]]:
        """Those of the given chunks that are still searchable, and their documents by id, both as of one moment."""
        ...

    async def find_chunk(self, chunk_id: str) -> StoredChunk | None:
        """The searchable chunk with this public id."""
        ...

    async def chunk_range(self, document_id: str, first_sequence: int, last_sequence: int) -> list[StoredChunk]:
        """Chunks of the current revision from first to last, both included."""
        ...

    async def section_chunks(self, document_id: str, heading_path: tuple[str, ...]) -> list[StoredChunk]:
        """All chunks of the current revision under a heading path (the path itself and what lies below it), by
        sequence.
        """
        ...
