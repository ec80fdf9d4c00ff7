"""What services need from the outside world. Each Protocol has, or will have, two implementations.

Every method may be called from the event loop: none blocks it. Failures a client may see are `KnowledgeError`s.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mcp_knowledge.domain.blocks import Block, NormalizedDocument
from mcp_knowledge.domain.documents import (
    ArchiveEntry,
    ArchiveImport,
    Chunk,
    Collection,
    Document,
    DocumentStatus,
    IndexVersions,
    Job,
    JobStatus,
    Metadata,
    Revision,
    Stage,
    StoredChunk,
)
from mcp_knowledge.domain.downloads import Download
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile, ScanStatus
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

Vector = NDArray[np.float32]


class Unset:
    """The type of UNSET."""


UNSET = Unset()  # "leave this field as it is", where None would mean "clear it"

DocumentSort = Literal["createdAt", "updatedAt", "title", "sizeBytes"]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a keyset page goes on: the last item's sort value and its id."""

    value: int | str
    id: str


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """Which documents to list, in which order. Without `statuses`, all but deleting and deleted ones."""

    collection_id: str | None = None
    statuses: tuple[DocumentStatus, ...] = ()
    search: str | None = None
    filters: tuple[Filter, ...] = ()
    sort: DocumentSort = "createdAt"
    descending: bool = True
    limit: int = 50
    after: Position | None = None


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
    """The figures of the status page."""

    documents: dict[DocumentStatus, int]
    failed_by_code: dict[str, int]
    jobs: dict[JobStatus, int]
    chunks: int
    stale_documents: int
    active_workers: int


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether the database answers, its driver, its size in bytes and the number of its newest migration."""

    driver: str
    healthy: bool
    size_bytes: int
    migration: int


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

    async def reindex_documents(self, after_id: str, limit: int) -> tuple[list[str], str | None]:
        """`reindex_document` for up to `limit` documents by id after `after_id`; their jobs let every other job go
        first.

        The ids of those queued (documents with an active job are passed over), and the id to go on after, None at the
        end.
        """
        ...

    async def get_document(self, document_id: str) -> Document | None:
        """None also for deleting and deleted documents."""
        ...

    async def get_documents(self, document_ids: Iterable[str]) -> dict[str, Document]:
        """The live ones among the ids."""
        ...

    async def list_documents(self, query: DocumentQuery) -> list[Document]:
        """One page, in the query's order, ties by id in the same direction; up to `limit`."""
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

    async def normalized(self, revision_id: str) -> NormalizedDocument | None:
        """The whole normalized document; None when there is none."""
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


class LexicalIndex(Protocol):
    """BM25 over title, headings and content (weights 8, 4, 1), of searchable chunks only."""

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        """Chunks in which every phrase matches, best first (ties by chunk id)."""
        ...

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        """Chunks in which at least `min_match` of the phrases match, without the chunk numbers in `exclude`, best
        first.
        """
        ...


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, of searchable chunks only, and of those only whose vectors are of the queries'
    model.
    """

    async def load(self) -> int:
        """Bring into memory what searches need, so that the first one need not wait for it; the number of vectors."""
        ...

    async def search(self, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        """The `limit` best chunks in scope (filters before the cut), best first, ties by chunk id.

        Args:
            vector: float32 [dimensions], L2-normalised.
        """
        ...


class JobQueue(Protocol):
    """Durable work with leases. A job's attempt fences: calls with an attempt that is no longer the job's do
    nothing, return False.
    """

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Job]:
        """Take up to `limit` jobs that are due (waiting, or whose lease ran out), oldest first; documents become
        `processing`.

        A job whose last attempt's lease ran out fails with INGESTION_FAILED instead of being claimed again.
        """
        ...

    async def renew(self, job: Job, lease_ms: int) -> bool:
        """Hold the lease for another `lease_ms` from now."""
        ...

    async def progress(self, job: Job, stage: Stage, done: int, total: int) -> bool:
        """Say how far the job has come."""
        ...

    async def fail(self, job: Job, code: str, message: str, retry_after_ms: int | None) -> bool:
        """Record `CODE: message` on job and document. With `retry_after_ms` and attempts left it waits and runs
        again, else it has failed.

        A document with a searchable revision stays `ready`.
        """
        ...

    async def release(self, job: Job) -> bool:
        """Hand a claimed job back unharmed (shutdown): it is due at once and the attempt does not count."""
        ...

    async def retry(self, job_id: str) -> Job:
        """Queue a failed job again with fresh attempts. Raises JOB_NOT_FOUND, JOB_NOT_RETRYABLE."""
        ...

    async def get(self, job_id: str) -> Job | None:
        """None when there is no such job."""
        ...

    async def list(
        self,
        limit: int,
        after: Position | None = None,
        status: JobStatus | None = None,
        document_id: str | None = None,
    ) -> list[Job]:
        """Newest first by (created_at_ms, id)."""
        ...

    async def next_due_ms(self) -> int | None:
        """Unix milliseconds when the next job is due (in the past: now); None when none waits."""
        ...


@dataclass(frozen=True, slots=True)
class NewArchive:
    """A received archive: its blob is in place under `blob_key` before the row is written."""

    id: str
    original_filename: str
    size_bytes: int
    sha256: str
    blob_key: str
    collection_id: str | None = None
    metadata: Metadata | None = None
    source_path: str | None = None
    source_url: str | None = None


class ArchiveStore(Protocol):
    """Imports of archives, and the queue of those that wait. An import's attempt fences: calls with an attempt that
    is no longer its own write nothing, and say so by None or False.
    """

    async def create(self, new: NewArchive) -> ArchiveImport:
        """Queue an import. Raises COLLECTION_NOT_FOUND."""
        ...

    async def get(self, archive_id: str) -> ArchiveImport | None:
        """None when there is no such import."""
        ...

    async def unfinished(self) -> list[ArchiveImport]:
        """Those that wait or are at work, oldest first."""
        ...

    async def entries(
        self, archive_ids: Iterable[str], skipped_limit: int | None = None
    ) -> dict[str, list[ArchiveEntry]]:
        """What became of the files of each of these imports, in the archive's order.

        Args:
            skipped_limit: only files that gave no document of their own, up to this many of each import.
        """
        ...

    async def claim(self, worker: str, lease_ms: int) -> ArchiveImport | None:
        """Take the oldest import that is due (waiting, or whose lease ran out)."""
        ...

    async def renew(self, held: ArchiveImport, lease_ms: int) -> bool:
        """Hold the lease for another `lease_ms` from now."""
        ...

    async def release(self, held: ArchiveImport, after_ms: int = 0, error: str | None = None) -> bool:
        """Hand a claimed import back; it is due in `after_ms`. The error (`CODE: message`) is shown until then."""
        ...

    async def set_file_count(self, held: ArchiveImport, count: int) -> bool:
        """State how many files the archive has."""
        ...

    async def add_document(
        self, held: ArchiveImport, position: int, path: str, new: NewDocument
    ) -> tuple[ArchiveEntry, Document] | None:
        """Write, in one transaction, a file's outcome and what it becomes.

        With the path of a live document that an archive from the same `source_path` brought before: nothing when the
        bytes are equal (duplicate), else that document's next revision. Otherwise a new document, or nothing when a
        live one has the same bytes (duplicate). The blob of a duplicate is the caller's to delete.
        """
        ...

    async def skip(self, held: ArchiveImport, entries: Sequence[ArchiveEntry]) -> bool:
        """Write the outcomes of files that give no document."""
        ...

    async def finish(self, held: ArchiveImport, error: str | None = None) -> ArchiveImport | None:
        """End the import: failed with an error (`CODE: message`), else completed, with errors if a file has failed or
        was oversized. The blob is the caller's to delete.
        """
        ...

    async def list(self, limit: int, after: Position | None = None) -> list[ArchiveImport]:
        """Newest first by (created_at_ms, id)."""
        ...


MemberKind = Literal["file", "directory", "other"]
MemberFault = Literal["damaged", "compression"]


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """An entry of an archive's directory, inflated once and measured.

    Args:
        position: its place in the directory, from 0.
        name: its path as the archive spells it, safe or not.
        kind: `other` is a symbolic link, a device or the like.
        size_bytes: inflated, as measured.
        fault: why its bytes cannot be had: they are damaged, or compressed in a way that is not read.
    """

    position: int
    name: str
    kind: MemberKind
    size_bytes: int
    fault: MemberFault | None = None


class OpenArchive(Protocol):
    """An archive whose directory was read and found within the limits."""

    @property
    def members(self) -> Sequence[ArchiveMember]:
        """In the order of the directory."""
        ...

    async def extract(self, member: ArchiveMember, target: Path) -> str:
        """Write a member's bytes into a new file; their SHA-256 in hexadecimal. Only for a member without a fault.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the disk is full.
        """
        ...


class ArchiveReader(Protocol):
    """Archives as directories of files. Nothing an archive holds makes it take more than the limits allow."""

    async def open(self, path: Path) -> OpenArchive:
        """Read the directory and inflate everything once, so that the limits hold for what is there and not for what
        is declared.

        Raises:
            KnowledgeError: ARCHIVE_TOO_LARGE, ARCHIVE_MALFORMED, ARCHIVE_ENCRYPTED.
        """
        ...


class FolderStore(Protocol):
    """What is known of the files of the scanned folder. A file's row is written in one transaction with what the file
    becomes, so that a scan that was killed doubles nothing.
    """

    async def files(self, paths: Iterable[str]) -> dict[str, FolderFile]:
        """The known ones among the paths."""
        ...

    async def same_bytes(self, sha256: str, limit: int) -> list[FolderFile]:
        """Files that had these bytes when they were taken in, by path, duplicates last."""
        ...

    async def page(self, limit: int, after_path: str | None = None) -> list[FolderFile]:
        """Files by path, up to `limit`."""
        ...

    async def passed_over(
        self, limit: int, after_path: str | None = None, outcomes: Sequence[FileOutcome] = PASSED_OVER
    ) -> list[FolderFile]:
        """Files of these outcomes by path. One whose document or archive could not be read is `failed` here, with that
        reason.
        """
        ...

    async def count_passed_over(self) -> dict[FileOutcome, int]:
        """How many files `passed_over` has, by outcome."""
        ...

    async def write(self, items: Iterable[FolderFile]) -> None:
        """Remember files."""
        ...

    async def forget(self, paths: Iterable[str]) -> None:
        """Remember files no longer; documents stay."""
        ...

    async def add_document(self, new: NewDocument, file: FolderFile) -> tuple[Document, bool]:
        """As `Store.create_document`, and remember the file as `document` or `duplicate`."""
        ...

    async def add_revision(
        self, new: NewRevision, file: FolderFile, former_path: str | None = None
    ) -> tuple[Document, int]:
        """As `Store.create_revision`, and remember the file; the document moves here from `former_path`.

        Raises DOCUMENT_NOT_FOUND.
        """
        ...

    async def add_archive(self, new: NewArchive, file: FolderFile) -> ArchiveImport:
        """As `ArchiveStore.create`, and remember the file."""
        ...

    async def move(self, former: FolderFile, file: FolderFile, filename: str) -> Document | None:
        """Remember a file in place of the former one. Its document gets the new path and file name, a title that was
        the file name follows, and metadata that differs is replaced; nothing is embedded again. None when there is no
        document.
        """
        ...

    async def documents_of(self, paths: Iterable[str]) -> list[str]:
        """Ids of the live documents that these files became, those out of archives included."""
        ...

    async def document_count(self) -> int:
        """How many live documents came from the folder, those out of archives included."""
        ...

    async def stale_duplicates(self) -> list[str]:
        """Paths of duplicates whose document is getting other bytes, or is gone and was no file's here."""
        ...

    async def waiting_jobs(self) -> int:
        """Work that is queued or under way; an archive counts as many jobs."""
        ...

    async def scan_state(self) -> dict[str, Any] | None:
        """What was saved last."""
        ...

    async def save_scan_state(self, state: dict[str, Any]) -> None:
        """Keep a JSON object for other processes and the next start."""
        ...


class FolderWatch(Protocol):
    """Tells of changes below a folder, until it is closed."""

    @property
    def alive(self) -> bool:
        """False when it cannot tell (any more): look for changes now and then instead."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Embedder(Protocol):
    """Text to unit vectors, with one model."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def version(self) -> str:
        """Changes with the model's file or with the prefix that passages get."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens the model reads, special ones included."""
        ...

    @property
    def fingerprint(self) -> str:
        """Tells vectors of one model, size and prefix from those of another: they must not be compared."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Model tokens of each text, special tokens excluded. Fast and synchronous; safe in any thread."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span of each model token of a text, special tokens excluded."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """float32 [dimensions], L2-normalised. Goes before waiting passages."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """float32 [len(texts), dimensions], L2-normalised; runs off the loop, in small batches that queries can
        overtake.
        """
        ...


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A parser's result, with which parser made it."""

    document: NormalizedDocument
    parser_name: str
    parser_version: str
    detected_mime_type: str


class Parser(Protocol):
    """Files to normalized documents, in a separate process with wall, CPU and memory limits."""

    def current_version(self, extension: str) -> tuple[str, str]:
        """Name and version of the parser that reads this extension now."""
        ...

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        """Raises KnowledgeError with one of the document failure codes; never anything else about the file's
        content.
        """
        ...


class BlobStore(Protocol):
    """Original bytes under keys that the service makes (never from user input)."""

    driver: str

    async def put_file(self, key: str, path: Path) -> None:
        """Take over a finished temporary file: durable under the key when this returns, the temporary file is gone."""
        ...

    def upload_dir(self) -> Path:
        """Where temporary upload files belong, so that taking them over is a rename."""
        ...

    def local_copy(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A readable file with the blob's bytes. Raises DOCUMENT_CONTENT_UNAVAILABLE when the blob is missing."""
        ...

    def read(self, key: str, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """The bytes from `start`, in pieces. Raises DOCUMENT_CONTENT_UNAVAILABLE when the blob is missing."""
        ...

    async def delete(self, key: str) -> None:
        """No error when it is gone already."""
        ...

    def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every key and when it was written (Unix milliseconds)."""
        ...

    async def healthy(self) -> bool:
        """Whether originals can be written and read right now."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file from the web.

    Args:
        path: a temporary file in the upload folder; it is gone when the fetch is left, unless it was moved away.
        sha256: in hexadecimal.
    """

    path: Path
    size_bytes: int
    sha256: str
    download: Download


class Fetcher(Protocol):
    """Files from the public internet, and from nowhere else."""

    def fetch(self, url: str) -> AbstractAsyncContextManager[Fetched]:
        """Get the file at an address.

        Raises:
            KnowledgeError: INVALID_ARGUMENT for what is no address, SSRF_BLOCKED, URL_FETCH_FAILED, URL_FETCH_TIMEOUT,
                PAYLOAD_TOO_LARGE, and SERVICE_UNAVAILABLE when the disk is full.
        """
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """A change that a dashboard may want to show at once. The interfaces give a Document, Job, ArchiveImport or
    ScanStatus its JSON shape.

    Ids rise, also over restarts.
    """

    id: str
    kind: Literal["document", "job", "archive", "scan"]
    data: Document | Job | ArchiveImport | ScanStatus | dict[str, Any]
