"""The first half of ingestion: from a job to chunks that wait for their vectors."""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.domain.chunking import CHUNKER_NAME, chunk_document, chunker_version
from mcp_knowledge.domain.cutting import ChunkSizes
from mcp_knowledge.domain.documents import Chunk, IndexVersions, Revision
from mcp_knowledge.domain.filenames import title_of
from mcp_knowledge.domain.sections import Tokens
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, Embedder, ParsedFile, Parser, Store
from mcp_knowledge.services.work import Prepared, Work
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)

MAX_TITLE_CHARACTERS = 300
SMALL_FILE_BYTES = 256 * 1024
TINY_FILE_BYTES = 2048
TINY_BLOCKS = 16
_COUNTED_AT_ONCE = 256  # texts between two looks at whether the result is still wanted


def chunk_sizes(settings: Settings) -> ChunkSizes:
    """The sizes that these settings ask for."""
    return ChunkSizes(
        target=settings.chunk_target_tokens,
        minimum=settings.chunk_min_tokens,
        maximum=settings.chunk_max_tokens,
        overlap=settings.chunk_overlap_tokens,
        window=settings.embedding_max_tokens,
    )


def title_in(document: NormalizedDocument, filename: str) -> str:
    """The title that a file gives itself, or else its name's."""
    title = " ".join((document.title or "").split())[:MAX_TITLE_CHARACTERS].rstrip()
    return title or title_of(filename)


class _NotWantedError(Exception):
    """Ends a thread whose result nobody waits for."""


class _TokensWhileWanted:
    """The model's tokens for a thread. No thread can be cancelled, and a process ends only after all of its threads:
    this one is stopped at the next count.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.unwanted = threading.Event()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        counts: list[int] = []
        for first in range(0, len(texts), _COUNTED_AT_ONCE):
            self._check()
            counts += self._tokens.count_tokens(texts[first : first + _COUNTED_AT_ONCE])
        return counts

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token."""
        self._check()
        return self._tokens.token_offsets(text)

    def _check(self) -> None:
        if self.unwanted.is_set():
            raise _NotWantedError


class Preparation:
    """Fetches, parses and chunks originals."""

    def __init__(self, store: Store, blobs: BlobStore, parser: Parser, embedder: Embedder, settings: Settings) -> None:
        self._store, self._blobs, self._parser, self._embedder = store, blobs, parser, embedder
        self._timeout_s = settings.ingestion_timeout_ms / 1000
        self._max_chunks = settings.max_chunks_per_document
        self._parsing = asyncio.Semaphore(settings.worker_concurrency)  # so many the parser reads at once
        self._sizes = chunk_sizes(settings)

    async def prepare(self, work: Work, room_for_large_files: Callable[[], Awaitable[None]]) -> Prepared:
        """Parse and chunk a job's revision.

        Args:
            room_for_large_files: returns when another large document may be held in memory.

        Raises:
            KnowledgeError: a document failure code; DOCUMENT_CONTENT_UNAVAILABLE when the original is missing or is
                not what was taken in; INGESTION_FAILED when the revision is not there.
            TimeoutError: the work took too long. Waiting for its turn does not count.
        """
        revision = await self._revision(work)
        work.is_large = revision.size_bytes > SMALL_FILE_BYTES
        if work.is_large:
            await room_for_large_files()
        async with self._parsing:
            work.deadline = time.monotonic() + self._timeout_s
            work.enter("parsing")
            async with asyncio.timeout(self._timeout_s), self._blobs.local_copy(revision.blob_key) as path:
                await asyncio.to_thread(_check_original, path, revision)
                parsed = await self._parser.parse(path, revision.original_filename)
        async with asyncio.timeout(work.deadline - time.monotonic()):
            return await self._chunked(work, revision, parsed)

    async def _chunked(self, work: Work, revision: Revision, parsed: ParsedFile) -> Prepared:
        work.enter("chunking")
        title = title_in(parsed.document, revision.original_filename)
        chunks = await self._chunks(parsed, title, revision.sha256, revision.size_bytes)
        known = {}
        if revision.number > 1 or revision.indexed_at_ms is not None or revision.replaces or work.job.attempt > 1:
            texts = [chunk.embedding_text for chunk in chunks]
            known = await self._store.reusable_vectors(work.job.document_id, texts, self._embedder.fingerprint)
        return Prepared(title, parsed.document, chunks, self._versions(parsed), known)

    async def _revision(self, work: Work) -> Revision:
        revision_id = work.job.revision_id
        revision = None if revision_id is None else await self._store.get_revision(revision_id)
        if revision is None:
            raise KnowledgeError("INGESTION_FAILED")
        return revision

    async def _chunks(self, parsed: ParsedFile, title: str, sha256: str, size_bytes: int) -> list[Chunk]:
        tokens = _TokensWhileWanted(self._embedder)
        arguments = (parsed.document, title, sha256, self._sizes, tokens)
        # Off the loop, unless it takes less time than going there.
        tiny = len(parsed.document.blocks) <= TINY_BLOCKS and size_bytes <= TINY_FILE_BYTES
        try:
            chunks = chunk_document(*arguments) if tiny else await asyncio.to_thread(chunk_document, *arguments)
        finally:
            tokens.unwanted.set()
        if not chunks:
            raise KnowledgeError("DOCUMENT_EMPTY")
        if len(chunks) > self._max_chunks:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        return chunks

    def _versions(self, parsed: ParsedFile) -> IndexVersions:
        return IndexVersions(
            parser_name=parsed.parser_name,
            parser_version=parsed.parser_version,
            chunker_name=CHUNKER_NAME,
            chunker_version=chunker_version(self._sizes),
            embedding_model=self._embedder.model,
            embedding_dimensions=self._embedder.dimensions,
            embedding_version=self._embedder.version,
        )


def _check_original(path: Path, revision: Revision) -> None:
    """A shortened or changed file must not take the place of what searches find.

    Raises:
        KnowledgeError: DOCUMENT_CONTENT_UNAVAILABLE.
    """
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != revision.sha256:
            log.error("The original %s is damaged: it is not what was taken in", revision.blob_key)
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
