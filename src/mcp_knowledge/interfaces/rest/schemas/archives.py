"""Imports of archives."""

from pydantic import Field

from mcp_knowledge.domain.documents import ArchiveState, EntryOutcome
from mcp_knowledge.interfaces.rest.schemas.common import Shape, Timestamp


class ArchiveCounts(Shape):
    """How many files of an archive met which outcome so far."""

    examined: int
    extracted: int = Field(description="New documents, and new revisions of documents.")
    duplicate: int = Field(description="A live document has the same bytes.")
    unsupported: int = Field(description="No parser reads this format; archives inside archives are not looked into.")
    oversized: int = Field(description="Larger than MAX_UPLOAD_BYTES.")
    failed: int = Field(description="An unsafe path, a link, an empty or a damaged file.")


class ArchiveEntry(Shape):
    """What became of a file of an archive."""

    path: str = Field(description="In the archive, with `/`.")
    outcome: EntryOutcome
    documentId: str | None = Field(None, description="Its document, or the one with its bytes; left out without any.")
    error: str | None = Field(None, description="`CODE: message`; left out when there is none.")


class Archive(Shape):
    """The import of an archive."""

    id: str
    originalFilename: str
    collectionId: str | None
    sourcePath: str | None = Field(description="Where the archive lies in the scanned folder.")
    sourceUrl: str | None
    sizeBytes: int
    state: ArchiveState = Field(description="completed_with_errors: a file has failed or was oversized.")
    fileCount: int | None = Field(description="Files in the archive; null until it was looked into.")
    counts: ArchiveCounts
    documentIds: list[str] = Field(description="Documents of the extracted files.")
    entries: list[ArchiveEntry] = Field(description="In the archive's order; folders and macOS metadata are left out.")
    error: str | None = Field(description="`CODE: message`, when nothing could be imported.")
    createdAt: Timestamp
    startedAt: Timestamp | None
    completedAt: Timestamp | None


class ArchivePage(Shape):
    """A page of imports."""

    items: list[Archive]
    nextCursor: str | None
