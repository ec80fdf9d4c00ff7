"""What the contract tests share: a back end under test, and short ways to fill it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.domain.blocks import Heading, NormalizedDocument, Paragraph, SourceLocation
from mcp_knowledge.domain.documents import Chunk, Document, IndexVersions, Job, Metadata, new_id
from mcp_knowledge.ports import (
    ArchiveStore,
    FolderStore,
    IndexedRevision,
    JobQueue,
    LexicalIndex,
    NewDocument,
    NewRevision,
    Store,
    Vector,
    VectorIndex,
)

DIMENSIONS = 384
LEASE_MS = 60_000
FINGERPRINT = "model-a"
VERSIONS = IndexVersions("text", "1", "blocks", "1", "model-a", DIMENSIONS, "1")


@dataclass(frozen=True)
class Backend:
    """The ports of one back end over one empty database."""

    name: str
    store: Store
    queue: JobQueue
    lexical: LexicalIndex
    vectors: VectorIndex
    archives: ArchiveStore
    folder: FolderStore
    clock: "Clock"
    database: Database
    where: str


class Clock:
    """The time that the back end sees, so that leases end without waiting."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return self._now_ms() + self.ahead_ms

    def forward(self, milliseconds: int) -> None:
        self.ahead_ms += milliseconds


def fake_vector(text: str) -> Vector:
    """A unit vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def new_document(text: str = "some text", **changes: Any) -> NewDocument:
    revision_id = new_id("rev")
    new = NewDocument(
        id=new_id("doc"),
        revision_id=revision_id,
        title="A document",
        original_filename="document.txt",
        mime_type="text/plain",
        extension="txt",
        size_bytes=len(text.encode()),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        blob_key=f"originals/{revision_id[-2:]}/{revision_id}",
    )
    return replace(new, **changes)


def new_revision(document: Document, text: str, **changes: Any) -> NewRevision:
    revision_id = new_id("rev")
    new = NewRevision(
        id=revision_id,
        document_id=document.id,
        original_filename="newer.md",
        mime_type="text/markdown",
        extension="md",
        size_bytes=len(text.encode()),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        blob_key=f"originals/{revision_id[-2:]}/{revision_id}",
    )
    return replace(new, **changes)


def chunk(sequence: int, text: str, heading_path: tuple[str, ...] = ()) -> Chunk:
    digest = hashlib.sha256(f"{sequence}/{heading_path}/{text}".encode()).hexdigest()
    return Chunk(
        id=f"chk_{digest[:32]}",
        sequence=sequence,
        content=text,
        heading_path=heading_path,
        location=SourceLocation(char_start=sequence, char_end=sequence + len(text)),
        token_count=len(text.split()),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        embedding_text=text,
        metadata={},
    )


def indexed(job: Job, chunks: Sequence[Chunk], **changes: Any) -> IndexedRevision:
    """A revision ready to index, one paragraph a chunk."""
    item = IndexedRevision(
        job=job,
        title="A parsed title",
        normalized=NormalizedDocument(None, {}, tuple(Paragraph(item.content) for item in chunks)),
        document_metadata={},
        chunks=chunks,
        vectors=np.array([fake_vector(item.embedding_text) for item in chunks], np.float32).reshape(-1, DIMENSIONS),
        versions=VERSIONS,
    )
    return replace(item, **changes)


async def claim_one(backend: Backend, worker: str = "worker-1", lease_ms: int = LEASE_MS) -> Job:
    """The one job that is due."""
    (job,) = await backend.queue.claim(worker, 10, lease_ms)
    return job


async def add(
    backend: Backend,
    *texts: str,
    title: str = "A parsed title",
    heading_path: tuple[str, ...] = (),
    metadata: Metadata | None = None,
    collection_id: str | None = None,
    document_metadata: Metadata | None = None,
) -> Document:
    """A ready document with one chunk for each text."""
    # The bytes are all that tells documents apart: what else may be equal is for each test to say.
    new = new_document(new_id("doc"), collection_id=collection_id, metadata=metadata)
    await backend.store.create_document(new)
    chunks = [chunk(i, text, heading_path) for i, text in enumerate(texts or ("some text",))]
    item = indexed(await claim_one(backend), chunks, title=title, document_metadata=document_metadata or {})
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    document = await backend.store.get_document(new.id)
    assert document is not None and document.status == "ready"
    return document


def long_document(blocks: int) -> NormalizedDocument:
    """Headings and paragraphs, enough for several stored segments."""
    return NormalizedDocument(
        "A long document",
        {"author": "Ada"},
        tuple(
            Heading(1 + i % 3, f"Heading {i}", SourceLocation(page_start=i))
            if i % 10 == 0
            else Paragraph(f"Paragraph {i} " + "with some words " * 20, SourceLocation(page_start=i))
            for i in range(blocks)
        ),
    )
