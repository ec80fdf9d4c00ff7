"""Imports of archives, and archives themselves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from mcp_knowledge.domain.documents import (
    ArchiveEntry,
    ArchiveImport,
    Document,
    Metadata,
)
from mcp_knowledge.ports.store import NewDocument
from mcp_knowledge.ports.terms import Position


@dataclass(frozen=True, slots=True)
class NewArchive:
    """A received archive: its blob is in place under `blob_key` before the row is written."""

    id: str
    original_filename: str
    size_bytes: int
    sha256: str
    blob_key: str
    collection_id: str | None = None
    metadata: Metadata | None = None
    source_path: str | None = None
    source_url: str | None = None


class ArchiveStore(Protocol):
    """Imports of archives, and the queue of those that wait. An import's attempt fences: calls with an attempt that
    is no longer its own write nothing, and say so by None or False.
    """

    async def create(self, new: NewArchive) -> ArchiveImport:
        """Queue an import. Raises COLLECTION_NOT_FOUND."""
        ...

    async def get(self, archive_id: str) -> ArchiveImport | None:
        """None when there is no such import."""
        ...

    async def get_many(self, archive_ids: Iterable[str]) -> dict[str, ArchiveImport]:
        """Those that exist, by id."""
        ...

    async def unfinished(self) -> list[ArchiveImport]:
        """Those that wait or are at work, oldest first."""
        ...

    async def entries(
        self, archive_ids: Iterable[str], skipped_limit: int | None = None
    ) -> dict[str, list[ArchiveEntry]]:
        """What became of the files of each of these imports, in the archive's order.

        Args:
            skipped_limit: only files that gave no document of their own, up to this many of each import.
        """
        ...

    async def claim(self, worker: str, lease_ms: int) -> ArchiveImport | None:
        """Take the oldest import that is due (waiting, or whose lease ran out)."""
        ...

    async def renew(self, held: ArchiveImport, lease_ms: int) -> bool:
        """Hold the lease for another `lease_ms` from now."""
        ...

    async def release(self, held: ArchiveImport, after_ms: int = 0, error: str | None = None) -> bool:
        """Hand a claimed import back; it is due in `after_ms`. The error (`CODE: message`) is shown until then."""
        ...

    async def set_file_count(self, held: ArchiveImport, count: int) -> bool:
        """State how many files the archive has."""
        ...

    async def add_document(
        self, held: ArchiveImport, position: int, path: str, new: NewDocument
    ) -> tuple[ArchiveEntry, Document] | None:
        """Write, in one transaction, a file's outcome and what it becomes.

        With the path of a live document that an archive from the same `source_path` brought before: nothing when the
        bytes are equal (duplicate), else that document's next revision. Otherwise a new document, or nothing when a
        live one has the same bytes (duplicate). The blob of a duplicate is the caller's to delete.
        """
        ...

    async def skip(self, held: ArchiveImport, entries: Sequence[ArchiveEntry]) -> bool:
        """Write the outcomes of files that give no document."""
        ...

    async def finish(self, held: ArchiveImport, error: str | None = None) -> ArchiveImport | None:
        """End the import: failed with an error (`CODE: message`), else completed, with errors if a file has failed or
        was oversized. The blob is the caller's to delete.
        """
        ...

    async def list(self, limit: int, after: Position | None = None) -> list[ArchiveImport]:
        """Newest first by (created_at_ms, id)."""
        ...


MemberKind = Literal["file", "directory", "other"]


MemberFault = Literal["damaged", "compression"]


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """An entry of an archive's directory, inflated once and measured.

    Args:
        position: its place in the directory, from 0.
        name: its path as the archive spells it, safe or not.
        kind: `other` is a symbolic link, a device or the like.
        size_bytes: inflated, as measured.
        fault: why its bytes cannot be had: they are damaged, or compressed in a way that is not read.
    """

    position: int
    name: str
    kind: MemberKind
    size_bytes: int
    fault: MemberFault | None = None


class OpenArchive(Protocol):
    """An archive whose directory was read and found within the limits."""

    @property
    def members(self) -> Sequence[ArchiveMember]:
        """In the order of the directory."""
        ...

    async def extract(self, member: ArchiveMember, target: Path) -> str:
        """Write a member's bytes into a new file; their SHA-256 in hexadecimal. Only for a member without a fault.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the disk is full.
        """
        ...


class ArchiveReader(Protocol):
    """Archives as directories of files. Nothing an archive holds makes it take more than the limits allow."""

    async def open(self, path: Path) -> OpenArchive:
        """Read the directory and inflate everything once, so that the limits hold for what is there and not for what
        is declared.

        Raises:
            KnowledgeError: ARCHIVE_TOO_LARGE, ARCHIVE_MALFORMED, ARCHIVE_ENCRYPTED.
        """
        ...
