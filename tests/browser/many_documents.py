"""A data directory with thousands of documents, written as ingestion writes them, but with made-up vectors."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.domain.blocks import NOWHERE, NormalizedDocument, Paragraph
from mcp_knowledge.domain.documents import Chunk, IndexVersions, Job, new_id
from mcp_knowledge.ports import IndexedRevision, NewDocument, Vector
from mcp_knowledge.settings import load_settings

SHELVES = 60  # collections
FAILED_OF = 50  # one document in so many has failed
_DIMENSIONS = 384
_AT_ONCE = 1000
_VERSIONS = IndexVersions("text", "1", "blocks", "1", "all-MiniLM-L6-v2", _DIMENSIONS, "1")


async def fill(data_dir: Path, count: int) -> None:
    """Write the documents `Paper 00000`, `Paper 00001`, … into a new data directory."""
    settings = load_settings(data_dir=data_dir)
    database = Database(settings.database_path)
    await database.open()
    store, queue, embedder = SqlStore(database), SqlJobQueue(database), MiniLmEmbedder(settings)
    random = np.random.default_rng(1)
    try:
        shelves = [(await store.create_collection(f"Shelf {number:02}", None)).id for number in range(SHELVES)]
        news = [_new(number, shelves[number % SHELVES]) for number in range(count)]
        await database.write(lambda connection: _create(connection, news))
        while jobs := await queue.claim("filler", _AT_ONCE, 600_000):
            for job in jobs:
                if _number(job) % FAILED_OF == 0:
                    await queue.fail(job, "DOCUMENT_MALFORMED", "This file could not be read.", None)
            vectors = random.standard_normal((len(jobs), _DIMENSIONS)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            items = [_indexed(job, row) for job, row in zip(jobs, vectors, strict=True) if _number(job) % FAILED_OF]
            await store.index_revisions(items, embedder.fingerprint)
    finally:
        embedder.close()
        await database.close()


def _create(connection: Connection, news: Iterable[NewDocument]) -> None:
    for new in news:
        documents.create_document(connection, new)


def _number(job: Job) -> int:
    return int(job.filename.removesuffix(".txt"))


def _new(number: int, collection_id: str) -> NewDocument:
    return NewDocument(
        id=new_id("doc"),
        revision_id=new_id("rev"),
        title=f"Paper {number:05}",
        original_filename=f"{number:05}.txt",
        mime_type="text/plain",
        extension="txt",
        size_bytes=1000 + number,
        sha256=hashlib.sha256(str(number).encode()).hexdigest(),
        blob_key=f"originals/{number}",
        metadata={"number": number, "kind": ("letter", "report", "invoice")[number % 3], "label": f"label {number}"},
        collection_id=collection_id,
    )


def _indexed(job: Job, vector: Vector) -> IndexedRevision:
    number = _number(job)
    text = f"Paper number {number} is kept on shelf {number % SHELVES} beside its neighbours."
    digest = hashlib.sha256(text.encode()).hexdigest()
    chunk = Chunk(f"chk_{digest[:32]}", 0, text, (), NOWHERE, 16, digest, text, {})
    normalized = NormalizedDocument(None, {}, (Paragraph(text),))
    return IndexedRevision(job, f"Paper {number:05}", normalized, {}, [chunk], vector[None, :], _VERSIONS)
