"""How the service is doing: readiness, figures, metrics."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.domain.blob_keys import original_key
from mcp_knowledge.domain.chunking import CHUNKER_NAME, chunker_version
from mcp_knowledge.domain.documents import Document, DocumentStatus, IndexVersions, new_id
from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.ports import BlobStore, Counts, Embedder, Parser, Store, StoreHealth
from mcp_knowledge.services.preparing import chunk_sizes
from mcp_knowledge.services.readiness import Readiness
from mcp_knowledge.settings import Settings

_PROBE = b"probe"


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """The service at a glance.

    Args:
        versions: what makes index entries now, one for each parser.
        embedding_healthy: the model answers, and the stored vectors are its own.
    """

    settings: Settings
    database: StoreHealth
    storage_driver: str
    storage_healthy: bool
    embedding_healthy: bool
    generation: int
    counts: Counts
    versions: Sequence[IndexVersions]

    @property
    def index_configuration(self) -> dict[str, Any]:
        """What makes index entries now: versions and chunk sizes."""
        first, settings = self.versions[0], self.settings
        return {
            "parsers": {versions.parser_name: versions.parser_version for versions in self.versions},
            "chunkerName": first.chunker_name,
            "chunkerVersion": first.chunker_version,
            "chunkTargetTokens": settings.chunk_target_tokens,
            "chunkMinTokens": settings.chunk_min_tokens,
            "chunkMaxTokens": settings.chunk_max_tokens,
            "chunkOverlapTokens": settings.chunk_overlap_tokens,
            "embeddingModel": first.embedding_model,
            "embeddingDimensions": first.embedding_dimensions,
            "embeddingVersion": first.embedding_version,
        }

    @property
    def ranking_configuration(self) -> dict[str, Any]:
        """The settings that searches share and that change what they find."""
        settings = self.settings
        return {
            "vectorCandidates": settings.vector_candidates,
            "lexicalCandidates": settings.lexical_candidates,
            "maxCollapseCandidates": settings.max_collapse_candidates,
            "rrfK": settings.rrf_k,
        }

    @property
    def corpus_figures(self) -> dict[str, Any]:
        """How large the searchable corpus is, and how much of it is still cut or embedded in another way."""
        return {
            "documents": self.counts.documents.get("ready", 0),
            "chunks": self.counts.chunks,
            "staleDocuments": self.counts.stale_documents,
        }


class Status:
    """Looks at every part.

    Args:
        accepted_extensions: those that `parser` reads.
        worker_running: whether ingestion goes on in this process.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        embedder: Embedder,
        parser: Parser,
        settings: Settings,
        *,
        accepted_extensions: frozenset[str],
        worker_running: Callable[[], bool],
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._embedder = embedder
        self._parser = parser
        self._settings = settings
        self._extensions = sorted(accepted_extensions)
        self._readiness = Readiness(store, blobs, embedder, worker_running)

    async def ready(self) -> tuple[bool, dict[str, bool]]:
        """Whether everything works, and which parts do. Answers within three seconds."""
        checks = await self.checks()
        return all(checks.values()), checks

    async def checks(self) -> dict[str, bool]:
        """The parts, and whether each works."""
        return await self._readiness.checks()

    def stop(self) -> None:
        """From now on this process is not ready: it ends."""
        self._readiness.stop()

    async def database(self) -> StoreHealth:
        """The database's state."""
        return await self._store.health()

    async def try_storage(self) -> None:
        """Store, read and delete a small original. Raises SERVICE_UNAVAILABLE."""
        if not await self._readiness.storage():
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The storage of originals does not answer.")
        key = original_key(new_id("rev"))  # should it stay behind, it goes as one that no document holds
        probe = self._blobs.upload_dir() / f"{key.rpartition('/')[2]}.probe"
        with storing():
            probe.write_bytes(_PROBE)
        await self._blobs.put_file(key, probe)
        try:
            found = b"".join([piece async for piece in self._blobs.read(key)])
        finally:
            await self._blobs.delete(key)
        if found != _PROBE:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The storage gives back other bytes than it was given.")

    async def document_counts(self) -> dict[DocumentStatus, int]:
        """How many documents there are, by status."""
        return (await self._store.counts(self.index_versions())).documents

    async def system(self) -> SystemStatus:
        """Everything that the status page shows."""
        versions = self.index_versions()
        database, storage, embedding, generation, counts = await asyncio.gather(
            self.database(),
            self._readiness.storage(),
            self._embedding_healthy(),
            self._store.generation(),
            self._store.counts(versions),
        )
        return SystemStatus(
            settings=self._settings,
            database=database,
            storage_driver=self._blobs.driver,
            storage_healthy=storage,
            embedding_healthy=embedding,
            generation=generation,
            counts=counts,
            versions=versions,
        )

    async def originals_bytes(self) -> int:
        """The size of all originals."""
        return await self._store.originals_bytes()

    async def stale_documents(
        self, limit: int, after_id: str = ""
    ) -> tuple[list[tuple[Document, IndexVersions]], str | None]:
        """A page of the documents that other versions made, by id, each with these; the id to go on after."""
        found = await self._store.stale_documents(self.index_versions(), limit + 1, after_id)
        items = found[:limit]
        return items, items[-1][0].id if len(found) > limit else None

    async def counts(self) -> Counts:
        """Documents by state, jobs, chunks."""
        return await self._store.counts(self.index_versions())

    def index_versions(self) -> list[IndexVersions]:
        """What makes index entries now: one for each parser."""
        parsers = {self._parser.current_version(extension): None for extension in self._extensions}
        embedder = self._embedder
        return [
            IndexVersions(
                parser_name=name,
                parser_version=version,
                chunker_name=CHUNKER_NAME,
                chunker_version=chunker_version(chunk_sizes(self._settings)),
                embedding_model=embedder.model,
                embedding_dimensions=embedder.dimensions,
                embedding_version=embedder.version,
            )
            for name, version in parsers
        ]

    async def _embedding_healthy(self) -> bool:
        answers = await self._readiness.model()
        return answers and await self._store.fingerprint() in (None, self._embedder.fingerprint)
