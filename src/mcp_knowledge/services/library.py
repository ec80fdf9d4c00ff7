"""What users do with documents: upload, look, change, delete."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_knowledge.domain.blob_keys import original_key
from mcp_knowledge.domain.documents import Document, DocumentStatus, IndexVersions, Job, Metadata, new_id
from mcp_knowledge.domain.filenames import extension_of, safe_name, title_of
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET, BlobStore, DocumentQuery, NewDocument, NewRevision, Position, Store, Unset
from mcp_knowledge.services.cleanup import discard_after, discard_blob
from mcp_knowledge.services.events import Events

_BLOB_DELETES_AT_ONCE = 64
_QUEUED_AT_ONCE = 500  # documents of one transaction: some 20 ms


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
class Filing:
    """How a received file is filed: in which collection, with what metadata, and where it came from.

    Args:
        source_path: in the folder or archive, with `/`.
        source_url: the address it was fetched from.
    """

    collection_id: str | None = None
    metadata: Metadata | None = None
    source_path: str | None = None
    source_url: str | None = None


UNFILED = Filing()


@dataclass(frozen=True, slots=True)
class UploadReceipt:
    """What became of an upload. `duplicate`: a live document has these bytes already, and this is its id."""

    document_id: str
    status: DocumentStatus
    revision: int
    duplicate: bool


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
        blobs: BlobStore,
        events: Events,
        *,
        accepted_extensions: frozenset[str],
        media_type: Callable[[str], str],
        wake: Callable[[], None],
    ) -> None:
        self._store = store
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

    async def upload(self, file: StoredUpload, filing: Filing = UNFILED) -> UploadReceipt:
        """Keep a received file and queue its ingestion. The temporary file is gone afterwards, whatever happens.

        Raises:
            KnowledgeError: DOCUMENT_UNSUPPORTED_FORMAT, COLLECTION_NOT_FOUND.
        """
        new = await self.keep(file, filing)
        try:
            document, duplicate = await self._store.create_document(new)
        except KnowledgeError as error:
            await discard_after(self._blobs, new.blob_key, error)
            raise
        if duplicate:
            await discard_blob(self._blobs, new.blob_key)
        else:
            self.announce(document)
        return UploadReceipt(document.id, document.status, document.revision, duplicate)

    async def keep(self, file: StoredUpload, filing: Filing = UNFILED) -> NewDocument:
        """Make a received file durable; what is then to be written to the store. The temporary file is gone afterwards,
        whatever happens.

        Raises:
            KnowledgeError: DOCUMENT_UNSUPPORTED_FORMAT, COLLECTION_NOT_FOUND.
        """
        revision_id = new_id("rev")
        blob_key = original_key(revision_id)
        try:
            name, extension = self._accepted_name(file.filename)
            if filing.collection_id is not None and await self._store.get_collection(filing.collection_id) is None:
                raise KnowledgeError("COLLECTION_NOT_FOUND")
            await self._blobs.put_file(blob_key, file.path)
        finally:
            file.path.unlink(missing_ok=True)
        return NewDocument(
            id=new_id("doc"),
            revision_id=revision_id,
            title=title_of(name),
            original_filename=name,
            mime_type=self._media_type(extension),
            extension=extension,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            blob_key=blob_key,
            collection_id=filing.collection_id,
            metadata=filing.metadata,
            source_path=filing.source_path,
            source_url=filing.source_url,
        )

    def announce(self, document: Document) -> None:
        """Tell readers of a document that has a job now, and the worker of the job."""
        self._changed(document)
        self._wake()

    async def add_revision(self, document_id: str, file: StoredUpload) -> UploadReceipt:
        """Keep a newer original of a document and queue its ingestion; the temporary file is gone afterwards.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, DOCUMENT_UNSUPPORTED_FORMAT.
        """
        revision_id = new_id("rev")
        blob_key = original_key(revision_id)
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
        except KnowledgeError as error:
            await discard_after(self._blobs, blob_key, error)
            raise
        self.announce(document)
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

    async def count_documents(self, query: DocumentQuery) -> dict[DocumentStatus, int]:
        """How many documents the query has, by status."""
        return await self._store.count_documents(query)

    async def document_formats(self) -> dict[str, int]:
        """How many live documents there are of each extension."""
        return await self._store.document_formats()

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
        """Parse and embed the original that the document shows again. Raises DOCUMENT_NOT_FOUND, DOCUMENT_BUSY."""
        job = await self._store.reindex_document(document_id)
        self._events.publish("job", job)
        self._wake()
        return job

    async def reindex_all(self, stale_to: Sequence[IndexVersions] = ()) -> list[str]:
        """Queue every document that has no job yet, after all other jobs; the ids of those queued.

        Args:
            stale_to: only searchable documents that were made with none of these versions; empty: all.
        """
        queued: list[str] = []
        after: str | None = ""
        while after is not None:
            some, after = await self._store.reindex_documents(after, _QUEUED_AT_ONCE, stale_to)
            queued += some
        self._wake()
        return queued

    async def purge(self) -> None:
        """Remove every document, revision, chunk, job and original; collections stay."""
        keys = await self._store.purge_documents()
        for start in range(0, len(keys), _BLOB_DELETES_AT_ONCE):
            some = keys[start : start + _BLOB_DELETES_AT_ONCE]
            await asyncio.gather(*(discard_blob(self._blobs, key) for key in some))
        self._events.publish("document", {"purged": True})

    def _changed(self, document: Document) -> None:
        self._events.publish("document", document)


def _document_position(item: Document, query: DocumentQuery) -> Position:
    values: dict[str, int | str] = {
        "createdAt": item.created_at_ms,
        "updatedAt": item.updated_at_ms,
        "title": item.title,
        "sizeBytes": item.size_bytes,
    }
    return Position(values[query.sort], item.id)
