"""The store of the scanned folder; the statements are in folder_rows.py."""

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_knowledge.adapters.rows import folder_rows as rows
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.domain.documents import ArchiveImport, Document
from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile
from mcp_knowledge.ports import NewArchive, NewDocument, NewRevision


class SqlFolderStore:
    """The folder's files; `ports.FolderStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read
        self._write = database.write

    async def files(self, paths: Iterable[str]) -> dict[str, FolderFile]:
        """The known ones."""
        wanted = list(paths)
        return await self._read(lambda c: rows.files(c, wanted))

    async def same_bytes(self, sha256: str, limit: int) -> list[FolderFile]:
        """Files with these bytes."""
        return await self._read(lambda c: rows.same_bytes(c, sha256, limit))

    async def page(self, limit: int, after_path: str | None = None) -> list[FolderFile]:
        """By path."""
        return await self._read(lambda c: rows.page(c, limit, after_path))

    async def passed_over(
        self, limit: int, after_path: str | None = None, outcomes: Sequence[FileOutcome] = PASSED_OVER
    ) -> list[FolderFile]:
        """By path, with what people are shown."""
        return await self._read(lambda c: rows.passed_over(c, limit, after_path, outcomes))

    async def count_passed_over(self) -> dict[FileOutcome, int]:
        """Files without a document of their own."""
        return await self._read(rows.count_passed_over)

    async def write(self, items: Iterable[FolderFile]) -> None:
        """Insert or replace."""
        kept = list(items)
        await self._write(lambda c: rows.write(c, kept))

    async def forget(self, paths: Iterable[str]) -> None:
        """Remove."""
        gone = list(paths)
        await self._write(lambda c: rows.forget(c, gone))

    async def add_document(self, new: NewDocument, file: FolderFile) -> tuple[Document, bool]:
        """A document and its file."""
        return await self._write(lambda c: rows.add_document(c, new, file))

    async def add_revision(
        self, new: NewRevision, file: FolderFile, former_path: str | None = None
    ) -> tuple[Document, int]:
        """A revision and its file."""
        return await self._write(lambda c: rows.add_revision(c, new, file, former_path))

    async def add_archive(self, new: NewArchive, file: FolderFile) -> ArchiveImport:
        """An import and its file."""
        return await self._write(lambda c: rows.add_archive(c, new, file))

    async def move(self, former: FolderFile, file: FolderFile, filename: str) -> Document | None:
        """A new place."""
        return await self._write(lambda c: rows.move(c, former, file, filename))

    async def documents_of(self, paths: Iterable[str]) -> list[str]:
        """Ids of live documents."""
        wanted = list(paths)
        return await self._read(lambda c: rows.documents_of(c, wanted))

    async def document_count(self) -> int:
        """Live documents from the folder."""
        return await self._read(rows.document_count)

    async def stale_duplicates(self) -> list[str]:
        """Duplicates of what is no longer there."""
        return await self._read(rows.stale_duplicates)

    async def waiting_jobs(self) -> int:
        """Work that is not done."""
        return await self._read(rows.waiting_jobs)

    async def scan_state(self) -> dict[str, Any] | None:
        """As saved last."""
        return await self._read(rows.scan_state)

    async def save_scan_state(self, state: dict[str, Any]) -> None:
        """For other processes and restarts."""
        await self._write(lambda c: rows.save_scan_state(c, state))
