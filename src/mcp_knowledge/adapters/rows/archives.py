"""The store of archive imports; the statements are in archive_rows.py."""

from collections.abc import Iterable, Sequence

from mcp_knowledge.adapters.rows import archive_rows as rows
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.documents import ArchiveEntry, ArchiveImport, Document
from mcp_knowledge.ports import NewArchive, NewDocument, Position


class SqlArchiveStore:
    """Imports of archives; `ports.ArchiveStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read
        self._write = database.write

    async def create(self, new: NewArchive) -> ArchiveImport:
        """Queue an import."""
        return await self._write(lambda c: rows.create(c, new))

    async def get(self, archive_id: str) -> ArchiveImport | None:
        """One import."""
        return await self._read(lambda c: rows.get(c, archive_id))

    async def get_many(self, archive_ids: Iterable[str]) -> dict[str, ArchiveImport]:
        """Those that exist, by id."""
        ids = {*archive_ids}
        found = await self._read(lambda c: [rows.get(c, archive_id) for archive_id in ids]) if ids else []
        return {item.id: item for item in found if item is not None}

    async def unfinished(self) -> list[ArchiveImport]:
        """Those that wait or are at work."""
        return await self._read(rows.unfinished)

    async def entries(
        self, archive_ids: Iterable[str], skipped_limit: int | None = None
    ) -> dict[str, list[ArchiveEntry]]:
        """What became of their files."""
        ids = list(archive_ids)
        return await self._read(lambda c: rows.entries(c, ids, skipped_limit))

    async def claim(self, worker: str, lease_ms: int) -> ArchiveImport | None:
        """Take the oldest import that is due."""
        if await self._read(lambda c: first_row(c, c.dialect.due_archives, (c.dialect.queue_ms(c),))) is None:
            return None  # the usual case costs no write transaction
        return await self._write(lambda c: rows.claim(c, worker, lease_ms))

    async def renew(self, held: ArchiveImport, lease_ms: int) -> bool:
        """Hold the lease from now on."""
        return await self._write(
            lambda c: rows.change_held(c, held, "visible_at_ms = ?", c.dialect.queue_ms(c) + lease_ms)
        )

    async def release(self, held: ArchiveImport, after_ms: int = 0, error: str | None = None) -> bool:
        """Hand it back."""
        change = "state = 'queued', worker = NULL, visible_at_ms = ?, error = ?"
        return await self._write(lambda c: rows.change_held(c, held, change, c.dialect.queue_ms(c) + after_ms, error))

    async def set_file_count(self, held: ArchiveImport, count: int) -> bool:
        """State how many files it has."""
        return await self._write(lambda c: rows.change_held(c, held, "file_count = ?", count))

    async def add_document(
        self, held: ArchiveImport, position: int, path: str, new: NewDocument
    ) -> tuple[ArchiveEntry, Document] | None:
        """Write a file's outcome and what it becomes."""
        return await self._write(lambda c: rows.add_document(c, held, position, path, new))

    async def skip(self, held: ArchiveImport, entries: Sequence[ArchiveEntry]) -> bool:
        """Write the outcomes of files that give no document."""
        return await self._write(lambda c: rows.skip(c, held, entries))

    async def finish(self, held: ArchiveImport, error: str | None = None) -> ArchiveImport | None:
        """End the import."""
        return await self._write(lambda c: rows.finish(c, held, error))

    async def list(self, limit: int, after: Position | None = None) -> list[ArchiveImport]:
        """Newest first."""
        return await self._read(lambda c: rows.page(c, limit, after))
