"""What users do with documents, collections and jobs: upload, look, change, delete."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.domain.documents import (
    Collection,
    Document,
    DocumentStatus,
    Job,
    JobStatus,
    Metadata,
    Revision,
    StoredChunk,
    new_id,
)
from mcp_knowledge.domain.filenames import extension_of, safe_name, title_of
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import (
    UNSET,
    BlobStore,
    DocumentQuery,
    JobQueue,
    NewDocument,
    NewRevision,
    Position,
    Store,
    Unset,
)
from mcp_knowledge.services.events import Events

MAX_CHUNK_NEIGHBOURS = 5
_BLOB_DELETES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """A received file.

    Args:
        path: a temporary file inside the blob store's upload folder.
        filename: as the client gave it.
        sha256: in hexadecimal.
    """

    path: Path
    filename: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class UploadReceipt:
    """What became of an upload. `duplicate`: a live document has these bytes already, and this is its id."""

    document_id: str
    status: DocumentStatus
    revision: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Original:
    """A document with the revision whose original bytes it shows."""

    document: Document
    revision: Revision


class Library:
    """The use cases around documents.

    Args:
        accepted_extensions: lower-case extensions, without the dot, that some parser reads.
        media_type: the media type of files with an accepted extension.
        wake: tells the worker that a job waits.
    """

    def __init__(
        self,
        store: Store,
        queue: JobQueue,
        blobs: BlobStore,
        events: Events,
        *,
        accepted_extensions: frozenset[str],
        media_type: Callable[[str], str],
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._queue = queue
        self._blobs = blobs
        self._events = events
        self._media_type = media_type
        self._wake = wake
        self.accepted_extensions = accepted_extensions

    # Uploads

    def upload_dir(self) -> Path:
        """Where the temporary files of uploads belong."""
        return self._blobs.upload_dir()

    def check_extension(self, filename: str) -> None:
        """Raises DOCUMENT_UNSUPPORTED_FORMAT when no parser reads files of this name."""
        if extension_of(safe_name(filename)) not in self.accepted_extensions:
            raise KnowledgeError("DOCUMENT_UNSUPPORTED_FORMAT")

    async def upload(
        self,
        file: StoredUpload,
        collection_id: str | None = None,
        metadata: Metadata | None = None,
        source_path: str | None = None,
        source_url: str | None = None,
    ) -> UploadReceipt:
        """Keep a received file and queue its ingestion. The temporary file is gone afterwards, whatever happens.

        Raises:
            KnowledgeError: DOCUMENT_UNSUPPORTED_FORMAT, COLLECTION_NOT_FOUND.
        """
        revision_id = new_id("rev")
        blob_key = _blob_key(revision_id)
        try:
            name, extension = self._accepted_name(file.filename)
            if collection_id is not None:
                await self.get_collection(collection_id)
            await self._blobs.put_file(blob_key, file.path)
        finally:
            file.path.unlink(missing_ok=True)
        new = NewDocument(
            id=new_id("doc"),
            revision_id=revision_id,
            title=title_of(name),
            original_filename=name,
            mime_type=self._media_type(extension),
            extension=extension,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            blob_key=blob_key,
            collection_id=collection_id,
            metadata=metadata,
            source_path=source_path,
            source_url=source_url,
        )
        try:
            document, duplicate = await self._store.create_document(new)
        except KnowledgeError:
            await self._blobs.delete(blob_key)
            raise
        if duplicate:
            await self._blobs.delete(blob_key)
        else:
            self._changed(document)
            self._wake()
        return UploadReceipt(document.id, document.status, document.revision, duplicate)

    async def add_revision(self, document_id: str, file: StoredUpload) -> UploadReceipt:
        """Keep a newer original of a document and queue its ingestion; the temporary file is gone afterwards.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, DOCUMENT_UNSUPPORTED_FORMAT.
        """
        revision_id = new_id("rev")
        blob_key = _blob_key(revision_id)
        try:
            name, extension = self._accepted_name(file.filename)
            await self.get_document(document_id)
            await self._blobs.put_file(blob_key, file.path)
        finally:
            file.path.unlink(missing_ok=True)
        new = NewRevision(
            id=revision_id,
            document_id=document_id,
            original_filename=name,
            mime_type=self._media_type(extension),
            extension=extension,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            blob_key=blob_key,
        )
        try:
            document, number = await self._store.create_revision(new)
        except KnowledgeError:
            await self._blobs.delete(blob_key)
            raise
        self._changed(document)
        self._wake()
        return UploadReceipt(document.id, document.status, number, duplicate=False)

    def _accepted_name(self, filename: str) -> tuple[str, str]:
        self.check_extension(filename)
        name = safe_name(filename)
        return name, extension_of(name)

    # Documents

    async def get_document(self, document_id: str) -> Document:
        """Raises DOCUMENT_NOT_FOUND, also for deleted ones."""
        document = await self._store.get_document(document_id)
        if document is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        return document

    async def get_documents(self, document_ids: Iterable[str]) -> dict[str, Document]:
        """The live ones among the ids."""
        return await self._store.get_documents(document_ids)

    async def list_documents(self, query: DocumentQuery) -> tuple[list[Document], Position | None]:
        """One page, and where the next one goes on (None at the end)."""
        found = await self._store.list_documents(replace(query, limit=query.limit + 1))
        items = found[: query.limit]
        return items, _document_position(items[-1], query) if len(found) > query.limit else None

    async def update_document(
        self,
        document_id: str,
        title: str | Unset = UNSET,
        collection_id: str | Unset | None = UNSET,
        metadata: Metadata | Unset = UNSET,
    ) -> Document:
        """Change what is given. Raises DOCUMENT_NOT_FOUND, COLLECTION_NOT_FOUND."""
        document = await self._store.update_document(document_id, title, collection_id, metadata)
        self._changed(document)
        return document

    async def delete_document(self, document_id: str) -> None:
        """Out of lists and search when this returns; the rest is a job's. Raises DOCUMENT_NOT_FOUND."""
        document = await self.get_document(document_id)
        await self._store.delete_document(document_id)
        self._changed(replace(document, status="deleting", progress=None))
        self._wake()

    async def reindex_document(self, document_id: str) -> Job:
        """Parse and embed the newest original again. Raises DOCUMENT_NOT_FOUND, DOCUMENT_BUSY."""
        job = await self._store.reindex_document(document_id)
        self._events.publish("job", job)
        self._wake()
        return job

    async def reindex_all(self) -> list[str]:
        """Queue every document that has no job yet; the ids of those queued."""
        query = DocumentQuery(descending=False, limit=500)
        queued: list[str] = []
        while True:
            items, after = await self.list_documents(query)
            for item in items:
                try:
                    await self._store.reindex_document(item.id)
                    queued.append(item.id)
                except KnowledgeError as error:
                    if error.code not in ("DOCUMENT_BUSY", "DOCUMENT_NOT_FOUND"):
                        raise
            if after is None:
                break
            query = replace(query, after=after)
        self._wake()
        return queued

    async def purge(self) -> None:
        """Remove every document, revision, chunk, job and original; collections stay."""
        keys = await self._store.purge_documents()
        for start in range(0, len(keys), _BLOB_DELETES_AT_ONCE):
            await asyncio.gather(*(self._blobs.delete(key) for key in keys[start : start + _BLOB_DELETES_AT_ONCE]))
        self._events.publish("document", {"purged": True})

    # Content of a document

    async def list_revisions(self, document_id: str) -> list[Revision]:
        """Newest first. Raises DOCUMENT_NOT_FOUND."""
        await self.get_document(document_id)
        return await self._store.list_revisions(document_id)

    async def original(self, document_id: str) -> Original:
        """The document and the revision it shows: the current one, or the newest before any is ready.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND.
        """
        document = await self.get_document(document_id)
        revisions = await self._store.list_revisions(document_id)
        shown = [item for item in revisions if item.id == document.current_revision_id] or revisions[:1]
        if not shown:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return Original(document, shown[0])

    def read_original(self, original: Original, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """The original's bytes from `start`, in pieces. Raises DOCUMENT_CONTENT_UNAVAILABLE before the first."""
        return self._blobs.read(original.revision.blob_key, start, length)

    async def normalized(self, document_id: str) -> NormalizedDocument:
        """The current revision's normalized document. Raises DOCUMENT_NOT_FOUND, DOCUMENT_CONTENT_UNAVAILABLE."""
        document = await self.get_document(document_id)
        revision_id = document.current_revision_id
        normalized = None if revision_id is None else await self._store.normalized(revision_id)
        if normalized is None:
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
        return normalized

    async def list_chunks(
        self, document_id: str, limit: int, after_sequence: int = -1
    ) -> tuple[list[StoredChunk], int | None]:
        """A page of the current revision's chunks, and the sequence after which the next goes on.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND.
        """
        await self.get_document(document_id)
        found = await self._store.list_chunks(document_id, limit + 1, after_sequence)
        items = found[:limit]
        return items, items[-1].sequence if len(found) > limit else None

    async def chunk_with_neighbours(self, chunk_id: str, before: int = 0, after: int = 0) -> list[StoredChunk]:
        """A chunk with up to MAX_CHUNK_NEIGHBOURS around it on each side, in order. Raises CHUNK_NOT_FOUND."""
        chunk = await self._store.find_chunk(chunk_id)
        if chunk is None:
            raise KnowledgeError("CHUNK_NOT_FOUND")
        if before == after == 0:
            return [chunk]
        first = max(0, chunk.sequence - min(before, MAX_CHUNK_NEIGHBOURS))
        last = chunk.sequence + min(after, MAX_CHUNK_NEIGHBOURS)
        around = await self._store.chunk_range(chunk.document_id, first, last)
        # The document may have changed its revision between the two reads: never answer without the chunk itself.
        return around if any(item.chunk_no == chunk.chunk_no for item in around) else [chunk]

    # Collections

    async def create_collection(self, name: str, description: str | None = None) -> Collection:
        """Raises COLLECTION_EXISTS."""
        return await self._store.create_collection(name, description)

    async def get_collection(self, collection_id: str) -> Collection:
        """Raises COLLECTION_NOT_FOUND."""
        collection = await self._store.get_collection(collection_id)
        if collection is None:
            raise KnowledgeError("COLLECTION_NOT_FOUND")
        return collection

    async def list_collections(
        self, limit: int, after: Position | None = None
    ) -> tuple[list[Collection], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._store.list_collections(limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def update_collection(
        self, collection_id: str, name: str | Unset = UNSET, description: str | Unset | None = UNSET
    ) -> Collection:
        """Change what is given. Raises COLLECTION_NOT_FOUND, COLLECTION_EXISTS."""
        return await self._store.update_collection(collection_id, name, description)

    async def delete_collection(self, collection_id: str) -> None:
        """Raises COLLECTION_NOT_FOUND, COLLECTION_NOT_EMPTY."""
        await self._store.delete_collection(collection_id)

    # Jobs

    async def list_jobs(
        self,
        limit: int,
        after: Position | None = None,
        status: JobStatus | None = None,
        document_id: str | None = None,
    ) -> tuple[list[Job], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._queue.list(limit + 1, after, status, document_id)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def get_job(self, job_id: str) -> Job:
        """Raises JOB_NOT_FOUND."""
        job = await self._queue.get(job_id)
        if job is None:
            raise KnowledgeError("JOB_NOT_FOUND")
        return job

    async def retry_job(self, job_id: str) -> Job:
        """Queue a failed job again. Raises JOB_NOT_FOUND, JOB_NOT_RETRYABLE."""
        job = await self._queue.retry(job_id)
        self._events.publish("job", job)
        self._wake()
        return job

    def _changed(self, document: Document) -> None:
        self._events.publish("document", document)


def _blob_key(revision_id: str) -> str:
    """The last digit of the id's random end spreads originals over 16 folders. One each would cost a block of disk,
    and the first file of a new folder takes four times as long to make durable.
    """
    return f"originals/{revision_id[-1]}/{revision_id}"


def _document_position(item: Document, query: DocumentQuery) -> Position:
    values: dict[str, int | str] = {
        "createdAt": item.created_at_ms,
        "updatedAt": item.updated_at_ms,
        "title": item.title,
        "sizeBytes": item.size_bytes,
    }
    return Position(values[query.sort], item.id)
