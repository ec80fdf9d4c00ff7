"""An ingest worker over a real store, queue and blob store, with a parser and a model that do as they are told."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from front_door import until as until

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.file_locks import FileLocks
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.domain.blocks import NormalizedDocument, Paragraph
from mcp_knowledge.domain.documents import Document, Job, new_id
from mcp_knowledge.ports import IndexedRevision, NewDocument, NewRevision, ParsedFile, Vector
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.ingest import IngestWorker
from mcp_knowledge.settings import Settings

NAME = "this-host:1"


_END_OF_TEXT = "\f"


class ScriptedParser:
    """Makes a paragraph of every line of the text. `faults`: what happens at the next parses, by file name."""

    def __init__(self) -> None:
        self.faults: dict[str, list[Exception | asyncio.Event]] = {}
        self.parsed: list[str] = []

    def current_version(self, extension: str) -> tuple[str, str]:
        return "lines", "1"

    async def parse(self, path: Path, filename: str) -> ParsedFile:
        self.parsed.append(filename)
        if self.faults.get(filename):
            fault = self.faults[filename].pop(0)
            if isinstance(fault, Exception):
                raise fault
            await fault.wait()
        lines = (await asyncio.to_thread(path.read_text)).partition(_END_OF_TEXT)[0].splitlines()
        return ParsedFile(
            NormalizedDocument(None, {"lines": len(lines)}, tuple(map(Paragraph, lines))), "lines", "1", "text/plain"
        )


class ScriptedEmbedder:
    """Words are tokens; a text's vector depends on the text alone. Passages wait while `gate` is closed.

    `closes_after`: the number of calls after which it closes by itself.
    """

    model = "scripted"
    version = "1"
    dimensions = 384
    max_tokens = 256
    fingerprint = "scripted:1"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.calls: list[list[str]] = []
        self.fault: Exception | None = None
        self.closes_after = 0

    @property
    def texts(self) -> list[str]:
        """All that was asked for, in order."""
        return [text for call in self.calls for text in call]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        spans, position = [], 0
        for word in text.split():
            start = text.index(word, position)
            position = start + len(word)
            spans.append((start, position))
        return spans

    async def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        self.calls.append(list(texts))
        if len(self.calls) == self.closes_after:
            self.gate.clear()
        await asyncio.sleep(0)
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vector:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        vector = np.random.default_rng(seed).standard_normal(self.dimensions).astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class WatchedStore(SqlStore):
    """Remembers which documents were written together; refuses those whose title is in `refused`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.groups: list[list[str]] = []
        self.refused: set[str] = set()

    async def index_revisions(self, items: Sequence[IndexedRevision], fingerprint: str) -> list[bool]:
        if any(item.title in self.refused for item in items):
            raise RuntimeError("refused")
        self.groups.append([item.title for item in items])
        return await super().index_revisions(items, fingerprint)


class Bench:
    """A worker and all that it works with."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings = settings
        self.store, self.queue = WatchedStore(database), SqlJobQueue(database)
        self.blobs = LocalBlobStore(settings.blobs_path)
        self.parser, self.embedder, self.events = ScriptedParser(), ScriptedEmbedder(), Events()
        self.locks = FileLocks(settings.data_dir / "locks")
        self.worker = self.new_worker()

    def new_worker(self, name: str = NAME) -> IngestWorker:
        return IngestWorker(
            self.store,
            self.queue,
            self.blobs,
            self.parser,
            self.embedder,
            self.events,
            self.locks,
            self.settings,
            name,
        )

    async def _blob(self, text: str) -> tuple[str, str]:
        revision_id = new_id("rev")
        key = f"originals/{revision_id[-1]}/{revision_id}"
        path = self.blobs.upload_dir() / revision_id
        path.write_text(text)
        await self.blobs.put_file(key, path)
        return revision_id, key

    async def upload(self, name: str, text: str) -> str:
        """Store a document and its job, and wake the worker; the document's id."""
        content = f"{text}{_END_OF_TEXT}{name}"  # two documents never have the same bytes
        revision_id, key = await self._blob(content)
        new = NewDocument(
            id=new_id("doc"),
            revision_id=revision_id,
            title=name,
            original_filename=f"{name}.txt",
            mime_type="text/plain",
            extension="txt",
            size_bytes=len(text.encode()),
            sha256=hashlib.sha256(content.encode()).hexdigest(),
            blob_key=key,
        )
        document, _ = await self.store.create_document(new)
        self.worker.wake()
        return document.id

    async def revise(self, document_id: str, text: str) -> None:
        """A new revision and its job."""
        revision_id, key = await self._blob(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        size = len(text.encode())
        await self.store.create_revision(
            NewRevision(revision_id, document_id, "new.txt", "text/plain", "txt", size, digest, key)
        )
        self.worker.wake()

    async def document(self, document_id: str) -> Document:
        found = await self.store.get_document(document_id)
        assert found is not None
        return found

    async def job(self, document_id: str) -> Job:
        """The document's newest job."""
        return (await self.queue.list(1, document_id=document_id))[0]

    async def is_ready(self, document_id: str) -> bool:
        return (await self.document(document_id)).status == "ready"

    async def keys(self) -> list[str]:
        """Every blob's key."""
        listing = self.blobs.keys()
        return [key async for key, _ in listing]

    async def texts(self, document_id: str) -> list[str]:
        """Contents of the searchable chunks."""
        return [chunk.content for chunk in await self.store.list_chunks(document_id, 1000)]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """The worker at work."""
        running = asyncio.create_task(self.worker.run())
        try:
            yield
        finally:
            self.embedder.gate.set()
            await self.worker.stop()
            await running


@asynccontextmanager
async def open_bench(settings: Settings, database: Database | None = None) -> AsyncIterator[Bench]:
    """`database`: one that is not open yet."""
    database = database or Database(settings.database_path)
    await database.open()
    try:
        yield Bench(settings, database)
    finally:
        await database.close()
