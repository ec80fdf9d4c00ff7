"""What comes in beside uploads, in a few lines above the list of documents: the scanned folder, the latest archives."""

from dataclasses import dataclass

from fastapi import Request

from mcp_knowledge.domain.documents import ArchiveImport, now_ms
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.folder import scan_state, scan_summary
from mcp_knowledge.interfaces.web.wording import State

_SHOWN_IMPORTS = 3
_RECENT_MS = 24 * 60 * 60 * 1000  # an import that ended well is news for so long


@dataclass(frozen=True, slots=True)
class FolderFeed:
    """The scanned folder in a line. `passed_over`: files that gave no document, or failed."""

    name: str
    status: ScanStatus
    state: State
    summary: str
    passed_over: int

    @property
    def active(self) -> bool:
        """Whether a scan is at work."""
        return self.status.state == "scanning"


@dataclass(frozen=True, slots=True)
class Feeds:
    """What there is to tell; both may be empty."""

    folder: FolderFeed | None
    imports: list[ArchiveImport]

    @property
    def active(self) -> int:
        """How many of them are at work."""
        return sum(not item.ended for item in self.imports) + (self.folder is not None and self.folder.active)


def import_state(item: ArchiveImport) -> State:
    """How an import stands."""
    match item.state:
        case "queued":
            return State("waiting", "Tried again soon" if item.error else "Waiting")
        case "extracting":
            return State("working", "Unpacking", item.examined, item.file_count)
        case "completed":
            return State("ready", "Imported")
        case "completed_with_errors":
            return State("partly", "Imported in part")
        case "failed":
            return State("failed", "Failed")


def passed_over(item: ArchiveImport) -> int:
    """How many of its files gave no document of their own."""
    return item.examined - item.outcomes["extracted"]


async def feeds(request: Request) -> Feeds:
    """The folder, if one is scanned, and imports that are at work or of the last day."""
    services = services_of(request)
    items, _ = await services.archives.list(_SHOWN_IMPORTS)
    since = now_ms() - _RECENT_MS
    recent = [item for item in items if not item.ended or item.created_at_ms >= since]
    root = services.settings.ingest_data_dir
    if root is None:
        return Feeds(None, recent)
    status = await services.folders.status()
    skipped = sum(status.passed_over.values())
    return Feeds(
        FolderFeed(root.resolve().name or "/", status, scan_state(status), scan_summary(status), skipped), recent
    )
