"""The scanned folder."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from mcp_knowledge.domain.documents import (
    ArchiveImport,
    Document,
)
from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile
from mcp_knowledge.ports.archives import NewArchive
from mcp_knowledge.ports.store import NewDocument, NewRevision


class FolderStore(Protocol):
    """What is known of the files of the scanned folder. A file's row is written in one transaction with what the file
    becomes, so that a scan that was killed doubles nothing.
    """

    async def files(self, paths: Iterable[str]) -> dict[str, FolderFile]:
        """The known ones among the paths."""
        ...

    async def same_bytes(self, sha256: str, limit: int) -> list[FolderFile]:
        """Files that had these bytes when they were taken in, by path, duplicates last."""
        ...

    async def page(self, limit: int, after_path: str | None = None) -> list[FolderFile]:
        """Files by path, up to `limit`."""
        ...

    async def passed_over(
        self, limit: int, after_path: str | None = None, outcomes: Sequence[FileOutcome] = PASSED_OVER
    ) -> list[FolderFile]:
        """Files of these outcomes by path. One whose document or archive could not be read is `failed` here, with that
        reason.
        """
        ...

    async def count_passed_over(self) -> dict[FileOutcome, int]:
        """How many files `passed_over` has, by outcome."""
        ...

    async def write(self, items: Iterable[FolderFile]) -> None:
        """Remember files."""
        ...

    async def forget(self, paths: Iterable[str]) -> None:
        """Remember files no longer; documents stay."""
        ...

    async def add_document(self, new: NewDocument, file: FolderFile) -> tuple[Document, bool]:
        """As `Store.create_document`, and remember the file as `document` or `duplicate`."""
        ...

    async def add_revision(
        self, new: NewRevision, file: FolderFile, former_path: str | None = None
    ) -> tuple[Document, int]:
        """As `Store.create_revision`, and remember the file; the document moves here from `former_path`.

        Raises DOCUMENT_NOT_FOUND.
        """
        ...

    async def add_archive(self, new: NewArchive, file: FolderFile) -> ArchiveImport:
        """As `ArchiveStore.create`, and remember the file."""
        ...

    async def move(self, former: FolderFile, file: FolderFile, filename: str) -> Document | None:
        """Remember a file in place of the former one. Its document gets the new path and file name, a title that was
        the file name follows, and metadata that differs is replaced; nothing is embedded again. None when there is no
        document.
        """
        ...

    async def documents_of(self, paths: Iterable[str]) -> list[str]:
        """Ids of the live documents that these files became, those out of archives included."""
        ...

    async def document_count(self) -> int:
        """How many live documents came from the folder, those out of archives included."""
        ...

    async def stale_duplicates(self) -> list[str]:
        """Paths of duplicates whose document is getting other bytes, or is gone and was no file's here."""
        ...

    async def waiting_jobs(self) -> int:
        """Work that is queued or under way; an archive counts as many jobs."""
        ...

    async def scan_state(self) -> dict[str, Any] | None:
        """What was saved last."""
        ...

    async def save_scan_state(self, state: dict[str, Any]) -> None:
        """Keep a JSON object for other processes and the next start."""
        ...


class FolderWatch(Protocol):
    """Tells of changes below a folder, until it is closed."""

    @property
    def alive(self) -> bool:
        """False when it cannot tell (any more): look for changes now and then instead."""
        ...

    def close(self) -> None:
        """End it."""
        ...
