"""The scanned folder on the dashboard: a panel among the imports, and a page of all files that were passed over."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile, ScanStatus
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import Failure, State, counted, failure
from mcp_knowledge.interfaces.wire import scan_file

PAGE_FILES = 200
LISTED_FILES = 20  # in the panel; the page has all

OUTCOMES: dict[FileOutcome, State] = {
    "duplicate": State("waiting", "You have it already"),
    "unsupported": State("waiting", "Other format"),
    "oversized": State("failed", "Too large"),
    "failed": State("failed", "Failed"),
    "skipped": State("waiting", "Passed over"),
    "changing": State("working", "Being written"),
    "deleted": State("waiting", "You deleted it"),
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ScanPanel:
    """What the panel shows.

    Args:
        name: of the folder.
        files: the first that were passed over or failed, `total` of them in all.
    """

    name: str
    status: ScanStatus
    state: State
    summary: str
    files: list[FolderFile]
    total: int

    @property
    def active(self) -> bool:
        """Whether a scan is at work."""
        return self.status.state == "scanning"


async def scan_panel(request: Request) -> ScanPanel | None:
    """The panel, None when no folder is scanned."""
    services = services_of(request)
    root = services.settings.ingest_data_dir
    if root is None:
        return None
    status = await services.folders.status()
    files, _ = await services.folders.files(LISTED_FILES)
    return ScanPanel(
        root.resolve().name or "/",
        status,
        scan_state(status),
        scan_summary(status),
        files,
        sum(status.passed_over.values()),
    )


@router.get("/folder")
async def folder_page(request: Request) -> HTMLResponse:
    """All files of the folder that were passed over or failed."""
    services = services_of(request)
    shown = request.query_params.get("show", "")
    outcomes = tuple(outcome for outcome in PASSED_OVER if outcome == shown) or PASSED_OVER
    after = request.query_params.get("after")
    scan = await scan_panel(request)
    counts = scan.status.passed_over if scan else {}
    files, next_path = await services.folders.files(PAGE_FILES, after, outcomes)
    return render(
        request,
        "folder.html",
        scan=scan,
        files=files,
        show=shown if len(outcomes) == 1 else "",
        counts=counts,
        total=scan.total if scan else 0,
        next_path=next_path,
        is_first=after is None,
        outcomes=OUTCOMES,
        reason=reason,
    )


def reason(file: FolderFile) -> Failure | None:
    """Why a file gave no document, and what to do."""
    return failure(scan_file(file)["reason"])


def scan_state(status: ScanStatus) -> State:
    """How the last scan stands."""
    counts = status.counts
    match status.state:
        case "scanning":
            return State("working", "Looking through", counts.examined, counts.discovered or None)
        case "completed" if status.completed_at_ms is None:
            return State("waiting", "Not scanned since everything was removed")
        case "completed":
            return State("ready", "Up to date")
        case "completed_with_errors":
            return State("partly", "Some files left out")
        case _:
            return State("failed", "Failed")


def scan_summary(status: ScanStatus) -> str:
    """`1,204 files: 3 new or changed, 1,180 unchanged, 21 others.`"""
    counts = status.counts
    parts = (
        (counts.queued, "new or changed"),
        (counts.unchanged, "unchanged"),
        (counts.duplicates, "that you have already"),
        (counts.unsupported, "of other formats"),
        (counts.oversized, "too large"),
        (counts.failed, "that could not be taken in"),
    )
    told = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{counted(counts.discovered, 'file')}{': ' if told else ''}{told}."
