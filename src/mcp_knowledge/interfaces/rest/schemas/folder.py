"""The shapes of the folder scan."""

from typing import Literal

from pydantic import Field

from mcp_knowledge.domain.folder import ScanState
from mcp_knowledge.interfaces.rest.schemas.common import PageQuery, Shape, Timestamp

PassedOver = Literal["duplicate", "unsupported", "oversized", "failed", "skipped", "changing", "deleted"]


class ScanFilesQuery(PageQuery):
    """Which files."""

    outcome: PassedOver | None = Field(None, description="Only these; without it, all.")


class ScanCounts(Shape):
    """How many files met which fate."""

    discovered: int = Field(description="Files that the scan found.")
    examined: int = Field(description="Those it has dealt with: the sum of the others.")
    queued: int = Field(description="New or changed: they become documents, or are imported as archives.")
    unchanged: int = Field(description="Known already, those that were only moved included.")
    duplicates: int = Field(description="Another document has their content.")
    unsupported: int
    oversized: int
    failed: int = Field(description="They could not be read, are empty, or changed while they were read.")


class ScanFile(Shape):
    """A file of the folder that was passed over, or whose document or archive could not be read."""

    path: str = Field(description="Below the folder, with `/`. Bytes that are no UTF-8 are written `\\xNN`.")
    outcome: PassedOver = Field(description="`deleted`: its document was deleted by hand.")
    reason: str = Field(description="`CODE: message`, or a sentence.")
    documentId: str | None = Field(description="Its document, or the one with the same content, if there is one.")


class ScanStatus(Shape):
    """The scan at work, or the last one."""

    state: ScanState
    disabledReason: str | None
    startedAt: Timestamp | None
    completedAt: Timestamp | None
    currentPath: str | None
    counts: ScanCounts
    limitReached: bool = Field(description="There are more files than a scan takes; the next one goes on there.")
    error: str | None = Field(description="`CODE: message`, when the scan failed as a whole.")
    removed: int = Field(description="Documents that were removed because their files are gone (INGEST_DATA_PRUNE).")
    heldBack: int = Field(description="Documents whose files are gone and that were kept all the same.")
    heldBackReason: str | None = Field(description="Why, and what to do.")
    skipped: list[ScanFile] = Field(description="The first files passed over or failed; `/ingest/scan-files` has all.")
    skippedTotal: int = Field(description="How many there are.")


class ScanFilePage(Shape):
    """A page of files."""

    items: list[ScanFile]
    nextCursor: str | None
