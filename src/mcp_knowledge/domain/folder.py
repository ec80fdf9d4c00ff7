"""The scanned folder: what is known of its files, and how a scan went."""

from dataclasses import dataclass, field
from typing import Literal

from mcp_knowledge.domain.documents import Metadata

FileOutcome = Literal[
    "document", "archive", "duplicate", "unsupported", "oversized", "failed", "skipped", "changing", "deleted"
]
ScanState = Literal["disabled", "scanning", "completed", "completed_with_errors", "failed"]

# Outcomes of files that gave no document of their own.
PASSED_OVER: tuple[FileOutcome, ...] = (
    "duplicate",
    "unsupported",
    "oversized",
    "failed",
    "skipped",
    "changing",
    "deleted",
)


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of the folder as the last scan saw it.

    Args:
        path: below the folder, with `/`.
        size_bytes, modified_ns, changed_ns: of the file when it was read; times in Unix nanoseconds.
        sha256: of what was taken in last, in hexadecimal; None when it was never read.
        outcome: `document` and `archive` were taken in; `deleted` was, and its document was deleted by hand.
        metadata: what the manifest gave it when it was taken in.
        reason: why it gave no document, as `CODE: message` or a sentence.
        document_id: the live document that it became, or that has its bytes.
        archive_id: the import that it became.
    """

    path: str
    size_bytes: int
    modified_ns: int
    changed_ns: int
    sha256: str | None
    outcome: FileOutcome
    metadata: Metadata
    reason: str | None = None
    document_id: str | None = None
    archive_id: str | None = None


@dataclass(slots=True)
class ScanCounts:
    """How many files of a scan met which fate. `examined` is the sum of those after it."""

    discovered: int = 0
    examined: int = 0
    queued: int = 0
    unchanged: int = 0
    duplicates: int = 0
    unsupported: int = 0
    oversized: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class ScanStatus:
    """The scan at work, or the last one.

    Args:
        error: why the whole scan failed, as `CODE: message`.
        limit_reached: there are more files than a scan takes; the next one goes on behind `stopped_at`.
        passed_over: files of the folder that gave no document of their own, by outcome.
        removed: documents that were removed because their files are gone.
        held_back: documents that were not, and why.
        stopped_at: path segments of the last file that was looked at.
    """

    state: ScanState
    disabled_reason: str | None = None
    started_at_ms: int | None = None
    completed_at_ms: int | None = None
    current_path: str | None = None
    counts: ScanCounts = field(default_factory=ScanCounts)
    limit_reached: bool = False
    error: str | None = None
    passed_over: dict[FileOutcome, int] = field(default_factory=dict)
    removed: int = 0
    held_back: int = 0
    held_back_reason: str | None = None
    stopped_at: tuple[str, ...] | None = None
