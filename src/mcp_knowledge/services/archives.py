"""Imports of archives: taking one in, and looking at how it stands."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcp_knowledge.domain.blob_keys import archive_key
from mcp_knowledge.domain.documents import ArchiveEntry, ArchiveImport, ArchiveState, new_id
from mcp_knowledge.domain.filenames import safe_name
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import ArchiveStore, BlobStore, NewArchive, Position
from mcp_knowledge.services.cleanup import discard_after
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.library import UNFILED, Filing, StoredUpload


@dataclass(frozen=True, slots=True)
class ArchiveReceipt:
    """An archive that was taken in; its files become documents in the background."""

    archive_id: str
    state: ArchiveState

    @property
    def duplicate(self) -> bool:
        """Never: which of its files are known already shows when it is imported."""
        return False


class Archives:
    """The use cases around archives.

    Args:
        wake: tells the importer that an archive waits.
    """

    def __init__(self, store: ArchiveStore, blobs: BlobStore, events: Events, wake: Callable[[], None]) -> None:
        self._store = store
        self._blobs = blobs
        self._events = events
        self._wake = wake

    async def receive(self, file: StoredUpload, filing: Filing = UNFILED) -> ArchiveReceipt:
        """Keep a received archive and queue its import. The temporary file is gone afterwards, whatever happens.

        Raises:
            KnowledgeError: COLLECTION_NOT_FOUND.
        """
        new = await self.keep(file, filing)
        try:
            queued = await self._store.create(new)
        except KnowledgeError as error:
            await discard_after(self._blobs, new.blob_key, error)
            raise
        self.announce(queued)
        return ArchiveReceipt(queued.id, queued.state)

    async def keep(self, file: StoredUpload, filing: Filing = UNFILED) -> NewArchive:
        """Make a received archive durable; what is then to be written to the store. The temporary file is gone
        afterwards, whatever happens.
        """
        archive_id = new_id("arc")
        blob_key = archive_key(archive_id)
        try:
            await self._blobs.put_file(blob_key, file.path)
        finally:
            file.path.unlink(missing_ok=True)
        return NewArchive(
            id=archive_id,
            original_filename=safe_name(file.filename),
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            blob_key=blob_key,
            collection_id=filing.collection_id,
            metadata=filing.metadata,
            source_path=filing.source_path,
            source_url=filing.source_url,
        )

    def announce(self, queued: ArchiveImport) -> None:
        """Tell readers and the importer of an archive that was queued."""
        self._events.publish("archive", queued)
        self._wake()

    async def get(self, archive_id: str) -> ArchiveImport:
        """Raises ARCHIVE_NOT_FOUND."""
        found = await self._store.get(archive_id)
        if found is None:
            raise KnowledgeError("ARCHIVE_NOT_FOUND")
        return found

    async def entries(
        self, archive_ids: Iterable[str], skipped_limit: int | None = None
    ) -> dict[str, list[ArchiveEntry]]:
        """What became of the files of each of these imports, in the archive's order.

        Args:
            skipped_limit: only files that gave no document of their own, up to this many of each import.
        """
        return await self._store.entries(archive_ids, skipped_limit)

    async def list(self, limit: int, after: Position | None = None) -> tuple[list[ArchiveImport], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._store.list(limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None
