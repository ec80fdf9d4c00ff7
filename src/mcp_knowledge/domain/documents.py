"""What the product keeps: collections, documents, their revisions, chunks and jobs, and imports of archives.

All times are Unix milliseconds (UTC); the interfaces turn them into RFC 3339.
"""

import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

from mcp_knowledge.domain.blocks import SourceLocation

Metadata = dict[str, Any]
DocumentStatus = Literal["pending", "processing", "ready", "failed", "deleting", "deleted"]
JobStatus = Literal["queued", "running", "completed", "failed", "retrying", "cancelled"]
JobKind = Literal["ingest", "delete"]
Stage = Literal["queued", "parsing", "chunking", "embedding", "indexing"]
ArchiveState = Literal["queued", "extracting", "completed", "completed_with_errors", "failed"]
EntryOutcome = Literal["extracted", "duplicate", "unsupported", "oversized", "failed"]
IdPrefix = Literal["col", "doc", "rev", "job", "key", "arc", "evt", "req", "evs", "cas", "run"]

DOCUMENT_STATUSES: tuple[DocumentStatus, ...] = ("pending", "processing", "ready", "failed", "deleting", "deleted")
JOB_STATUSES: tuple[JobStatus, ...] = ("queued", "running", "completed", "failed", "retrying", "cancelled")
ENTRY_OUTCOMES: tuple[EntryOutcome, ...] = ("extracted", "duplicate", "unsupported", "oversized", "failed")


def now_ms() -> int:
    """The current time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


_id_lock = threading.Lock()
_newest_id = 0


def new_id(prefix: IdPrefix) -> str:
    """A new id: the prefix and a UUIDv7 (RFC 9562 section 5.7: 48 bits of Unix milliseconds, then random) in 32
    hex digits.

    Ids of one process rise, also within a millisecond and when the clock goes back (section 6.2, method 2), so that
    lists in the order of time and id are in the order of creation.
    """
    global _newest_id
    value = now_ms() << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    with _id_lock:
        _newest_id = value = value if value > _newest_id else _newest_id + 1
    return f"{prefix}_{value:032x}"


@dataclass(frozen=True, slots=True)
class Collection:
    """A named group of documents."""

    id: str
    name: str
    description: str | None
    document_count: int
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the active job of a document has come: `done` of `total` units (chunks, in the embedding stage)."""

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as users see it: the fields of its current revision (or, before the first is ready, of the newest).

    `status` stays `ready` while a newer revision of a ready document is in the making; `progress` then tells of it.
    """

    id: str
    collection_id: str | None
    current_revision_id: str | None
    revision: int
    title: str
    original_filename: str
    mime_type: str
    extension: str
    size_bytes: int
    sha256: str
    status: DocumentStatus
    metadata: Metadata
    source_path: str | None
    source_url: str | None
    chunk_count: int
    latest_error: str | None
    progress: Progress | None
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class IndexVersions:
    """Which parser, chunker and embedding model made a revision's index entries."""

    parser_name: str
    parser_version: str
    chunker_name: str
    chunker_version: str
    embedding_model: str
    embedding_dimensions: int
    embedding_version: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a document's original. `versions` and `indexed_at_ms` are None until it was indexed once.
    `replaces`: its document takes the place of another one when it is ready.
    """

    id: str
    document_id: str
    number: int
    sha256: str
    size_bytes: int
    original_filename: str
    mime_type: str
    extension: str
    blob_key: str
    versions: IndexVersions | None
    chunk_count: int
    created_at_ms: int
    indexed_at_ms: int | None
    current: bool
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a revision. `content` is the source text as it stands.

    `embedding_text` is what the model read (prefix and content); it decides whether a vector can be reused.
    """

    id: str
    sequence: int
    content: str
    heading_path: tuple[str, ...]
    location: SourceLocation
    token_count: int
    content_hash: str
    embedding_text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store gives it back, with whose it is. `chunk_no` is the store's own integer key."""

    chunk_no: int
    document_id: str
    revision_id: str
    id: str
    sequence: int
    content: str
    heading_path: tuple[str, ...]
    location: SourceLocation
    token_count: int
    content_hash: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of durable work. `attempt` counts claims and is the fencing token: a worker that lost its lease has
    an old one.
    """

    id: str
    kind: JobKind
    document_id: str
    revision_id: str | None
    filename: str
    status: JobStatus
    attempt: int
    max_attempts: int
    worker: str | None
    stage: Stage | None
    done: int
    total: int
    error: str | None
    created_at_ms: int
    started_at_ms: int | None
    completed_at_ms: int | None

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds from the last start to the end, None while it has not ended."""
        if self.started_at_ms is None or self.completed_at_ms is None:
            return None
        return self.completed_at_ms - self.started_at_ms


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """What became of a file in an archive.

    Args:
        position: its place in the archive's directory, from 0.
        path: its path in the archive, with `/`.
        document_id: the document that it became, or the one that has its bytes already.
        error: why it gave no document, as `CODE: message`.
    """

    position: int
    path: str
    outcome: EntryOutcome
    document_id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveImport:
    """An archive on its way into the library. `attempt` counts claims and is the fencing token, as in `Job`.

    Args:
        source_path: where the archive lies in the scanned folder.
        metadata: given to each of its documents, as `collection_id` and `source_url` are.
        file_count: files in the archive, None until it was looked into.
        outcomes: how many of its files met each outcome so far.
        blob_key: where the archive's bytes are, None once the import has ended.
        error: why the whole import failed, as `CODE: message`.
    """

    id: str
    original_filename: str
    collection_id: str | None
    source_path: str | None
    source_url: str | None
    metadata: Metadata
    size_bytes: int
    sha256: str
    state: ArchiveState
    attempt: int
    worker: str | None
    blob_key: str | None
    file_count: int | None
    outcomes: dict[EntryOutcome, int]
    error: str | None
    created_at_ms: int
    started_at_ms: int | None
    completed_at_ms: int | None

    @property
    def examined(self) -> int:
        """Files whose outcome is known."""
        return sum(self.outcomes.values())

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state not in ("queued", "extracting")


@dataclass(frozen=True, slots=True)
class NamedOriginal:
    """An original that a row names.

    Args:
        sha256: in hexadecimal.
        holder_id: of its document or archive; None where that row is missing.
        is_going: it is being removed, and may be gone already.
    """

    key: str
    size_bytes: int
    sha256: str
    holder_id: str | None
    is_going: bool
